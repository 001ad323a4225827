"""What the preflight finds before money, all of it at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_trials import preflight
from agent_trials.errors import RunRefusedError
from agent_trials.study import manifest
from agent_trials.workspace import git

EXAMPLE = Path(__file__).parent.parent / "fixtures" / "bad_manifests"


def ground(root: Path, **content: str) -> preflight.Ground:
    """Return what a rehearsal of the example's pilot looks at; ``content`` adds to its corpus."""
    shutil.copytree(EXAMPLE, root, dirs_exist_ok=True)
    for name, text in content.items():
        (root / "handbook" / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    pin = git.commit_folder(root / "handbook", root / "committed")
    toml = root / "valid_study" / "study.toml"
    toml.write_text(toml.read_text("utf-8").replace(
        "0123456789abcdef0123456789abcdef01234567", pin), encoding="utf-8")  # fmt: skip
    study = manifest.load(root / "valid_study")
    return preflight.Ground(study, "full", (), {}, {"engine": "engine.py"}, None, rehearsal=True)


def refusal(ground: preflight.Ground, into: Path) -> list[str]:
    """Return what the preflight refuses, one line each."""
    into.mkdir()
    with pytest.raises(RunRefusedError) as refused:
        preflight.check(ground, into)
    return [str(each) for each in refused.value.problems]


def test_a_corpus_that_holds_the_answers_is_refused_with_file_and_line(tmp_path: Path) -> None:
    """The second task's answer, and the key itself under another name."""
    key = (EXAMPLE / "valid_study" / "key.toml").read_text("utf-8")
    leaking = ground(
        tmp_path, notes="# Notes\n\nA file named\nHandbook.toml holds the settings.\n", copied=key
    )
    leak = "the corpus holds tasks.settings-file.propositions[0] of the answer key"

    problems = refusal(leaking, tmp_path / "into")

    assert [each.split("; ")[0] for each in problems] == [
        "handbook:docs/copied.md: the corpus holds the study's own file key.toml",
        f"handbook:docs/copied.md:12: {leak}",
        f"handbook:docs/notes.md:3: {leak}",
    ]


def test_a_folder_that_makes_another_commit_than_the_pin_is_refused(tmp_path: Path) -> None:
    changed = ground(tmp_path)
    (tmp_path / "handbook" / "docs" / "usage.md").write_text("changed\n", encoding="utf-8")

    problems = refusal(changed, tmp_path / "into")

    assert len(problems) == 1
    assert "makes the commit" in problems[0]
    assert "restore the folder, or amend the pin" in problems[0]
