"""A freeze binds every byte that counts, and a paid run learns what is not as it was."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials import canonical
from agent_trials.errors import StudyError
from agent_trials.study import freeze, ledgers, manifest
from agent_trials.study.folder import LOCK, PROTOCOL, digest_of_files
from agent_trials.study.ledgers import LedgerRecord

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.study.manifest import Study

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def study(folder: Path) -> Study:
    """Return the valid example, not frozen."""
    return manifest.load(folder)


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """Change one thing in a file."""
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), "utf-8")


def test_a_study_without_a_lock_takes_the_digest_that_a_freeze_would_record(study: Study) -> None:
    """A rehearsal and the paid run after it then name the same series."""
    before = freeze.state(study)
    after = freeze.freeze(study, now=NOW)

    assert not before.frozen
    assert before.amendment is None
    assert before.series_id == before.folder_digest == freeze.folder_digest(study.folder)
    assert after.series_id == before.series_id
    assert after.frozen
    assert (after.amendment, after.changed, after.problems()) == (0, (), [])


def test_a_paid_run_refuses_a_study_that_is_not_frozen(study: Study) -> None:
    assert [str(each) for each in freeze.state(study).problems()] == [
        "valid_study: the study is not frozen; freeze it first: agent-trials freeze valid_study"
    ]


def test_a_paid_run_refuses_a_changed_study_naming_files_and_fields(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    edit(study.folder, "study.toml", "Which command installs", "How does one install")
    edit(study.folder, "study.toml", 'title = "', 'title = "New: ')
    edit(study.folder, "key.toml", "quoted = true", "quoted = false")
    edit(study.folder, "test_valid_study.py", "own checks", "checks")
    (study.folder / "verdict.py").write_text("")
    frozen = freeze.state(study)

    assert frozen.changed == (
        "study.toml: tasks.install-command.question",
        "study.toml: title",
        "key.toml: tasks.install-command",
        "test_valid_study.py",
        "verdict.py (new)",
    )
    assert str(frozen.problems()[0]) == (
        "valid_study/study.toml: tasks.install-command.question: it changed since the freeze;"
        " take that back, or agent-trials amend valid_study --reason TEXT"
    )


def test_a_comment_is_a_change_of_the_file_without_a_field(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    edit(study.folder, "study.toml", "schema = 1", "schema = 1  # really")

    assert freeze.state(study).changed == ("study.toml",)


def test_a_removed_file_is_named(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    (study.folder / "test_valid_study.py").unlink()

    assert freeze.state(study).changed == ("test_valid_study.py (removed)",)


def test_a_link_put_into_a_frozen_study_is_a_change(study: Study) -> None:
    """Study code could read through it what no digest holds."""
    freeze.freeze(study, now=NOW)
    (study.folder / "data.md").symlink_to("/etc/hosts")

    assert freeze.state(study).changed == ("data.md (no regular file)",)


def test_text_under_amendments_that_no_amendment_recorded_is_a_change(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    with (study.folder / PROTOCOL).open("a") as file:
        file.write("\n## Amendments\n\nOnly a word.\n")

    assert freeze.state(study).changed == ("PROTOCOL.md: text added under Amendments",)


def test_what_is_taken_back_is_no_change(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    edit(study.folder, "study.toml", "schema = 1", "schema = 1 ")
    edit(study.folder, "study.toml", "schema = 1 ", "schema = 1")

    assert freeze.state(study).changed == ()


def test_a_study_is_frozen_once(study: Study) -> None:
    """A second freeze would be an amendment that nobody wrote down."""
    freeze.freeze(study, now=NOW)
    lock = (study.folder / LOCK).read_bytes()
    edit(study.folder, "study.toml", 'title = "', 'title = "New: ')

    with pytest.raises(StudyError, match="the study is frozen already; record a change with"):
        freeze.freeze(study, now=NOW)
    assert (study.folder / LOCK).read_bytes() == lock


def test_a_study_that_has_had_paid_runs_does_not_begin_anew(study: Study) -> None:
    """Deleting the lock must not make an old run's questions new ones."""
    frozen = freeze.freeze(study, now=NOW)
    ledgers.opened(study.folder, _record("r1", frozen.series_id))
    (study.folder / LOCK).unlink()

    with pytest.raises(StudyError, match="the lock that they ran under is gone; restore it"):
        freeze.freeze(study, now=NOW)
    assert not (study.folder / LOCK).exists()


@pytest.mark.parametrize("text", [None, "", " \n", "## Amendments\n\nall of it"])
def test_a_study_is_not_frozen_without_a_protocol(study: Study, text: str | None) -> None:
    (study.folder / PROTOCOL).unlink()
    if text is not None:
        (study.folder / PROTOCOL).write_text(text)

    with pytest.raises(StudyError, match="the study has no protocol, or an empty one"):
        freeze.freeze(study, now=NOW)
    assert not (study.folder / LOCK).exists()


