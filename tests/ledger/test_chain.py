"""The chain betrays what was changed, and counts what a crash tore off as never written."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgers
from agent_trials import canonical
from agent_trials.errors import LedgerBrokenError, LedgerError, LineTooLongError
from agent_trials.ledger.chain import (
    LINE_BYTES,
    Position,
    Reading,
    encode,
    largest,
    parse_head,
    parse_line,
    read,
    timestamp,
)
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Lines = list[dict[str, Any]]

START = Position(digest=ledgers.SERIES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """Return the bytes and the published head of a finished ledger."""
    path = tmp_path_factory.mktemp("whole") / "ledger.jsonl"
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts)
    journal.close()
    return path.read_bytes(), journal.head


@pytest.fixture
def ledger(tmp_path: Path, whole: tuple[bytes, str]) -> Path:
    """Return a copy of the finished ledger, without its openings."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(whole[0])
    return path


def line(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a line
    """Return the fields of a line that may stand first."""
    return {
        "seq": 1,
        "run": 1,
        "event": "noted",
        "at": "2026-11-30T00:00:00.000Z",
        "prev": ledgers.SERIES,
        **changed,
    }


def test_a_line_is_canonical_json_and_the_next_names_its_digest(whole: tuple[bytes, str]) -> None:
    """Sorted keys, no spaces, ASCII: what ``tail -n 1 ledger | sha256sum`` says is the head."""
    raw_lines = whole[0].splitlines(keepends=True)
    lines = [json.loads(raw) for raw in raw_lines]

    assert lines[0]["prev"] == ledgers.SERIES
    for before, after in zip(raw_lines, lines[1:], strict=False):
        assert after["prev"] == "sha256:" + hashlib.sha256(before).hexdigest()
    for raw, fields in zip(raw_lines, lines, strict=True):
        assert raw.decode("ascii") == (
            json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True) + "\n"
        )
    last = hashlib.sha256(raw_lines[-1]).hexdigest()
    assert whole[1] == f"{len(lines)}:sha256:{last}"


def test_a_line_of_64_kib_fits_and_one_byte_more_does_not() -> None:
    """The bound counts the newline: a reader may give the system a buffer of that size."""
    fixed = len(encode(line(text="")))
    fits = encode(line(text="x" * (LINE_BYTES - fixed)))

    assert len(fits) == LINE_BYTES
    assert parse_line(fits, START).fields["text"] == "x" * (LINE_BYTES - fixed)
    with pytest.raises(LineTooLongError, match="most of them in text"):
        encode(line(text="x" * (LINE_BYTES - fixed + 1)))


def test_the_field_that_makes_a_line_too_long_is_named_by_its_path() -> None:
    """Who has to shorten something must know what."""
    fields = line(observation={"tools": ["a"] * 9, "mcp": {"x": 1}})

    assert largest(fields)[0] == "prev"
    assert largest(line(observation={"tools": ["a"] * 90, "mcp": {}}))[0] == "observation.tools"


