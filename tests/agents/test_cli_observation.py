"""What is public of a reading: every field that the runner's specification names, and more."""

from __future__ import annotations

from typing import Any

import pytest

from agent_trials.agents import cli_observation, transcript
from recordings import recording

NAMED = (
    "transport", "cliVersion", "expectedCliVersion", "attemptBudgetUsd", "model", "tools",
    "mcp_servers", "toolCallsByName", "toolCalls", "permissionDenials", "inputTokens",
    "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "numTurns", "cliSubtype",
    "isError", "usageComplete", "toolErrorsByName", "cliReportedCostUsd", "computedCostUsd",
    "costBasis", "chargedUsd", "wallTimeMs", "status", "problems", "retries", "resolvedModel",
    "environmentDigest", "timeToInitMs",
)  # fmt: skip


def _line(name: str) -> dict[str, Any]:
    one = recording(name)
    expected = one.expected()
    facts = one.process
    seen = cli_observation.observation(
        transcript.read(one.stdout, facts, expected),
        facts,
        expected,
        environment_digest="sha256:0",
        expected_version="2.1.296",
        survivors=0,
    )
    return seen.to_json()


def test_every_field_that_the_specification_names_is_there_and_told() -> None:
    line = _line("success-mcp")

    unmeasured = {"wallTimeMs", "timeToInitMs"}  # no process ran here
    assert not {name for name in NAMED if line[name] is None} - unmeasured
    assert (line["correctness"], line["adjudication"]) == (None, "pending")
    assert (line["setupProblem"], line["costProblem"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "setup", "cost"),
    [
        ("mcp-all-error", "treatment-lost", None),
        ("mcp-zero-tools", "tools-missing", None),
        ("other-model-in-message", None, "foreign-model"),
        ("unknown-model", "model-differs", "foreign-model"),
        ("api-error-400", None, "model-usage-missing"),
    ],
)
def test_the_first_problem_of_set_up_and_of_cost_stands_alone(
    name: str, setup: str | None, cost: str | None
) -> None:
    """Whatever the status: what an earlier class hides is on record all the same."""
    line = _line(name)

    assert (line["setupProblem"], line["costProblem"]) == (setup, cost)
    assert {setup, cost} - {None} <= set(line["problems"])
