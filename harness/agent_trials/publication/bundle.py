"""Makes a bundle: what of a finished ledger may be published, whole or not at all.

The rules:
    the ledger verifies, and no run is open on it, from the beginning to the end
    of its openings only ``study`` and what the operator chose go in, each as it was committed to
    a report that goes in is one of this ledger as it stands, and holds no private page
    the second verifier (``verify.py``, of which the bundle holds a copy) agrees with every figure
    nothing in it looks like a secret
    the folder appears when all of this holds; before that, and after a failure, there is none
"""

from __future__ import annotations

import difflib
import gzip
import json
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import BundleError, SecretFoundError
from agent_trials.ledger.chain import read as read_lines
from agent_trials.ledger.locks import RunLock
from agent_trials.ledger.openings import Openings
from agent_trials.ledger.private import INLINE_BYTES, private_folder
from agent_trials.publication import heads, secrets_scan, verify_bundle
from agent_trials.publication.figures import figures
from agent_trials.results import record
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_trials.ledger.openings import Opening
    from agent_trials.publication.secret_shapes import Known
    from agent_trials.publication.secrets_scan import Hit

LEDGER, SUMMARY, HEAD, VERIFIER = "ledger.jsonl", "summary.json", "HEAD", "verify.py"
REPORT, HEADS = "report", "heads"
REPORT_FILES = ("report.md", "summary.json", "report.html")
RESULT = "result-v1.json"
"""What a report of evaluated patches holds as well."""
STUDY = "study"


@dataclass
class Bundle:
    """What went into a bundle; ``opened`` and ``committed`` count private fields by name."""

    head: str = ""
    opened: Counter[str] = field(default_factory=Counter)
    committed: Counter[str] = field(default_factory=Counter)
    files: int = 0
    approved: bool = False


def write(
    ledger: Path,
    into: Path,
    *,
    known: Known,
    opened: Collection[str] = (),
    report: Path | None = None,
    waived: Collection[str] = (),
) -> Bundle:
    """Write a bundle of a finished ledger into a folder that does not exist.

    Args:
        ledger: its file.
        into: the folder; the one that it is to stand in exists.
        known: the secrets to look for.
        opened: private fields whose openings go in besides that of the study.
        report: the folder of a report of this ledger.
        waived: places (as a ``SecretFoundError`` names them) that somebody has looked at and that
            hold no secret; the value of a known secret stops the bundle all the same.

    Raises:
        BundleError: it cannot be made; says why.
        SecretFoundError: something in it looks like a secret.
        LedgerBrokenError: the ledger does not verify.
        LedgerInUseError: a run is open on it.
    """
    target = into.parent.resolve() / into.name
    if os.path.lexists(target):
        raise BundleError(f"{into} exists; give a folder that does not: a bundle replaces nothing")
    if not target.parent.is_dir():
        raise BundleError(f"the folder {target.parent} does not exist; make it first")
    verify(ledger)
    lock = RunLock.share(ledger.resolve())
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        made = _fill(scratch, ledger, [STUDY, *opened], report)
        _stop_at_secrets(scratch, known, waived)
        scratch.chmod(0o755)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if lock is not None:
            lock.release()
    return made


def _fill(folder: Path, ledger: Path, chosen: Sequence[str], report: Path | None) -> Bundle:
    """Write everything but what the scan says into an empty folder."""
    bundle = Bundle()
    shutil.copyfile(ledger, folder / LEDGER)
    _copy_openings(ledger, folder / LEDGER, chosen, bundle)
    found = record.read(folder / LEDGER)
    bundle.head, bundle.approved = found.summary.head, found.approved is not None
    (folder / SUMMARY).write_text(json.dumps(figures(found), indent=1) + "\n", encoding="ascii")
    (folder / HEAD).write_text(bundle.head + "\n", encoding="ascii")
    shutil.copyfile(verify_bundle.__file__, folder / VERIFIER)
    heads.copy(ledger, folder / HEADS)
    if report is not None:
        _copy_report(report, folder / REPORT, bundle.head)
    try:
        verify_bundle.run(folder / LEDGER, folder, [])
    except (verify_bundle.BrokenError, verify_bundle.DiffersError) as error:
        raise BundleError(f"no bundle was made: its own {VERIFIER} refuses it: {error}") from error
    bundle.files = sum(1 for _ in _files(folder))
    return bundle


