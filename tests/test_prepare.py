"""agent-trials prepare: checkouts at the pins, all or none, with nothing of the operator's."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import repositories
from agent_trials import cli
from agent_trials.workspace import git
from agent_trials.workspace.prepare import noted
from checkout_lab import CheckoutLab

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "bad_manifests"
PIN = "0123456789abcdef0123456789abcdef01234567"
URL = 'url = "../handbook"'


def call(*arguments: str) -> Result:
    """Run the command in this process; what it does not catch itself is raised."""
    runner = CliRunner()
    return runner.invoke(cli.main, arguments, prog_name="agent-trials", catch_exceptions=False)


def prepare() -> Result:
    return call("prepare", "valid_study", "--into", "made")


def edit(old: str, new: str) -> None:
    """Change one thing in the study's manifest."""
    file = Path("valid_study/study.toml")
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a sound study, with relative paths as a user types them."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def folder() -> str:
    """Pin the study to its plain folder, and return the pin."""
    pin = git.commit_folder(Path("handbook"), Path("commit"))
    shutil.rmtree("commit")
    edit(PIN, pin)
    return pin


@pytest.fixture
def repository(here: Path) -> str:
    """Make the corpus a repository with a later commit and a branch, and return the pin."""
    shutil.copytree("handbook", "origin")
    pin = repositories.commit(here / "origin", {})
    repositories.commit(here / "origin", {"later.md": "later\n"})
    edit(PIN, pin)
    edit(URL, 'url = "../origin"')
    return pin


def test_commits_a_folder_at_a_relative_path(folder: str) -> None:
    """A relative path once led git astray, which starts inside the checkout."""
    shown = prepare()

    assert shown.exit_code == 0, shown.output
    assert git.head(Path("made/handbook")) == folder
    assert git.changes(Path("made/handbook")) == ()


@pytest.mark.parametrize("spelling", ["path", "file address", "bare"])
def test_fetches_the_pin_of_a_repository_and_nothing_else(
    here: Path, repository: str, spelling: str
) -> None:
    if spelling == "file address":
        edit('url = "../origin"', f'url = "file://{here}/origin"')
    if spelling == "bare":
        repositories.git(here, "clone", "--quiet", "--bare", "origin", "bare")
        edit('url = "../origin"', 'url = "../bare"')

    shown = prepare()

    assert shown.exit_code == 0, shown.output
    made = here / "made/handbook"
    assert git.head(made) == repository
    assert repositories.git(made, "symbolic-ref", "HEAD") == ""
    assert repositories.git(made, "rev-list", "--all", "HEAD") == repository
    assert git.changes(made) == ()


def test_ends_with_the_flags_to_paste(folder: str) -> None:
    del folder
    last = prepare().output.splitlines()[-1]

    assert shlex.split(last) == ["--root", "handbook=made/handbook"]


def test_says_that_a_checkout_is_there_and_right(repository: str) -> None:
    prepare()
    before = Path("made/handbook").stat().st_ino

    shown = prepare()

    assert shown.exit_code == 0
    assert f"made/handbook: was there already, and is right; {repository}" in shown.output
    assert Path("made/handbook").stat().st_ino == before


def dirty() -> None:
    Path("made/handbook/README.md").write_text("mine\n", "utf-8")


def elsewhere() -> None:
    repositories.commit(Path("made/handbook").absolute(), {"mine.md": "mine\n"})


def another_folder() -> None:
    shutil.rmtree("made/handbook")
    repositories.write(Path("made/handbook"), {"mine.md": "mine\n"})


def a_file() -> None:
    shutil.rmtree("made/handbook")
    Path("made/handbook").write_text("mine\n", "utf-8")


@pytest.mark.parametrize("spoil", [dirty, elsewhere, another_folder, a_file])
def test_refuses_what_stands_in_its_place_and_leaves_it(
    repository: str, spoil: Callable[[], None]
) -> None:
    """What is there may be somebody's work."""
    del repository
    prepare()
    spoil()

    shown = prepare()

    assert shown.exit_code == 4
    assert "made/handbook: " in shown.output
    assert "remove it, or name another folder" in shown.output
    texts = [path.read_text("utf-8") for path in Path("made").rglob("*.md")]
    assert "mine\n" in texts or Path("made/handbook").read_text("utf-8") == "mine\n"


def test_says_in_one_sentence_that_the_pin_is_not_there(repository: str) -> None:
    edit(repository, PIN)

    shown = prepare()

    assert shown.exit_code == 4
    assert len(shown.output.splitlines()) == 2
    assert f"has no commit {PIN}; correct url or pin in the study" in shown.output
    assert not Path("made").exists()


