"""A bundle with a result artifact: its verifier believes neither its digest nor its figures."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

import evaluated_ledgers as mended
import ledgers
from agent_trials import canonical
from agent_trials.publication import bundle, verify_bundle
from agent_trials.publication.secret_shapes import Known
from agent_trials.results import record, report_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Result = dict[str, Any]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of an evaluated ledger with its report."""
    folder = tmp_path_factory.mktemp("published")
    made = mended.make(folder / "made")
    made.evaluate(eval_reports=mended.reports(folder))
    report_files.write(record.read(made.ledger), folder / "report")
    bundle.write(made.ledger, folder / "bundle", known=Known({}), report=folder / "report")
    return folder / "bundle"


def verified(folder: Path) -> list[str]:
    """Return what the verifier says of a bundle."""
    return verify_bundle.run(folder / "ledger.jsonl", folder, [])[0]


def test_a_result_that_follows_is_said_to(published: Path) -> None:
    assert any("result-v1.json: its digest is its own" in line for line in verified(published))


FORGED: dict[str, tuple[Callable[[Result], Any], str]] = {
    "another head": (lambda r: r.update(head=f"1:{ledgers.OTHER_SERIES}"), "its head is none"),
    "one more resolved": (lambda r: r["arms"][0]["resolved"].update(successes=2), "resolved"),
    "another class": (
        lambda r: r["arms"][0]["evaluation"]["tasks"].update({"calc-2": "resolved"}), "native",
    ),
    "another report": (
        lambda r: r["arms"][1]["evaluation"].update(reportDigest=ledgers.SERIES), "tool",
    ),
    "another protocol": (lambda r: r.update(protocol_sha256="0" * 64), "protocol_sha256"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "what"), FORGED.values(), ids=FORGED)
def test_a_result_made_anew_with_its_digest_is_caught_by_the_ledger(
    published: Path, change: Callable[[Result], Any], what: str
) -> None:
    path = published / "report" / "result-v1.json"
    before = path.read_bytes()
    result = json.loads(before)
    del result["artifact_sha256"]
    change(result)
    own = hashlib.sha256(canonical.dumps(result)).hexdigest()
    path.write_bytes(canonical.dumps({**result, "artifact_sha256": own}) + b"\n")
    try:
        with pytest.raises(verify_bundle.DiffersError, match=what):
            verified(published)
    finally:
        path.write_bytes(before)
