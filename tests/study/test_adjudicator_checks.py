"""What a study registers about its grading can be carried out."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_trials.errors import LedgerError
from agent_trials.study import archived, design, freeze, manifest
from agent_trials.study.adjudicator_checks import adjudicator_findings
from agent_trials.study.key import key_findings
from agent_trials.study.settings import (
    AdjudicatorCliSettings,
    AdjudicatorCommandSettings,
    GraderSettings,
)

QUICKSTART = Path(__file__).parents[2] / "evals" / "quickstart"
STUDY = manifest.load(QUICKSTART)
SECOND = GraderSettings(transport="http", model="m", limit_usd="1")  # type: ignore[arg-type] # text


def findings(**changed: Any) -> list[str]:  # noqa: ANN401 - fields
    assert STUDY.manifest.adjudicator is not None
    adjudicator = dataclasses.replace(STUDY.manifest.adjudicator, **changed)
    changed_study = dataclasses.replace(STUDY.manifest, adjudicator=adjudicator)
    return [".".join(map(str, each.path)) for each in adjudicator_findings(changed_study)]


def test_the_quickstarts_adjudicator_can_be_used() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"http": None}, "adjudicator.transport"),
        ({"transport": "cli"}, "adjudicator.transport"),
        ({"transport": "command"}, "adjudicator.transport"),
        ({"neutral": ("duration_ms",)}, "adjudicator.neutral"),
        ({"neutral_measurements": ("x",)}, "adjudicator.neutral_measurements"),
        ({"disagreement": "first"}, "adjudicator.disagreement"),
        (
            {"cli": AdjudicatorCliSettings(version="1", prices=(), environment={"A_KEY": "x"})},
            "adjudicator.cli.environment.A_KEY",
        ),
    ],
)
def test_names_the_place_that_cannot_be_carried_out(changed: dict[str, Any], place: str) -> None:
    assert findings(**changed) == [place]


def test_a_second_adjudicator_needs_a_table_and_a_rule() -> None:
    """Which of two grades counts must not be decided after both are known."""
    assert findings(second=SECOND) == ["adjudicator.second.transport", "adjudicator.second"]


def test_one_of_two_graders_may_be_a_command() -> None:
    """The file of --providers has one adjudicator."""
    command: dict[str, Any] = {"transport": "command", "command": AdjudicatorCommandSettings()}
    second = dataclasses.replace(SECOND, **command)

    assert findings(second=second, disagreement="first") == []
    assert findings(**command, second=second, disagreement="first") == [
        "adjudicator.second.transport"
    ]


def test_a_command_gets_a_structured_packet_where_nothing_else_is_said() -> None:
    assert STUDY.manifest.adjudicator is not None
    bare = dataclasses.replace(STUDY.manifest.adjudicator, packet=None)

    assert not bare.is_structured
    assert dataclasses.replace(bare, transport="command").is_structured
    assert not dataclasses.replace(bare, transport="command", packet="answer").is_structured


def test_a_batch_reserves_its_gradings_its_guesses_and_two_controls_of_each_grader() -> None:
    assert STUDY.manifest.adjudicator is not None
    bare = dataclasses.replace(STUDY.manifest.adjudicator, limit_usd=Decimal("0.5"), controls=2)
    second = dataclasses.replace(SECOND, limit_usd=Decimal("0.1"))

    assert bare.reserves(10) == Decimal(7)
    assert dataclasses.replace(bare, guess_arm=True).reserves(10) == Decimal(12)
    assert dataclasses.replace(bare, second=second).reserves(10) == Decimal("8.4")


def test_an_adjudicator_needs_a_task_to_be_tested_on() -> None:
    assert STUDY.key is not None
    bare = {name: dataclasses.replace(entry, wrong=None) for name, entry in STUDY.key.tasks.items()}
    found = key_findings(dataclasses.replace(STUDY.key, tasks=bare), STUDY.manifest)

    assert [each.what for each in found] == [
        "an adjudicator is registered, and no task has an answer to test it on"
    ]


def test_check_doubts_what_makes_grading_less_blind() -> None:
    assert STUDY.manifest.adjudicator is not None
    adjudicator = dataclasses.replace(
        STUDY.manifest.adjudicator,
        model=STUDY.manifest.agent.model,
        packet="structured",
        neutral=("execution_status", "duration_ms", "outcomes"),
        neutral_measurements=("searchHitRate",),
    )
    found = design.doubts(dataclasses.replace(STUDY.manifest, adjudicator=adjudicator))
    told = dataclasses.replace(
        STUDY.manifest.adjudicator, packet="answer", command=AdjudicatorCommandSettings()
    )
    others = design.doubts(dataclasses.replace(STUDY.manifest, adjudicator=told))

    assert [each.where for each in found] == [
        "adjudicator.neutral", "adjudicator.neutral", "adjudicator.neutral_measurements",
        "adjudicator.model",
    ]  # fmt: skip
    assert [each.where for each in others] == ["adjudicator.packet"]


def test_a_study_is_read_back_from_its_archive() -> None:
    study, key = freeze.archive(QUICKSTART), freeze.key_archive(QUICKSTART)
    digest = freeze.folder_digest(QUICKSTART)
    found = archived.read(study, key, folder_digest=digest)

    assert (found.manifest, found.key) == (STUDY.manifest, STUDY.key)


def test_an_archive_that_is_not_the_folders_is_refused() -> None:
    """A key put beside a ledger afterwards would grade another study."""
    study, key = freeze.archive(QUICKSTART), freeze.key_archive(QUICKSTART)
    digest = freeze.folder_digest(QUICKSTART)
    forged = {"files": {"key.toml": {"text": key["files"]["key.toml"]["text"] + "\n"}}}

    for parts in (
        (study, forged, digest),
        (study, key, "sha256:" + "0" * 64),
        (None, key, digest),
    ):
        with pytest.raises(LedgerError):
            archived.read(parts[0], parts[1], folder_digest=parts[2])