def test_refuses_a_folder_that_makes_another_commit(folder: str) -> None:
    Path("handbook/more.md").write_text("more\n", "utf-8")

    shown = prepare()

    assert shown.exit_code == 4
    assert f"not the pin {folder}" in shown.output
    assert not Path("made").exists()


@pytest.mark.parametrize("kind", ["tree", "tag"])
def test_refuses_a_pin_that_is_no_commit(here: Path, repository: str, kind: str) -> None:
    """Such an id can be fetched as well, and HEAD would then be another than the pin, or none."""
    origin = here / "origin"
    repositories.git(origin, "tag", "--annotate", "--message=one", "one", repository)
    other = {"tree": f"{repository}^{{tree}}", "tag": "one"}[kind]
    edit(repository, repositories.git(origin, "rev-parse", other))

    shown = prepare()

    assert shown.exit_code == 4
    assert "and is no commit; correct url or pin in the study" in shown.output
    assert not Path("made").exists()


def test_makes_all_checkouts_or_none(repository: str) -> None:
    edit("[repositories.handbook]", f'[repositories.a]\nurl = "../origin"\npin = "{PIN}"\n\n'
         "[repositories.handbook]")  # fmt: skip
    Path("made").mkdir()

    shown = prepare()

    assert shown.exit_code == 4
    assert repository not in shown.output
    assert list(Path("made").iterdir()) == []


@pytest.mark.parametrize("into", ["valid_study/made", "handbook/made"])
def test_refuses_to_put_checkouts_into_the_study_or_its_corpus(folder: str, into: str) -> None:
    """In the study's folder they would count for its freeze."""
    del folder
    shown = call("prepare", "valid_study", "--into", into)

    assert shown.exit_code == 4
    assert "name a folder outside of it" in shown.output
    assert not Path(into).exists()


@pytest.mark.parametrize("address", ["ssh://example.invalid/a", "ext::sh -c true", "git@host:a"])
def test_fetches_over_no_protocol_that_runs_programs_or_needs_credentials(
    repository: str, address: str
) -> None:
    del repository
    edit('url = "../origin"', f'url = "{address}"')

    shown = prepare()

    assert shown.exit_code == 4
    assert not Path("made").exists()


def test_runs_no_hook_or_filter_and_reads_no_configuration(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the operator configured for other work must not change the corpus."""
    shutil.copytree("handbook", "origin")
    pin = repositories.commit(here / "origin", {".gitattributes": "*.md filter=loud\n"})
    edit(PIN, pin)
    edit(URL, 'url = "../origin"')
    loud = here / "loud"
    hooks = here / "hooks"
    repositories.write(hooks, {"post-checkout": f"#!/bin/sh\ntouch {loud}\n"})
    (hooks / "post-checkout").chmod(0o755)
    config = f'[core]\nhooksPath = {hooks}\n[filter "loud"]\nsmudge = touch {loud}; cat\n'
    (here / "config").write_text(config, "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(here / "config"))

    shown = prepare()

    assert shown.exit_code == 0, shown.output
    assert not loud.exists()


def test_keeps_what_a_checkout_took_to_make_where_it_changes_no_file(folder: str) -> None:
    """The report says what preparing the study took, or that nobody measured it."""
    del folder
    prepare()
    made = Path("made/handbook")
    took = noted(made)
    (made / ".git" / "agent-trials-prepared-ms").write_text("soon", "ascii")

    assert took is not None
    assert took > 0
    assert git.changes(made) == ()
    assert noted(made) is None
    assert noted(Path("handbook")) is None


def test_for_checkouts_the_folder_becomes_a_cache_that_a_run_is_given(here: Path) -> None:
    """What is not to be had is named; what was fetched stays for the next time."""
    lab = CheckoutLab(here / "lab", questions=("one", "two"))

    done = call("prepare", str(lab.folder), "--into", "cache")
    again = call("prepare", str(lab.folder), "--into", "cache")
    lab.pins["two"] = "0" * 40
    lab.study()
    refused = call("prepare", str(lab.folder), "--into", "cache")

    assert done.output.splitlines()[-1] == "--mirrors cache"
    assert done.output.count("1 of 1 pins fetched") == 2
    assert again.output.count("0 of 1 pins fetched") == 2
    assert refused.exit_code == 4
    assert f"has no commit {'0' * 40}" in refused.output
    assert len([*Path("cache").iterdir()]) == 2
