"""A user's ordinary pytest run neither spends nor fails because a study lies about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Lab


def test_runs_no_attempt_and_exits_with_0_where_nothing_else_was_collected(lab: Lab) -> None:
    shown = lab.pytest("evals")

    assert shown.code == 0, shown.text
    assert "6 attempts of studies deselected" in shown.out
    assert "6 deselected" in shown.out
    assert lab.rehearsals() == []


def test_runs_the_other_tests_beside_a_study(lab: Lab) -> None:
    (lab.project / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")

    shown = lab.pytest()

    assert shown.code == 0, shown.text
    assert "1 passed, 6 deselected" in shown.out


@pytest.mark.parametrize("expression", ["not slow", "not pilot", "slow or fast"])
def test_an_expression_that_names_no_phase_runs_no_attempt(lab: Lab, expression: str) -> None:
    (lab.project / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")

    shown = lab.pytest("-m", expression)

    assert lab.rehearsals() == []
    assert "attempt[" not in shown.out


def test_an_expression_that_matches_nothing_else_still_says_so(lab: Lab) -> None:
    """Exit code 5 stays what it was where other tests were collected and deselected."""
    (lab.project / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")

    shown = lab.pytest("-k", "nothing_of_the_kind")

    assert shown.code == 5


def test_a_misspelt_phase_is_named_with_the_nearest_one(lab: Lab) -> None:
    shown = lab.pytest("evals", "-m", "pilto and not slow")

    assert shown.code == 5
    assert "-m pilto: no phase of a study; did you mean 'pilot'?" in shown.out


def test_a_study_that_cannot_be_loaded_is_a_collection_error(lab: Lab) -> None:
    (lab.folder / "study.toml").write_text("schema = 2\n", encoding="utf-8")

    shown = lab.pytest("evals")

    assert shown.code == 2
    assert "study.toml" in shown.text


@pytest.mark.parametrize("plugins", [("-p", "no:xdist"), ("-p", "no:timeout"), ("-n", "2")])
def test_other_plugins_may_be_absent_or_busy(lab: Lab, plugins: tuple[str, ...]) -> None:
    shown = lab.pytest("evals", *plugins)

    assert shown.code == 0, shown.text


def test_naming_the_plugin_again_is_harmless(lab: Lab) -> None:
    (lab.project / "conftest.py").write_text(
        'pytest_plugins = ["agent_trials.plugin"]\n', encoding="utf-8"
    )

    shown = lab.pytest("evals")

    assert shown.code == 0, shown.text


def test_what_only_shows_opens_no_run(lab: Lab) -> None:
    """Pytest starts a session for it, which is no reason to spend."""
    shown = lab.pytest(*lab.paid_arguments(), "--fixtures", **lab.paid_environment)

    assert shown.code == 0, shown.text
    assert "planned_attempt" in shown.out
    assert not lab.ledger.exists()


def test_a_session_without_a_study_imports_nothing_heavy(lab: Lab) -> None:
    (lab.project / "test_own.py").write_text(
        "import sys\n\n"
        "def test_own():\n"
        "    heavy = {'anthropic', 'mcp', 'ray', 'scipy', 'matplotlib', 'pydantic'}\n"
        "    assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n",
        encoding="utf-8",
    )

    shown = lab.pytest("test_own.py", "-m", "not slow")

    assert shown.code == 0, shown.text
