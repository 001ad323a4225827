"""What a line commits to can be opened later, field by field, and by nothing else."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
from agent_trials import canonical
from agent_trials.errors import LedgerBrokenError, LedgerError
from agent_trials.ledger.chain import Line, read
from agent_trials.ledger.disk import Disk
from agent_trials.ledger.openings import Openings
from agent_trials.ledger.private import INLINE_BYTES, Vault, commitment, private_folder, seal
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a finished ledger with openings."""
    path = tmp_path / "ledger.jsonl"
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts)
    journal.close()
    return path


def openings_file(path: Path) -> Path:
    return private_folder(path) / "openings.jsonl"


def change(path: Path, edit: Callable[[dict[str, Any]], None], field: str = "answer") -> None:
    """Change the openings of a field."""
    file = openings_file(path)
    lines = [json.loads(raw) for raw in file.read_bytes().splitlines()]
    for fields in lines:
        if fields["field"] == field:
            edit(fields)
    file.write_bytes(b"".join(canonical.dumps(fields) + b"\n" for fields in lines))


def settled(path: Path) -> Line:
    """Return the first settlement."""
    return next(line for line in read(path) if line.event == "attempt-settled")


def test_a_commitment_is_the_digest_of_salt_name_zero_and_bytes() -> None:
    """The zero byte ends the name, so that no other name and value make the same bytes."""
    salt, data = bytes(range(32)), b'"yes"'
    expected = hashlib.sha256(salt + b"answer" + b"\x00" + data).hexdigest()

    assert commitment(salt, "answer", data) == f"sha256:{expected}"


def test_every_field_has_a_salt_of_its_own() -> None:
    """Equal answers must not be seen to be equal, nor short ones be guessed."""
    one, other = seal({"answer": "yes"})[0], seal({"answer": "yes"})[0]

    assert len(one.salt) == 32
    assert one.commitment != other.commitment


def test_a_float_is_refused_before_anything_is_written() -> None:
    """Its text would differ from program to program, and so would the commitment."""
    with pytest.raises(TypeError, match="float"):
        seal({"answer": {"score": 0.5}})


@pytest.mark.parametrize("name", ["", "1st", "an answer", "a/b", "x" * 129])
def test_a_field_has_a_plain_name(name: str) -> None:
    """It stands in public."""
    with pytest.raises(RuntimeError, match="is no name"):
        seal({name: "yes"})


def test_what_was_put_in_is_what_comes_out(path: Path) -> None:
    """Values as JSON, artifacts as bytes."""
    openings, line, first = Openings(path), settled(path), next(read(path))
    transcript = openings.find(line, "transcript")
    study = openings.value(first, "study")

    assert openings.value(line, "answer") == "It is in README.md:3."
    assert transcript is not None
    assert transcript.data == b"{}\n"
    assert study["cells"] == [each.cell.to_json() for each in ledgers.plan(tasks=1)]
    assert openings.find(line, "no-such-field") is None


@pytest.mark.parametrize("size", [10, INLINE_BYTES + 1], ids=["in-the-opening", "as-an-artifact"])
def test_a_large_value_is_kept_as_an_artifact_and_committed_to_all_the_same(
    tmp_path: Path, size: int
) -> None:
    """Where it is kept is nobody's business but the reader's."""
    path = tmp_path / "ledger.jsonl"
    vault = Vault(path, Disk())
    vault.create()
    value = {"text": "x" * size}
    [sealed] = seal({"prompt": value})
    vault.put([(1, sealed)])
    line = Line(1, 1, "", "noted", {"private": {"prompt": sealed.commitment}}, "")

    assert sealed.commitment == commitment(sealed.salt, "prompt", canonical.dumps(value))
    assert Openings(path).value(line, "prompt") == value
    assert len(list((private_folder(path) / "artifacts").iterdir())) == (size > 10)


def test_artifacts_are_compressed_without_a_date(path: Path) -> None:
    """The same transcript gives the same file whenever it is written."""
    artifacts = list((private_folder(path) / "artifacts").iterdir())

    assert len(artifacts) == 4
    for artifact in artifacts:
        packed = artifact.read_bytes()
        assert packed[4:8] == bytes(4)
        assert packed == gzip.compress(gzip.decompress(packed), mtime=0)


def test_an_opening_that_no_line_matches_is_passed_over(path: Path) -> None:
    """A crash left it; the next line took the same number and the same field."""
    file = openings_file(path)
    remains = {"field": "answer", "salt": "00" * 32, "seq": settled(path).seq, "value": "remains"}
    file.write_bytes(canonical.dumps(remains) + b"\n" + file.read_bytes())

    assert Openings(path).value(settled(path), "answer") == "It is in README.md:3."
    assert verify(path).opened == verify(path).committed


