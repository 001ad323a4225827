"""What an arm sets up is filled in before money, but for the folders of an attempt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import WorkspaceError
from agent_trials.records import Rules
from agent_trials.study.settings import (
    ArmSettings,
    CheckoutSettings,
    RegistrationSettings,
    RulesSettings,
)
from agent_trials.workspace import arm_setup
from agent_trials.workspace.arm_setup import Places

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = CheckoutSettings(setup_seconds=30)


def arm(*setup: tuple[str, ...], rules: RulesSettings | None = None) -> ArmSettings:
    return ArmSettings(
        id="tool",
        setup=setup,
        registration=RegistrationSettings(server="{name}", file="{workspace}/.mcp.json"),
        rules=rules,
    )


def test_a_parameter_that_is_a_path_here_names_the_same_file_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set-up command runs in another folder than the operator types in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool.py").touch()
    values = {"tool": "./tool.py", "name": "lean"}

    found = arm_setup.resolved(
        arm(("{python}", "{tool}", "--home={home}"), ("{home}/bin/tool", "init")),
        SETTINGS, values, tmp_path,
    )  # fmt: skip

    assert found.commands == (
        (sys.executable, f"{tmp_path}/tool.py", "--home={home}"),
        ("{home}/bin/tool", "init"),
    )
    assert found.seconds == 30
    assert found.registration is not None
    assert (found.registration.server, found.registration.allow) == ("lean", ())


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="'no-such-program' is not there"):
        arm_setup.resolved(arm(("no-such-program",)), SETTINGS, {}, tmp_path)


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xff", b"x" * 100_001])
def test_a_rules_file_of_the_study_is_a_text_of_a_sane_size(tmp_path: Path, content: bytes) -> None:
    """A treatment of nothing is none, and one too large is no argument."""
    (tmp_path / "rules.md").write_bytes(content)
    rules = RulesSettings(file="rules.md", deliver="project-file")

    with pytest.raises(WorkspaceError, match=r"the rules file rules\.md"):
        arm_setup.resolved(arm(rules=rules), SETTINGS, {}, tmp_path)


def test_texts_are_compared_without_the_folders_of_their_attempt(tmp_path: Path) -> None:
    """An installer writes absolute paths, which differ every time."""
    digests = set()
    for name in ("first", "other"):
        places = Places(tmp_path / name / "w", tmp_path / name / "h")
        places.workspace.mkdir(parents=True)
        (places.workspace / "RULES.md").write_text(
            f"Look into {places.home}/index first.\n", encoding="utf-8"
        )
        digests.add(arm_setup.delivered(Rules("{workspace}/RULES.md", "x"), places).digest)

    assert len(digests) == 1


def test_a_file_outside_the_attempt_is_none_of_its_set_ups(tmp_path: Path) -> None:
    """A link would let an installer point at the operator's own."""
    places = Places(tmp_path / "w", tmp_path / "h")
    places.workspace.mkdir()
    (tmp_path / "mine.md").write_text("mine", encoding="utf-8")
    (places.workspace / "RULES.md").symlink_to(tmp_path / "mine.md")

    with pytest.raises(WorkspaceError, match="neither in the workspace nor"):
        arm_setup.delivered(Rules("{workspace}/RULES.md", "project-file"), places)