def test_a_float_never_reaches_a_line() -> None:
    """Two programs would write it differently; money is text."""
    with pytest.raises(TypeError, match="float"):
        encode(line(cost=0.1))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"seq": 2}, "numbered 2"),
        ({"seq": "1"}, "numbered '1'"),
        ({"seq": True}, "numbered True"),
        ({"run": 0}, "run"),
        ({"run": None}, "run"),
        ({"event": "Noted"}, "event"),
        ({"event": 3}, "event"),
        ({"at": "2026-11-30T00:00:00Z"}, "at"),
        ({"at": "2026-11-30T01:00:00.000+01:00"}, "at"),
        ({"prev": "sha256:00"}, "prev"),
        ({"private": None}, "private"),
        ({"private": {"answer": "It is in README.md:3."}}, "private"),
        ({"prev": ledgers.OTHER_SERIES}, "not written after line 0"),
    ],
)
def test_refuses_a_line_that_does_not_belong_there(changed: dict[str, Any], reason: str) -> None:
    """Each of the fields that every line has."""
    with pytest.raises(LedgerBrokenError, match=reason) as caught:
        parse_line(canonical.dumps(line(**changed)) + b"\n", START)

    assert caught.value.seq == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.replace(b'":', b'": ', 1),
        lambda raw: raw.replace(b'"run":1', b'"run":1.0'),
        lambda raw: raw.replace(b'"run":1', b'"run":1e0'),
        lambda raw: raw.replace(b'"run":1', b'"run":NaN'),
        lambda raw: raw.replace(b'"run":1', b'"run":1,"run":1'),
        lambda raw: raw.replace(b"noted", b"not\\u0065d"),
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: b"[" + raw.strip() + b"]\n",
        lambda raw: raw.replace(b"noted", b"not\xe9d"),
        lambda raw: raw[:0] + b"[" * 30_000 + b"\n",
        lambda raw: raw[-1:],
    ],
    ids=[
        "space", "float", "exponent", "nan", "key-twice", "escape", "crlf", "bom", "array",
        "latin-1", "deep", "empty",
    ],
)  # fmt: skip
def test_refuses_another_spelling_of_the_same_line(spoil: Callable[[bytes], bytes]) -> None:
    """Only one text stands for an event, so the last line cannot be respelled unseen either."""
    with pytest.raises(LedgerBrokenError):
        parse_line(spoil(canonical.dumps(line()) + b"\n"), START)