def test_a_study_with_a_link_is_not_frozen(study: Study) -> None:
    (study.folder / "data.md").symlink_to("/etc/hosts")

    with pytest.raises(StudyError, match=r"data\.md: no regular file, so it cannot count"):
        freeze.freeze(study, now=NOW)


def test_the_lock_says_when_and_names_every_file_with_its_digest(study: Study) -> None:
    frozen = freeze.freeze(study, now=NOW)
    (entry,) = json.loads((study.folder / LOCK).read_text("ascii"))["entries"]

    assert entry["at"] == "2026-11-30T12:00:00.123Z"
    assert entry["folderDigest"] == frozen.series_id == digest_of_files(entry["files"])
    assert set(entry["files"]) == {"study.toml", "key.toml", PROTOCOL, "test_valid_study.py"}
    assert all(each.startswith("sha256:") for each in entry["files"].values())
    assert entry["fields"]["manifest"]["repositories.handbook.pin"].startswith("0123")
    assert frozen.lock_digest == canonical.digest_of(entry)


def test_the_lock_does_not_tell_the_answers(study: Study) -> None:
    freeze.freeze(study, now=NOW)

    assert "pip install handbook" not in (study.folder / LOCK).read_text("ascii")


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"schema": 1, "entries": []}', '{"schema": 1, "entries": [{}]}']
)
def test_a_lock_that_is_none_is_a_change_and_no_missing_freeze(study: Study, content: str) -> None:
    """An emptied lock must not read as a study that may be frozen anew."""
    freeze.freeze(study, now=NOW)
    (study.folder / LOCK).write_text(content)
    frozen = freeze.state(study)

    assert frozen.frozen
    assert frozen.changed[0].startswith("study.lock.json: it is no lock")
    with pytest.raises(StudyError, match="frozen already"):
        freeze.freeze(study, now=NOW)


def test_a_lock_of_a_later_schema_is_not_read_as_this_one(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    edit(study.folder, LOCK, '],\n  "schema": 1', '],\n  "schema": 2')

    assert "its schema is not 1" in freeze.state(study).changed[0]


def test_a_lock_whose_files_were_altered_is_broken(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    lock = json.loads((study.folder / LOCK).read_text())
    lock["entries"][0]["files"]["study.toml"] = canonical.digest(b"other")
    (study.folder / LOCK).write_text(json.dumps(lock))

    assert freeze.state(study).changed == (
        "study.lock.json: entry 1 does not have the digest of its files",
    )


def test_a_lock_whose_fields_were_altered_no_longer_fits(study: Study) -> None:
    freeze.freeze(study, now=NOW)
    lock = json.loads((study.folder / LOCK).read_text())
    lock["entries"][0]["fields"]["manifest"]["agent.model"] = "another"
    (study.folder / LOCK).write_text(json.dumps(lock))

    assert freeze.state(study).changed == ("study.toml: agent.model",)


def test_a_run_must_be_given_every_ledger_of_its_series(study: Study) -> None:
    frozen = freeze.freeze(study, now=NOW)
    for run_id, series_id in (("r1", frozen.series_id), ("r2", "sha256:old")):
        ledgers.opened(study.folder, _record(run_id, series_id))

    assert [each.run_id for each in freeze.open_ledgers(study)] == ["r1"]
    assert freeze.lost_usd(study) == 0


def test_a_changed_study_keeps_its_series_and_its_ledgers(study: Study) -> None:
    """Else an edit would make the ledgers of the runs before it disappear from the count."""
    frozen = freeze.freeze(study, now=NOW)
    ledgers.opened(study.folder, _record("r1", frozen.series_id))
    edit(study.folder, "study.toml", 'title = "', 'title = "New: ')

    assert freeze.state(study).series_id == frozen.series_id
    assert [each.run_id for each in freeze.open_ledgers(study)] == ["r1"]


def test_the_archive_holds_the_study_without_its_key_and_proves_its_digest(study: Study) -> None:
    """A stranger who is given only the archive can compute the series id from it."""
    (study.folder / "blob.bin").write_bytes(b"\xff\x00")
    freeze.freeze(study, now=NOW)
    archived = freeze.archive(study.folder)

    assert set(archived["files"]) == {"study.toml", PROTOCOL, "test_valid_study.py", "blob.bin"}
    assert base64.b64decode(archived["files"]["blob.bin"]["base64"]) == b"\xff\x00"
    assert digest_of_files(archived["digests"]) == freeze.state(study).series_id
    assert archived["lock"] == (study.folder / LOCK).read_text()
    assert "pip install handbook" not in canonical.dumps(archived).decode()


def test_the_key_is_an_archive_of_its_own(study: Study) -> None:
    assert freeze.key_archive(study.folder) == {
        "files": {"key.toml": {"text": (study.folder / "key.toml").read_text("utf-8")}}
    }


def _record(run_id: str, series_id: str) -> LedgerRecord:
    return LedgerRecord(
        run_id=run_id,
        series_id=series_id,
        phase="full",
        scored=True,
        cap_usd=Decimal(2),
        opened_at="t",
    )
