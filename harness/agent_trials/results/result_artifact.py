"""The result artifact of a study whose patches were evaluated: one value, for its owner to sign.

It is canonical JSON. ``artifact_sha256`` is the SHA-256, in hex, of the canonical JSON of
everything else in it: whoever has it takes that field out, writes the rest canonically and hashes.
Frozen protocol and lock of tasks are named by the SHA-256 of their files' bytes, the lock by the
digests of its text as well; the ledger is named by its head. ``docs/report.md`` has the fields.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from agent_trials import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.results.record import Record

FILE = "result-v1.json"
SCHEMA = 1
KIND = "agent-trials-result"
OWN = "artifact_sha256"
PROTOCOL = "PROTOCOL.md"


def artifact(record: Record, document: Mapping[str, Any]) -> bytes | None:
    """Return the artifact's bytes; None where an arm is not evaluated, or the study not known.

    Args:
        record: the ledger.
        document: its report.
    """
    found, manifest = document["evaluation"], record.frozen.manifest
    if found is None or manifest is None or manifest.evaluation is None:
        return None
    if not found["arms"] or any(each["evaluation"] is None for each in found["arms"]):
        return None
    evaluation = manifest.evaluation
    content = {
        "schema": SCHEMA,
        "kind": KIND,
        "study": manifest.id,
        "phase": record.opening["phase"],
        "mode": record.opening["mode"],
        "declaration": manifest.declaration,
        "head": record.summary.head,
        "seriesId": record.opening["seriesId"],
        "n": len({each.cell.task for each in record.attempts}),
        **_digests(record),
        "agent": {
            "model": record.opening.get("model"),
            "cliVersion": record.opening.get("cliVersion"),
        },
        "harness": {
            "version": evaluation.harness_version,
            "imageSet": evaluation.image_set,
            "split": evaluation.split,
        },
        "arms": found["arms"],
        "pairs": found["pairs"],
        "controls": found["controls"],
        "verdicts": document["verdicts"],
    }
    return canonical.dumps({**content, OWN: _sha256(canonical.dumps(content))}) + b"\n"


def _digests(record: Record) -> dict[str, Any]:
    """Return the digests of protocol and lock, by names that say of which bytes they are."""
    files, manifest = record.frozen.files, record.frozen.manifest
    named: dict[str, Any] = {}
    if PROTOCOL in files:
        named["protocol_sha256"] = _sha256(files[PROTOCOL].encode("utf-8"))
    source = manifest.task_source if manifest else None
    if source is not None and source.lock in files:
        text = files[source.lock]
        named["tasks_lock_sha256"] = _sha256(text.encode("utf-8"))
        named["tasks_lock"] = json.loads(text)["digests"]
    return named


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
