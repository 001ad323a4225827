"""Each arm of a study over checkouts is laid out once, and looked at, before money is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_trials import arms
from checkout_lab import FIXED, REGISTRATION, TOOL, CheckoutLab

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.errors import Problem

INSTALL = f'[["{{python}}", "{TOOL}", "install"]]'


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckoutLab:
    """Return a lab whose home and place are this process's."""
    found = CheckoutLab(tmp_path)
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setattr("tempfile.tempdir", str(found.place))
    return found


def looked(lab: CheckoutLab, *, rehearsal: bool = True) -> tuple[arms.Arms, list[Problem]]:
    problems: list[Problem] = []
    return arms.look(lab.ground(rehearsal=rehearsal), problems), problems


@pytest.fixture(scope="module")
def exposed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[CheckoutLab, arms.Arms, list[Problem]]:
    """Return what was found before a paid run of a study that keeps its key from commands."""
    found = CheckoutLab(tmp_path_factory.mktemp("lab"))
    found.study(key_reaches_shell="false")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(found.home))
        patched.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-operator")
        patched.setattr("tempfile.tempdir", str(found.place))
        return found, *looked(found, rehearsal=False)


def test_finds_the_registered_server_its_tools_and_the_delivered_rules(
    exposed: tuple[CheckoutLab, arms.Arms, list[Problem]],
) -> None:
    """What stands here is what every attempt of the arm must come to again."""
    lab, found, _ = exposed

    registered = found.set_ups["tool"].registration
    assert registered is not None
    assert registered.allow == ("docs.search",)
    assert found.denied == {
        "native": (),
        "tool": ("mcp__tool__docs_annotate", "mcp__tool__docs_get"),
    }
    native, tool = found.facts["arms"]
    assert native == {"arm": "native", "setupCommands": 0, "registration": None, "rules": None}
    assert tool["rules"]["deliver"] == "project-file"
    assert registered.digest != tool["registration"]["digest"]
    assert [*lab.place.iterdir()] == []


def test_a_key_that_commands_can_read_needs_the_studys_word_in_a_paid_run(
    exposed: tuple[CheckoutLab, arms.Arms, list[Problem]],
) -> None:
    """It is all that is wrong here: the sandbox that would keep it from them is missing."""
    _, found, problems = exposed

    assert [each.where for each in problems] == ["workspace.checkout.key_reaches_shell"]
    assert "can read its key" in problems[0].what
    assert found.facts["keyReachesShell"] is True


def test_no_process_of_it_has_a_key_of_the_operators(
    exposed: tuple[CheckoutLab, arms.Arms, list[Problem]],
) -> None:
    """It runs before the budget is open."""
    lab, _, _ = exposed

    assert lab.records()
    for each in lab.records():
        assert each["environment"]["ANTHROPIC_API_KEY"].startswith("sk-ant-foreseen-")
        assert each["environment"]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"registration": '{ server = "tol" }'},
            "the set-up registered no MCP server 'tol' in {home}/.claude.json (there: tool)",
        ),
        (
            {"registration": '{ server = "tool", allow = ["docs.serch"] }'},
            "the server does not list the tool 'docs.serch'",
        ),
        (
            {"registration": REGISTRATION.replace('"docs.search", arguments', '"x.y", arguments')},
            "the server does not list the tool 'x.y'",
        ),
        ({"setup": '[["{python}", "-c", "raise SystemExit(3)"]]'}, "ended with 3"),
    ],
)
def test_a_set_up_that_is_not_what_the_study_says_stops_the_run_before_money(
    lab: CheckoutLab, changes: dict[str, Any], says: str
) -> None:
    """The treatment would be missing in every attempt."""
    lab.study(**changes)

    _, problems = looked(lab)

    assert [says in str(each) for each in problems] == [True]


def test_rules_that_the_cli_does_not_send_stop_the_run(lab: CheckoutLab) -> None:
    """A file that lies there is no treatment until the model is told it."""
    lab.behave(deaf=True)

    _, problems = looked(lab)

    assert [each.what for each in problems] == ["the rules file is not in what the CLI sends"]


def test_rules_that_the_other_arm_is_told_too_stop_the_run(lab: CheckoutLab) -> None:
    """Both arms would have the treatment."""
    path = lab.folder / "study.toml"
    text = path.read_text("utf-8").replace('id = "native"\n', f'id = "native"\nsetup = {INSTALL}\n')
    path.write_text(text, encoding="utf-8")

    _, problems = looked(lab)

    assert [each.what for each in problems] == ["the arm native is told the rules file too"]


def test_rules_can_be_an_argument_instead(lab: CheckoutLab) -> None:
    """Then they reach the model although it reads no file."""
    lab.behave(deaf=True)
    lab.study(rules='{ file = "rules.md", deliver = "appended-system-prompt" }')
    (lab.folder / "rules.md").write_text("Ask the tool first.\n", encoding="utf-8")

    found, problems = looked(lab)

    assert problems == []
    rules = found.set_ups["tool"].rules
    assert rules is not None
    assert rules.text == "Ask the tool first.\n"


def test_the_key_is_kept_from_commands_in_every_arm_where_the_cli_can(lab: CheckoutLab) -> None:
    """It is tried with a dummy key; what works there is switched on in every attempt."""
    lab.study(key_reaches_shell="false")
    lab.behave(edits=FIXED, sandbox="works")

    found, problems = looked(lab, rehearsal=False)

    assert problems == []
    assert found.shielded
    assert (found.facts["shielded"], found.facts["keyReachesShell"]) == (True, False)
    switched = [
        each["environment"].get("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB") for each in lab.records()
    ]
    assert switched == ["1", "1", "1"]


def test_a_sandbox_that_leaves_files_in_the_checkout_is_none(lab: CheckoutLab) -> None:
    """They would be in every patch, as if the agent had written them."""
    lab.study(key_reaches_shell="false")
    lab.behave(sandbox="litters")

    found, problems = looked(lab, rehearsal=False)

    assert not found.shielded
    assert [each.where for each in problems] == ["workspace.checkout.key_reaches_shell"]
