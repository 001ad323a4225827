"""What is on record of a study's parameters: an engine's revision and the digest of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.workspace import git
from agent_trials.workspace.mcp_digests import ParameterFacts, folder_digest, parameter_facts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A git checkout of an engine."""
    source = tmp_path / "source"
    (source / "dist").mkdir(parents=True)
    (source / "dist/cli.js").write_text("serve()\n", encoding="ascii")
    (source / "README.md").write_text("# Engine\n", encoding="ascii")
    git.commit_folder(source, tmp_path / "engine")
    return tmp_path / "engine"


def facts(value: Path | str) -> ParameterFacts:
    return parameter_facts("engine", str(value))


def test_a_folder_has_its_revision_and_the_digest_of_its_bundle(engine: Path) -> None:
    found = facts(engine)

    assert (found.kind, found.revision, found.dirty) == ("folder", git.head(engine), False)
    assert found.digest == folder_digest(engine)
    assert found.to_json() == {
        "name": "engine", "kind": "folder", "digest": found.digest,
        "revision": found.revision, "dirty": False,
    }  # fmt: skip


def test_a_file_has_the_revision_of_the_checkout_around_it(engine: Path) -> None:
    """As an engine is mostly named: by its built bundle."""
    found = facts(engine / "dist/cli.js")

    assert (found.kind, found.revision, found.dirty) == ("file", git.head(engine), False)
    assert found.digest is not None
    assert found.digest.startswith("sha256:")


def test_a_checkout_with_changes_is_dirty(engine: Path) -> None:
    """Its revision alone would tell a stranger to look at other files."""
    (engine / "README.md").write_text("# Changed\n", encoding="ascii")

    assert facts(engine).dirty
    assert facts(engine / "dist/cli.js").dirty


def test_what_is_no_checkout_has_a_digest_alone(tmp_path: Path) -> None:
    (tmp_path / "cli.js").touch()

    assert (facts(tmp_path).revision, facts(tmp_path).dirty) == (None, None)
    assert facts(tmp_path / "cli.js").digest is not None


@pytest.mark.parametrize("value", ["fast", "owner/model", "/gone/engine"])
def test_other_text_has_no_digest(value: str) -> None:
    """One of a short text can be guessed, and what it says is private."""
    assert facts(value) == ParameterFacts("engine", "text")


def move(engine: Path) -> None:
    (engine / "README.md").rename(engine / "readme.md")


def lead_elsewhere(engine: Path) -> None:
    (engine / "bin").unlink()
    (engine / "bin").symlink_to("README.md")


@pytest.mark.parametrize(
    "change",
    [
        lambda engine: (engine / "dist/cli.js").write_text("serve(1)\n", encoding="ascii"),
        lambda engine: (engine / "node_modules").mkdir() or (engine / "node_modules/a").touch(),
        move,
        lead_elsewhere,
    ],
    ids=["a byte", "a dependency", "a name", "where a link leads"],
)
def test_whatever_runs_changes_the_digest(engine: Path, change: object) -> None:
    (engine / "bin").symlink_to("dist/cli.js")
    before = folder_digest(engine)
    assert callable(change)
    change(engine)

    assert folder_digest(engine) != before


def test_what_git_keeps_and_what_lies_outside_does_not_change_the_digest(
    engine: Path, tmp_path: Path
) -> None:
    """Git's own files differ with every fetch; a link is not followed."""
    (engine / "out").symlink_to(tmp_path)
    before = folder_digest(engine)
    (engine / ".git/FETCH_HEAD").touch()
    (tmp_path / "more").touch()

    assert folder_digest(engine) == before