def _copy_openings(ledger: Path, copy: Path, chosen: Sequence[str], bundle: Bundle) -> None:
    """Write the chosen openings beside the copy, each with the bytes that it commits to."""
    openings, folder = Openings(ledger), private_folder(copy)
    (folder / "artifacts").mkdir(parents=True)
    with (folder / "openings.jsonl").open("wb") as stream:
        for line in read_lines(ledger):
            for name, committed in sorted(line.fields.get("private", {}).items()):
                bundle.committed[name] += 1
                opening = openings.find(line, name) if name in chosen else None
                if opening is not None:
                    bundle.opened[name] += 1
                    stream.write(_opening_line(opening, committed, folder / "artifacts"))
    _must_be_known(chosen, bundle)


def _opening_line(opening: Opening, committed: str, artifacts: Path) -> bytes:
    fields = {"field": opening.field, "salt": opening.salt.hex(), "seq": opening.seq}
    value = _inline(opening.data)
    if value:
        return canonical.dumps(fields | value) + b"\n"
    name = f"{committed.removeprefix('sha256:')[:32]}.gz"
    (artifacts / name).write_bytes(gzip.compress(opening.data, mtime=0))
    return canonical.dumps({**fields, "artifact": name}) + b"\n"


def _inline(data: bytes) -> dict[str, object]:
    """Return the value of an opening that is small and canonical JSON; nothing of another one."""
    if len(data) > INLINE_BYTES:
        return {}
    try:
        value = json.loads(data)
        return {"value": value} if canonical.dumps(value) == data else {}
    except (ValueError, TypeError, RecursionError):
        return {}


def _must_be_known(chosen: Sequence[str], bundle: Bundle) -> None:
    for name in chosen:
        if name not in bundle.committed:
            near = difflib.get_close_matches(name, bundle.committed, n=1)
            words = f"did you mean {near[0]!r}?" if near else "it has none of that name"
            every = ", ".join(sorted(bundle.committed))
            raise BundleError(f"--open {name}: {words} The ledger commits to {every}")
    if not bundle.opened[STUDY]:
        raise BundleError(
            "the opening of the study is not beside the ledger, and without it nobody can tell what"
            " was planned; bring back the ledger's .private folder"
        )


def _copy_report(report: Path, into: Path, head: str) -> None:
    """Copy a report that is of the ledger as it stands, and that holds nothing private."""
    names = {each.name for each in report.iterdir()} if report.is_dir() else set()
    if missing := [name for name in REPORT_FILES if name not in names]:
        raise BundleError(f"--report {report}: it has no {missing[0]}; give a folder of a report")
    if strange := sorted(names - {*REPORT_FILES, RESULT}):
        raise BundleError(
            f"--report {report}: {strange[0]} is no part of a public report; make one without"
            " --private"
        )
    into.mkdir()
    for name in (*REPORT_FILES, *({RESULT} & names)):
        shutil.copyfile(report / name, into / name)
    try:
        stated = json.loads((into / SUMMARY).read_bytes())["head"]
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"--report {report}: its {SUMMARY} is none of a report") from error
    if stated != head:
        raise BundleError(
            f"--report {report}: it is of {stated}, and the ledger stands at {head}; make it anew"
            " with agent-trials report"
        )


def _stop_at_secrets(folder: Path, known: Known, waived: Collection[str]) -> None:
    hits = [hit for path in _files(folder) for hit in _scanned(folder, path, known)]
    left = [hit for hit in hits if hit.known or hit.place not in waived]
    if left:
        remedy = "Nothing was left behind. " + _remedy(left)
        raise SecretFoundError(map(str, left), remedy)


def _remedy(hits: Sequence[Hit]) -> str:
    if any(hit.known for hit in hits):
        return (
            "Open fewer fields; if the ledger or the study holds the secret, revoke it, and do not"
            " publish them."
        )
    return (
        "Open fewer fields; or look at the place, and if it holds no secret, say so with"
        " --not-a-secret PLACE."
    )


def _scanned(folder: Path, path: Path, known: Known) -> list[Hit]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return secrets_scan.scan(path.relative_to(folder).as_posix(), data, known)


def _files(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder, in a fixed order."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
