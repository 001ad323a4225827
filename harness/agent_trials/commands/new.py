"""agent-trials new."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import click

from agent_trials.commands import examples
from agent_trials.errors import FreezeRefusedError, Problem
from agent_trials.workspace import git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
LONGEST_NAME = 64
STUDY_FILES = ("study.toml", "key.toml", "PROTOCOL.md")


@click.command(
    short_help="Write a study that rehearses at once.",
    epilog=examples("agent-trials new doc_bridge", "pytest evals/doc_bridge -m pilot"),
)
@click.argument("name")
@click.option(
    "--project",
    default=".",
    show_default=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The project's folder.",
)
def command(name: str, project: Path) -> None:
    """Write a study NAME (a-z, 0-9, _) that rehearses at once.

    The study goes to evals/NAME and the small corpus that it asks about to fixtures/NAME. Change
    one after the other into your own, with `agent-trials check` after each step.
    """
    folder = _folder_name(name)
    study, corpus = project / "evals" / folder, project / "fixtures" / folder
    _refuse_existing(study, corpus)
    _write(study, corpus)
    click.echo(f"{study}: study.toml, key.toml, PROTOCOL.md, test_{folder}.py")
    click.echo(f"{corpus}: the corpus that it asks about")
    click.echo(f"Rehearse it now, at no cost: pytest {study} -m pilot")


def _folder_name(name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        what = "no name for a study"
        remedy = "write up to 64 lower-case letters, digits and single underscores, a letter first"
        raise FreezeRefusedError([Problem(repr(name), what, remedy)])
    return name.replace("-", "_")


def _refuse_existing(*folders: Path) -> None:
    problems = [
        Problem(str(folder), "it is there already", "choose another name, or remove it")
        for folder in folders
        if folder.exists() or folder.is_symlink()
    ]
    if problems:
        raise FreezeRefusedError(problems)


def _write(study: Path, corpus: Path) -> None:
    """Write both folders elsewhere and then put them in place, so that none is half made."""
    with tempfile.TemporaryDirectory() as scratch:
        made_corpus, made_study = Path(scratch) / "corpus", Path(scratch) / "study"
        template = resources.files("agent_trials.commands") / "template"
        _copy(template / "corpus", made_corpus)
        values = {
            "id": study.name.replace("_", "-"),
            "pin": git.commit_folder(made_corpus, Path(scratch) / "commit"),
            "corpus": f"../../{corpus.parent.name}/{corpus.name}",
        }
        made_study.mkdir()
        for name in STUDY_FILES:
            _fill(template / name, made_study / name, values)
        _fill(template / "test_study.py.txt", made_study / f"test_{study.name}.py", values)
        _place({made_corpus: corpus, made_study: study})


def _place(folders: Mapping[Path, Path]) -> None:
    placed: list[Path] = []
    try:
        for made, place in folders.items():
            place.parent.mkdir(exist_ok=True)
            placed.append(place)
            shutil.copytree(made, place)
    except BaseException:
        for place in placed:
            shutil.rmtree(place, ignore_errors=True)
        raise


def _copy(source: Traversable, into: Path) -> None:
    into.mkdir()
    for each in source.iterdir():
        if each.is_dir():
            _copy(each, into / each.name)
        else:
            (into / each.name).write_bytes(each.read_bytes())


def _fill(source: Traversable, into: Path, values: dict[str, str]) -> None:
    into.write_text(Template(source.read_text("utf-8")).substitute(values), "utf-8")
