"""The record of paid runs: none can be left out, and a crash is no run."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import ledgers
from agent_trials.study.folder import LEDGERS
from agent_trials.study.ledgers import LedgerRecord

if TYPE_CHECKING:
    from pathlib import Path


def record(run_id: str = "ab12", *, series_id: str = "s", scored: bool = True) -> LedgerRecord:
    """Return the record of a run that opens."""
    return LedgerRecord(
        run_id=run_id,
        series_id=series_id,
        phase="full",
        scored=scored,
        cap_usd=Decimal("2.50"),
        opened_at="2026-11-30T00:00:00.000Z",
    )


def close(folder: Path, run_id: str = "ab12", attempts: int = 4) -> None:
    """Append that a run closed."""
    ledgers.closed(
        folder, run_id, head="9:sha256:00", attempts=attempts, spent_usd=Decimal("0.25"), at="t"
    )


def test_a_study_without_paid_runs_has_none(tmp_path: Path) -> None:
    assert ledgers.read(tmp_path) == ()


def test_a_run_is_on_record_when_it_opens_and_complete_when_it_closes(tmp_path: Path) -> None:
    ledgers.opened(tmp_path, record())
    (opened,) = ledgers.read(tmp_path)
    close(tmp_path)
    (closed,) = ledgers.read(tmp_path)

    assert opened == record()
    assert not opened.closed
    assert closed.closed
    assert (closed.head, closed.attempts, closed.spent_usd) == ("9:sha256:00", 4, Decimal("0.25"))


def test_the_file_says_neither_where_a_ledger_is_nor_anything_private(tmp_path: Path) -> None:
    ledgers.opened(tmp_path, record())
    close(tmp_path)

    assert (tmp_path / LEDGERS).read_text() == (
        '{"at":"2026-11-30T00:00:00.000Z","capUsd":"2.5","event":"opened","phase":"full",'
        '"runId":"ab12","scored":true,"seriesId":"s"}\n'
        '{"at":"t","attempts":4,"event":"closed","head":"9:sha256:00","runId":"ab12",'
        '"spentUsd":"0.25"}\n'
    )


@pytest.mark.parametrize(
    ("scored", "attempts", "expected"),
    [
        (True, None, True),
        (True, 1, True),
        (True, 0, False),
        (False, None, False),
        (False, 9, False),
    ],
)
def test_an_open_run_of_a_scored_phase_may_have_scored_attempts(
    tmp_path: Path,
    scored: bool,  # noqa: FBT001 - a row of the table
    attempts: int | None,
    expected: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """Of a run that was killed nobody knows here, so it counts as one that saw results."""
    ledgers.opened(tmp_path, record(scored=scored))
    if attempts is not None:
        close(tmp_path, attempts=attempts)

    assert ledgers.read(tmp_path)[0].has_scored_attempts is expected


def test_a_torn_last_line_was_never_written_and_is_gone_after_the_next(tmp_path: Path) -> None:
    """The line is on disk before anything is spent, so what it announced never happened."""
    ledgers.opened(tmp_path, record("a"))
    with (tmp_path / LEDGERS).open("ab") as file:
        file.write(b'{"at":"2026')
    torn = ledgers.read(tmp_path)
    ledgers.opened(tmp_path, record("b"))

    assert [each.run_id for each in torn] == ["a"]
    assert [each.run_id for each in ledgers.read(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"event":"opened"}',
        '{"event":"closed","runId":"zz","head":"h","attempts":1,"spentUsd":"1","at":"t"}',
        '{"at":"t","capUsd":"-1","event":"opened","phase":"f","runId":"x","scored":true,"seriesId":"s"}',
        '{"at":"t","capUsd":"1","event":"opened","phase":"f","runId":"ab12","scored":true,"seriesId":"s"}',
        '{"at":"t","capUsd":"1","event":"opened","phase":"f","runId":1,"scored":true,"seriesId":"s"}',
        '{"event":"lost","runId":"ab12"}',
        '{"event":"lost","runId":"ab12","head":"h","attempts":1,"spentUsd":"1","at":"t"}',
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    """A record that cannot be read must not turn into a run that was never paid for."""
    ledgers.opened(tmp_path, record())
    with (tmp_path / LEDGERS).open("a") as file:
        file.write(f"{line}\n")

    with pytest.raises(StudyError, match=r"study\.ledgers\.jsonl:2: this is no record of a paid"):
        ledgers.read(tmp_path)


def test_a_run_closes_once(tmp_path: Path) -> None:
    """A second closing line could otherwise lower what the first one said was spent."""
    ledgers.opened(tmp_path, record())
    close(tmp_path)
    close(tmp_path, attempts=0)

    with pytest.raises(StudyError, match=r"study\.ledgers\.jsonl:3: .*follows from no line before"):
        ledgers.read(tmp_path)


def test_runs_of_another_series_are_not_this_ones(tmp_path: Path) -> None:
    ledgers.opened(tmp_path, record("a", series_id="old"))
    ledgers.opened(tmp_path, record("b", series_id="new"))

    assert [each.run_id for each in ledgers.of_series(ledgers.read(tmp_path), "new")] == ["b"]