@settings(max_examples=300)
@given(data=st.data())
def test_against_its_head_every_changed_byte_is_betrayed(
    whole: tuple[bytes, str], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any byte, anywhere, to any other value; the line that is named is that byte's or the next.

    Where a line's ``prev`` was changed, nobody can tell whether that line or the one before it was.
    """
    raw, head = whole
    place = data.draw(st.integers(0, len(raw) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[place]))
    path = tmp_path_factory.getbasetemp() / "flipped.jsonl"
    path.write_bytes(raw[:place] + bytes([value]) + raw[place + 1 :])

    with pytest.raises(LedgerBrokenError) as caught:
        verify(path, head)

    changed = raw.count(b"\n", 0, place) + 1
    start = raw.index(b'"prev":"', raw.rfind(b"\n", 0, place) + 1)
    in_prev = start <= place < raw.index(b",", start)
    assert changed - in_prev <= caught.value.seq <= changed + 1


@given(data=st.data())
def test_against_its_head_no_line_is_dropped_added_or_moved(
    whole: tuple[bytes, str], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The first line that stands wrong is named."""
    raw, head = whole
    lines = raw.splitlines(keepends=True)
    one, other = data.draw(
        st.lists(st.integers(0, len(lines) - 1), min_size=2, max_size=2, unique=True).map(sorted)
    )
    changed = list(lines)
    match data.draw(st.sampled_from(["drop", "add", "move", "drop tail"])):
        case "drop":
            del changed[one]
        case "add":
            changed.insert(other, lines[one])
        case "move":
            changed[one], changed[other] = changed[other], changed[one]
        case _:
            del changed[other:]
    path = tmp_path_factory.getbasetemp() / "shuffled.jsonl"
    path.write_bytes(b"".join(changed))

    with pytest.raises(LedgerBrokenError) as caught:
        verify(path, head)

    first = next(n for n in range(len(lines)) if n >= len(changed) or changed[n] != lines[n])
    assert caught.value.seq == first + 1


def test_a_changed_line_is_told_from_the_one_behind_it(ledger: Path) -> None:
    """Line 4 was written after another line 3; line 5 still knows line 4."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"amountUsd":"0.1"', b'"amountUsd":"0.2"')
    ledger.write_bytes(b"".join(lines))

    with pytest.raises(LedgerBrokenError) as caught:
        list(read(ledger))

    assert caught.value.seq == 3


def test_a_changed_prev_is_told_from_a_changed_line_before(ledger: Path) -> None:
    """Line 5 does not know this line 4: so it is line 4 that was changed."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    fields = json.loads(lines[3]) | {"prev": ledgers.OTHER_SERIES}
    lines[3] = canonical.dumps(fields) + b"\n"
    ledger.write_bytes(b"".join(lines))

    with pytest.raises(LedgerBrokenError) as caught:
        list(read(ledger))

    assert caught.value.seq == 4


@pytest.mark.parametrize(
    "torn",
    [b'{"at":"2026-11-30T', b"\x00" * 4096, b"x" * 300_000],
    ids=["half-a-line", "zeros", "long"],
)
def test_what_stands_behind_the_last_newline_was_never_written(ledger: Path, torn: bytes) -> None:
    """A crash or a full disk tears a line; nothing was done on its strength."""
    count = ledger.read_bytes().count(b"\n")
    with ledger.open("ab") as stream:
        stream.write(torn)
    reading = Reading(ledger)

    assert len(list(reading)) == count
    assert reading.torn == len(torn)


def test_a_whole_line_without_its_newline_was_never_written(ledger: Path) -> None:
    """The newline is the last byte of the write, so that its writer has not come back."""
    raw = ledger.read_bytes()
    ledger.write_bytes(raw[:-1])
    reading = Reading(ledger)

    assert len(list(reading)) == raw.count(b"\n") - 1
    assert reading.torn == len(raw.splitlines()[-1])


def test_refuses_a_line_longer_than_64_kib(ledger: Path) -> None:
    """A torn tail has no newline behind it; this has."""
    raw = ledger.read_bytes()
    ledger.write_bytes(raw + b"x" * 300_000 + b"\n")

    with pytest.raises(LedgerBrokenError, match="longer than 65536") as caught:
        list(read(ledger))

    assert caught.value.seq == raw.count(b"\n") + 1


def test_reading_holds_one_line_at_a_time(tmp_path: Path) -> None:
    """A ledger of 10,000 attempts is read in the memory of one line."""
    path = tmp_path / "long.jsonl"
    filler = {"run": 1, "event": "noted", "at": "2026-11-30T00:00:00.000Z", "text": "x" * 20_000}
    ledgers.rechain(path, [filler] * 200, ledgers.SERIES)
    tracemalloc.start()

    count = sum(1 for _ in read(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 200
    assert peak < path.stat().st_size / 10


def test_a_missing_ledger_is_named(tmp_path: Path) -> None:
    """One sentence with the path and the way out."""
    with pytest.raises(LedgerError, match=r"none\.jsonl cannot be read.*give one that exists"):
        list(read(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("text", ["", "3", "3:abc", f"00:{ledgers.SERIES}", f"x{ledgers.SERIES}"])
def test_refuses_a_text_that_is_no_head(text: str) -> None:
    """A head cut short in copying must not pass for none given."""
    with pytest.raises(LedgerError, match="is no head"):
        parse_head(text)


def test_a_head_is_read_as_it_was_printed() -> None:
    """White space around it comes with copying."""
    assert parse_head(f" 14:{ledgers.SERIES}\n") == (14, ledgers.SERIES)


def test_times_are_utc_with_milliseconds() -> None:
    """A clock in another zone is a caller's bug, and one without a zone as well."""
    moment = datetime(2026, 11, 30, 1, 2, 3, 4567, tzinfo=UTC)

    assert timestamp(moment) == "2026-11-30T01:02:03.004Z"
    with pytest.raises(RuntimeError):
        timestamp(moment.astimezone(timezone(timedelta(hours=1))))
    with pytest.raises(RuntimeError):
        timestamp(moment.replace(tzinfo=None))


def test_refuses_a_pipe_instead_of_waiting_for_what_nobody_writes(tmp_path: Path) -> None:
    pipe = tmp_path / "run.jsonl"
    os.mkfifo(pipe)

    with pytest.raises(LedgerError, match="no regular file"):
        list(read(pipe))
