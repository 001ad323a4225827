"""What is changed after the freeze stays on record, with the reason and the text before it."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_trials.errors import StudyError
from agent_trials.study import freeze, ledgers, manifest
from agent_trials.study.folder import LOCK, PROTOCOL, split_protocol
from agent_trials.study.ledgers import LedgerRecord

if TYPE_CHECKING:
    from pathlib import Path

    from syrupy.assertion import SnapshotAssertion

    from agent_trials.study.manifest import Study

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OLD_PIN, NEW_PIN = "0123456789abcdef0123456789abcdef01234567", "f" * 40
RUNNERS = ("sha256:" + "a" * 64, "sha256:" + "b" * 64)


@pytest.fixture
def study(folder: Path) -> Study:
    """Return the valid example, frozen."""
    loaded = manifest.load(folder)
    freeze.freeze(loaded, now=NOW)
    return loaded


def edit(study: Study, name: str, old: str, new: str) -> None:
    """Change one thing in a file."""
    text = (study.folder / name).read_text("utf-8")
    assert old in text
    (study.folder / name).write_text(text.replace(old, new, 1), "utf-8")


def run(study: Study, run_id: str, *, scored: bool, attempts: int | None) -> None:
    """Put a paid run on record; without attempts it is still open."""
    series_id = freeze.state(study).series_id
    record = LedgerRecord(
        run_id=run_id,
        series_id=series_id,
        phase="full" if scored else "pilot",
        scored=scored,
        cap_usd=Decimal(2),
        opened_at="t",
    )
    ledgers.opened(study.folder, record)
    if attempts is not None:
        spent = Decimal("0.1") * attempts
        ledgers.closed(
            study.folder, run_id, head="1:sha256:0", attempts=attempts, spent_usd=spent, at="t"
        )


def amend(study: Study, reason: str = "the old pin does not build") -> freeze.Amended:
    """Amend a day after the freeze."""
    return freeze.amend(study, reason=reason, now=NOW + timedelta(days=1))


def files(study: Study) -> dict[str, bytes]:
    """Return the bytes of every file of the study."""
    return {each.name: each.read_bytes() for each in study.folder.iterdir() if each.is_file()}


def test_an_amendment_is_in_the_lock_and_in_the_protocol(
    study: Study, snapshot: SnapshotAssertion
) -> None:
    """As in the minimal study: the pin moved after the pilot, before any scored attempt."""
    run(study, "r1", scored=False, attempts=2)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    edit(study, "study.toml", 'title = "', 'title = "New: ')
    edit(study, "key.toml", "pip install handbook", "pip install the-handbook")
    (study.folder / "verdict.py").write_text("")
    before = freeze.state(study)
    amended = amend(study)

    assert amended.number == 1
    assert amended.touches == ("key", "pin")
    assert amended.supersedes is None
    assert amended.frozen.series_id == before.series_id
    assert (amended.frozen.amendment, amended.frozen.changed) == (1, ())
    assert (study.folder / PROTOCOL).read_text("utf-8") == snapshot


def test_the_old_text_stays_above_and_the_old_values_stay_on_record(study: Study) -> None:
    above, _ = split_protocol((study.folder / PROTOCOL).read_bytes())
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    edit(study, "study.toml", 'title = "', 'title = "New: ')
    amend(study)
    text = (study.folder / PROTOCOL).read_bytes()
    entries = json.loads((study.folder / LOCK).read_text())["entries"]

    assert split_protocol(text)[0] == above
    assert [text.find(f"### A{number} ".encode()) > 0 for number in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert [each["number"] for each in entries] == [0, 1, 2]
    assert entries[1]["changes"][0] == {
        "file": "study.toml",
        "field": "repositories.handbook.pin",
        "old": OLD_PIN,
        "new": NEW_PIN,
    }


def test_a_study_that_is_not_frozen_has_nothing_to_amend(folder: Path) -> None:
    with pytest.raises(StudyError, match="not frozen; freeze it first: agent-trials freeze valid"):
        amend(manifest.load(folder))


@pytest.mark.parametrize("reason", ["", " \n ", "\x00", "\udc80"])
def test_an_amendment_says_why(study: Study, reason: str) -> None:
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    before = files(study)

    with pytest.raises(StudyError, match="no reason is given"):
        amend(study, reason)
    assert files(study) == before


def test_a_reason_cannot_write_headings_into_the_protocol(study: Study) -> None:
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study, "one\n## Amendments\n\n### A7 · never")

    assert b"\none ## Amendments ### A7 \xc2\xb7 never\n" in (study.folder / PROTOCOL).read_bytes()
    assert freeze.state(study).changed == ()


def test_nothing_changed_is_nothing_to_amend(study: Study) -> None:
    before = files(study)

    with pytest.raises(StudyError, match="nothing changed since the last entry of the lock"):
        amend(study)
    assert files(study) == before


def test_text_of_ones_own_below_the_heading_becomes_part_of_the_amendment(study: Study) -> None:
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    with (study.folder / PROTOCOL).open("a") as file:
        file.write("\n## Amendments\n\nThe child commit changes one line.\n")
    amend(study)
    text = (study.folder / PROTOCOL).read_text("utf-8")

    assert text.index("The child commit") < text.index("### A1 ")
    assert freeze.state(study).changed == ()


def test_text_of_ones_own_alone_is_an_amendment(study: Study) -> None:
    """A deviation that changed no file is still one to write down."""
    with (study.folder / PROTOCOL).open("a") as file:
        file.write("\n## Amendments\n\nThe runs were made on a slower machine.\n")
    amended = amend(study, "a deviation")

    assert (amended.number, amended.changed) == (1, ())
    assert freeze.state(study).changed == ()


def test_a_removed_file_and_field_stay_removed(study: Study) -> None:
    edit(study, "study.toml", 'secondary = ["wall_time_ms"]\n', "")
    (study.folder / "test_valid_study.py").unlink()
    amended = amend(study, "not needed")
    text = (study.folder / PROTOCOL).read_text("utf-8")

    assert "- test_valid_study.py (removed)\n" in text
    assert '- study.toml: endpoints.secondary: ["wall_time_ms"] is now nothing\n' in text
    assert amended.frozen.changed == freeze.state(study).changed == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("does not build", "does build"),
        ("### A1", "### A9"),
        ("Attempts so far: 0.", "Attempts so far: 0.5"),
        ("## Amendments", "## Notes"),
    ],
)
def test_an_altered_amendment_is_found_and_cannot_be_amended_away(
    study: Study, old: str, new: str
) -> None:
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    edit(study, PROTOCOL, old, new)

    assert any("PROTOCOL.md" in each for each in freeze.state(study).changed)
    with pytest.raises(StudyError, match="under Amendments was altered; restore that text"):
        amend(study)


@pytest.mark.parametrize("more", [", as agreed\n", "5\n", "\nand by all\n"])
def test_going_on_in_an_amendments_own_paragraph_is_altering_it(study: Study, more: str) -> None:
    """A digit put after the last digest, or a clause after the last one, reads as part of it."""
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    path = study.folder / PROTOCOL
    path.write_bytes(path.read_bytes().rstrip() + more.encode())

    with pytest.raises(StudyError, match="under Amendments was altered"):
        amend(study)


def test_what_a_crash_between_protocol_and_lock_left_is_replaced(study: Study) -> None:
    """The lock is written second; until then the amendment does not hold."""
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    lock = (study.folder / LOCK).read_bytes()
    amend(study, "first try")
    (study.folder / LOCK).write_bytes(lock)
    crashed = freeze.state(study)
    amend(study, "second try")
    text = (study.folder / PROTOCOL).read_text("utf-8")

    assert "PROTOCOL.md: text added under Amendments" in crashed.changed
    assert text.count("### A1 ") == 1
    assert "first try" not in text
    assert freeze.state(study).changed == ()


def test_a_scored_attempt_and_a_new_question_make_a_new_series(
    study: Study, snapshot: SnapshotAssertion
) -> None:
    """Results of two questions must never be counted together."""
    run(study, "r1", scored=True, attempts=12)
    old = freeze.state(study).series_id
    edit(study, "study.toml", "Which command installs", "How does one install")
    amended = amend(study, "the question was ambiguous")
    entries = json.loads((study.folder / LOCK).read_text())["entries"]

    assert amended.supersedes == old
    assert amended.frozen.series_id == amended.frozen.folder_digest != old
    assert amended.frozen.amendment == 0
    assert [(each["entry"], each["number"]) for each in entries] == [("freeze", 0), ("freeze", 0)]
    assert (entries[1]["supersedes"], entries[1]["attempts"]) == (old, 12)
    assert freeze.open_ledgers(study) == ()
    assert (study.folder / PROTOCOL).read_text("utf-8") == snapshot


@pytest.mark.parametrize(
    ("name", "old", "new", "word"),
    [
        ("study.toml", "Where do the settings", "Where the settings", "question"),
        ("study.toml", 'instructions = "', 'instructions = "Please. ', "question"),
        ("key.toml", "quoted = true", "quoted = false", "key"),
        ("study.toml", OLD_PIN, NEW_PIN, "pin"),
        ("study.toml", '"docs.search", "docs.get"', '"docs.search"', "arm"),
        ("study.toml", "claude-haiku-5-5", "claude-opus-5-5", "model"),
        ("study.toml", 'cache_read = "0.01"', 'cache_read = "0.02"', "price"),
        ("study.toml", 'version = "2.1.296"', 'version = "2.1.332"', "tool"),
    ],
    ids=["question", "instructions", "key", "pin", "arm", "model", "price", "tool"],
)
def test_everything_that_a_series_is_bound_to_begins_a_new_one(
    study: Study, name: str, old: str, new: str, word: str
) -> None:
    run(study, "r1", scored=True, attempts=1)
    edit(study, name, old, new)
    amended = amend(study)

    assert amended.touches == (word,)
    assert amended.supersedes is not None


@pytest.mark.parametrize(
    ("scored", "attempts"),
    [(False, 2), (False, None), (True, 0)],
    ids=["a pilot", "an open pilot", "a scored run that began nothing"],
)
def test_without_a_scored_attempt_the_series_goes_on(
    study: Study,
    scored: bool,  # noqa: FBT001 - a row of the table
    attempts: int | None,
) -> None:
    run(study, "r1", scored=scored, attempts=attempts)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)

    assert amend(study).supersedes is None


def test_an_open_scored_run_counts_as_one_with_attempts(study: Study) -> None:
    run(study, "r1", scored=True, attempts=None)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)

    assert amend(study).supersedes is not None


def test_a_free_change_never_begins_a_new_series(study: Study) -> None:
    run(study, "r1", scored=True, attempts=9)
    edit(study, "study.toml", 'title = "', 'title = "New: ')
    edit(study, "study.toml", 'category = "discovery"', 'category = "reading"')
    (study.folder / "verdict.py").write_text("")
    amended = amend(study)

    assert (amended.number, amended.touches, amended.supersedes) == (1, (), None)
    assert [each.run_id for each in freeze.open_ledgers(study)] == ["r1"]


def test_scored_attempts_of_an_older_series_do_not_bind_the_new_one(study: Study) -> None:
    run(study, "r1", scored=True, attempts=9)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    edit(study, "study.toml", 'model = "claude-haiku-5-5"', 'model = "claude-opus-5-5"')
    second = amend(study)

    assert (second.number, second.touches, second.supersedes) == (1, ("model",), None)


def test_a_series_does_not_return(study: Study) -> None:
    """A study changed back after its results would be pooled with what it was changed from."""
    run(study, "r1", scored=True, attempts=9)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    run(study, "r2", scored=True, attempts=9)
    edit(study, "study.toml", NEW_PIN, OLD_PIN)
    before = files(study)

    with pytest.raises(StudyError, match="again what an earlier series froze"):
        amend(study)
    assert files(study) == before


def test_a_lost_ledger_counts_its_whole_cap_and_is_no_longer_asked_for(study: Study) -> None:
    run(study, "r1", scored=False, attempts=2)
    run(study, "r2", scored=False, attempts=None)
    freeze.amend(study, reason="the disk failed", now=NOW, lost_ledgers=["r1"])

    assert [each.run_id for each in freeze.open_ledgers(study)] == ["r2"]
    assert freeze.lost_usd(study) == Decimal(2)
    assert "The ledger of the paid run r1 is lost." in (study.folder / PROTOCOL).read_text("utf-8")


@pytest.mark.parametrize("run_id", ["r9", "r1"], ids=["unknown", "lost already"])
def test_only_a_ledger_that_is_asked_for_can_be_lost(study: Study, run_id: str) -> None:
    run(study, "r1", scored=False, attempts=2)
    run(study, "r2", scored=False, attempts=2)
    freeze.amend(study, reason="the disk failed", now=NOW, lost_ledgers=["r1"])
    before = files(study)

    with pytest.raises(StudyError, match=f"--lost-ledger {run_id}: no paid run .* name one of r2"):
        freeze.amend(study, reason="again", now=NOW, lost_ledgers=[run_id])
    assert files(study) == before


def test_without_a_paid_run_no_ledger_can_be_lost(study: Study) -> None:
    with pytest.raises(StudyError, match="still asked for; there is none to name"):
        freeze.amend(study, reason="lost", now=NOW, lost_ledgers=["r1"])


def test_runners_count_together_only_when_an_amendment_says_so(study: Study) -> None:
    one, two = RUNNERS
    before = freeze.state(study)
    freeze.amend(study, reason="a fix in the report only", now=NOW, runners=RUNNERS)
    after = freeze.state(study)

    assert f"- Counted together: the runners {one}, {two}.\n" in (
        study.folder / PROTOCOL
    ).read_text("utf-8")
    assert before.pooled(one, one)
    assert not before.pooled(one, two)
    assert after.pooled(two, one)
    assert not after.pooled(one, "sha256:" + "c" * 64)


@pytest.mark.parametrize(
    ("runners", "sentence"),
    [
        (RUNNERS[:1], "one runner alone is not pooled; name two or more"),
        (RUNNERS[:1] * 2, "one runner alone is not pooled; name two or more"),
        ((RUNNERS[0], "abc"), "--runner abc: no digest; write sha256: and 64 hex digits"),
    ],
    ids=["one", "the same twice", "no digest"],
)
def test_refuses_runners_that_cannot_be_pooled(
    study: Study, runners: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(StudyError, match=sentence):
        freeze.amend(study, reason="why not", now=NOW, runners=runners)


def test_attempts_so_far_are_counted_and_open_runs_named(study: Study) -> None:
    run(study, "r1", scored=False, attempts=2)
    run(study, "r2", scored=False, attempts=4)
    run(study, "r3", scored=False, attempts=None)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)

    assert "- Attempts so far: 6, and those of 1 open runs." in (study.folder / PROTOCOL).read_text(
        "utf-8"
    )


def test_a_broken_lock_is_not_amended(study: Study) -> None:
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    edit(study, LOCK, '"number": 0', '"number": 3')

    with pytest.raises(StudyError, match=r"study\.lock\.json: entry 1 does not follow"):
        amend(study)


@pytest.fixture
def chain(study: Study) -> Study:
    """Return a study with a freeze and two amendments."""
    for title in ("One", "Two"):
        edit(study, "study.toml", 'title = "', f'title = "{title}: ')
        amend(study, title)
    return study


def test_every_entry_follows_from_the_one_before(chain: Study) -> None:
    """Reasons, dates and counts of an amendment cannot be altered once there is a later one."""
    lock = json.loads((chain.folder / LOCK).read_text())
    for position, name in itertools.product((0, 1), ("at", "reason", "attempts", "changes")):
        altered = json.loads(json.dumps(lock))
        altered["entries"][position][name] = [] if name == "changes" else 7
        if altered == lock:
            continue
        (chain.folder / LOCK).write_text(json.dumps(altered))

        assert "does not" in freeze.state(chain).changed[0]


@pytest.mark.parametrize("kept", [(0, 2), (1, 2), (2,), (0, 2, 1), (0, 1, 1, 2)], ids=str)
def test_an_entry_that_is_dropped_moved_or_doubled_breaks_the_chain(
    chain: Study, kept: tuple[int, ...]
) -> None:
    lock = json.loads((chain.folder / LOCK).read_text())
    lock["entries"] = [lock["entries"][position] for position in kept]
    (chain.folder / LOCK).write_text(json.dumps(lock))

    assert "does not follow from the entry before it" in freeze.state(chain).changed[0]


@pytest.mark.parametrize("name", ["reason", "supersedes", "previous"])
def test_a_new_series_follows_from_the_one_that_it_supersedes(study: Study, name: str) -> None:
    """Otherwise a series with unwelcome results could be cut off and left out of sight."""
    run(study, "r1", scored=True, attempts=9)
    edit(study, "study.toml", OLD_PIN, NEW_PIN)
    amend(study)
    lock = json.loads((study.folder / LOCK).read_text())
    lock["entries"][0 if name == "reason" else 1][name] = "sha256:0"
    (study.folder / LOCK).write_text(json.dumps(lock))

    assert freeze.state(study).changed == (
        "study.lock.json: entry 2 does not follow from the entry before it",
    )


def test_an_amendment_dropped_from_the_end_is_found_by_the_folder(chain: Study) -> None:
    lock = json.loads((chain.folder / LOCK).read_text())
    del lock["entries"][-1]
    (chain.folder / LOCK).write_text(json.dumps(lock))

    assert freeze.state(chain).changed != ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_no_byte_that_counts_changes_unseen(chain: Study, data: st.DataObject) -> None:
    """Whatever is put in place of any byte of any file, a paid run hears of it."""
    name = data.draw(st.sampled_from(["study.toml", "key.toml", PROTOCOL, "test_valid_study.py"]))
    content = (chain.folder / name).read_bytes()
    length = len(content.rstrip())
    position = data.draw(st.integers(0, length - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != content[position]))
    try:
        (chain.folder / name).write_bytes(
            content[:position] + bytes([byte]) + content[position + 1 :]
        )
        seen = freeze.state(chain).changed
    finally:
        (chain.folder / name).write_bytes(content)

    around = content[max(0, position - 1) : position + 2]
    assert seen or (name == PROTOCOL and byte in b" \t\r\n" and b"\n" in around)
    assert freeze.state(chain).changed == ()
