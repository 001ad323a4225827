"""The one folder of a study's login: nothing speaks in it, and no run leaves anything behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_trials.agents import config_dir

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder in which somebody logged in, as the CLI leaves it."""
    found = tmp_path / "login"
    (found / "projects" / "-x" / "memory").mkdir(parents=True)
    (found / "projects" / "-x" / "memory" / "MEMORY.md").write_text("canary", encoding="utf-8")
    (found / "backups").mkdir()
    (found / ".credentials.json").write_text('{"token": "t"}', encoding="utf-8")
    state = {"oauthAccount": {"id": 1}, "projects": {"/x": {"history": ["canary"]}}}
    (found / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
    return found


def test_a_login_with_the_remains_of_runs_will_do(folder: Path, tmp_path: Path) -> None:
    """Logging in already leaves some."""
    assert config_dir.problems(folder, {"HOME": str(tmp_path / "home")}) == []


@pytest.mark.parametrize("name", ["CLAUDE.md", "settings.json", "plugins", "agents", "skills"])
def test_refuses_what_would_speak_to_every_agent(folder: Path, name: str) -> None:
    """Global settings once bound the product into the plain arm; all rows were void."""
    (folder / name).mkdir()
    (found,) = config_dir.problems(folder, {})

    assert f"it holds {name}, which would reach every agent" in found.what


def test_refuses_what_it_does_not_know(folder: Path) -> None:
    """It would be removed, and might be somebody's only copy."""
    (folder / "thesis.txt").write_text("x", encoding="utf-8")
    (found,) = config_dir.problems(folder, {})

    assert "it holds thesis.txt" in found.what


@pytest.mark.parametrize("variable", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_refuses_the_operators_own_folder(folder: Path, variable: str) -> None:
    """Their sessions would be removed."""
    (found,) = config_dir.problems(folder, {variable: str(folder)})

    assert "it is your own" in found.what


def test_everything_but_the_login_is_removed_before_an_attempt(folder: Path) -> None:
    """The session and memory of one attempt must not reach the next."""
    config_dir.clean(folder)

    assert sorted(each.name for each in folder.iterdir()) == [".claude.json", ".credentials.json"]
    assert (folder / ".credentials.json").read_text(encoding="utf-8") == '{"token": "t"}'
    assert "canary" not in (folder / ".claude.json").read_text(encoding="utf-8")
    state = json.loads((folder / ".claude.json").read_text(encoding="utf-8"))
    assert state == {"oauthAccount": {"id": 1}}


def test_a_folder_that_is_not_there_is_named_with_the_way_to_make_it(tmp_path: Path) -> None:
    """The login is the operator's to make."""
    (found,) = config_dir.problems(tmp_path / "none", {})

    assert found.remedy == f"CLAUDE_CONFIG_DIR={tmp_path / 'none'} claude, then /login"