def test_a_torn_opening_is_cut_off_by_the_next(tmp_path: Path) -> None:
    """Else two openings would share a line, and the second one could not be read."""
    path = tmp_path / "ledger.jsonl"
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts)
    journal.admit_and_reserve(attempts[0], attempts, ledgers.AMOUNT)
    with openings_file(path).open("ab") as stream:
        stream.write(b'{"field":"answer","salt":"' + b"0" * 100_000)
    journal.settle(attempts[0], ledgers.result())

    assert verify(path).opened == verify(path).committed
    assert b"0" * 65 not in openings_file(path).read_bytes()


def test_an_opening_may_be_withheld(path: Path) -> None:
    """Whoever publishes chooses which fields to open."""
    lines = openings_file(path).read_bytes().splitlines(keepends=True)
    openings_file(path).write_bytes(b"".join(line for line in lines if b'"answer"' not in line))
    for artifact in (private_folder(path) / "artifacts").iterdir():
        artifact.unlink()
    verification = verify(path)

    assert Openings(path).value(settled(path), "answer") is None
    assert Openings(path).find(settled(path), "transcript") is None
    assert (verification.committed, verification.opened) == (7, 1)


@pytest.mark.parametrize(
    "edit",
    [
        lambda fields: fields.update(value="It is in README.md:4."),
        lambda fields: fields.update(salt="11" * 32),
    ],
    ids=["value", "salt"],
)
def test_a_false_opening_is_betrayed(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Nobody can say afterwards that another answer was given."""
    change(path, edit)

    with pytest.raises(LedgerError, match="is not what it commits to"):
        Openings(path).value(settled(path), "answer")
    with pytest.raises(LedgerBrokenError) as caught:
        verify(path)
    assert caught.value.seq == settled(path).seq


def test_an_opening_of_another_field_is_betrayed(path: Path) -> None:
    """The field's name is under the commitment too."""
    line = settled(path)
    change(path, lambda fields: fields.update(field="question"))
    moved = dict(line.fields) | {"private": {"question": line.fields["private"]["answer"]}}
    forged = Line(line.seq, line.run, line.at, line.event, moved, line.digest)

    with pytest.raises(LedgerError, match="opening of question"):
        Openings(path).find(forged, "question")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-9],
        lambda data: b"no gzip" + data,
        gzip.compress,
    ],
    ids=["short", "other-format", "other-bytes"],
)
def test_a_changed_artifact_is_betrayed(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Whatever became of the file."""
    for artifact in (private_folder(path) / "artifacts").iterdir():
        artifact.write_bytes(spoil(artifact.read_bytes()))

    with pytest.raises(LedgerError, match="opening of transcript"):
        Openings(path).find(settled(path), "transcript")


@pytest.mark.parametrize(
    "edit",
    [
        lambda fields: fields.update(artifact="../../ledger.jsonl"),
        lambda fields: fields.update(artifact="/etc/passwd"),
        lambda fields: fields.update(artifact=3),
        lambda fields: (fields.pop("value"), fields.update(artifact=None)),
        lambda fields: fields.update(salt="xyz"),
        lambda fields: fields.pop("value"),
        lambda fields: fields.update(seq="4"),
    ],
    ids=["above", "absolute", "number", "null", "salt", "nothing", "seq"],
)
def test_a_line_that_is_no_opening_opens_nothing(
    path: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    """A bundle is read by strangers: no name in it leads out of its folder."""
    change(path, edit)

    assert Openings(path).value(settled(path), "answer") is None


def test_an_artifact_of_null_is_none(path: Path) -> None:
    """The value beside it counts."""
    change(path, lambda fields: fields.update(artifact=None))

    assert Openings(path).value(settled(path), "answer")


def test_values_are_read_one_by_one(path: Path) -> None:
    """Only their places are kept, so that 10,000 attempts fit in memory."""
    openings = Openings(path)
    assert openings.value(settled(path), "answer")
    size = openings_file(path).stat().st_size
    openings_file(path).write_bytes(b"\n" * size)

    assert openings.value(settled(path), "answer") is None


def test_an_opening_lasts_before_its_line_is_written(tmp_path: Path) -> None:
    """A line whose answer is lost could never be opened."""

    class NotingDisk(Disk):
        def __init__(self) -> None:
            self.calls: list[str] = []

        def write(self, descriptor: int, data: bytes, offset: int) -> int:
            kind = "artifact" if data[:2] == b"\x1f\x8b" else "opening"
            self.calls.append("line" if b'"prev":' in data else kind)
            return super().write(descriptor, data, offset)

        def sync(self, descriptor: int) -> None:
            self.calls.append("sync")
            super().sync(descriptor)

    disk = NotingDisk()
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(tmp_path / "ledger.jsonl", attempts, disk=disk)
    journal.admit_and_reserve(attempts[0], attempts, ledgers.AMOUNT)
    disk.calls.clear()
    journal.settle(attempts[0], ledgers.result())

    # The third sync is the artifacts' folder: their names must last as well.
    assert disk.calls == ["artifact", "sync", "sync", "opening", "sync", "line", "sync"]
