"""The real swebench: what its report builder writes is read, and what it lacks is said.

No container runs: the builder reads logs that are made here, and the evaluation is tried where no
Docker daemon answers.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import evaluated_ledgers as mended
from agent_trials.errors import EvaluationError, RunRefusedError
from agent_trials.ledger.chain import read
from agent_trials.session.evaluation_run import folder
from agent_trials.study.settings import SWEBENCH_COMMAND, SWEBENCH_VERSION

if TYPE_CHECKING:
    from evaluated_ledgers import Mended

BUILDER = Path(__file__).with_name("make_report.py")
SUBMITTED = {f"t__{each}": True for each in mended.IDS}


def built(
    swebench: str, made: Mended, arm: str, resolved: dict[str, Any], logs: dict[str, str]
) -> Path:
    """Return the report that the real builder makes of an arm's predictions."""
    run = made.run(parameters={"rows": "rows.jsonl"})
    subject = next(each for each in run.plan.subjects if each.name == arm)
    place = folder(made.ledger) / f"built-{arm}"
    place.mkdir()
    told = {
        "predictions": str(folder(made.ledger) / f"predictions-{arm}.jsonl"),
        "rows": [*SUBMITTED, "t__other-7"],
        "run_id": subject.predictions.run_id,
        "resolved": resolved,
        "logs": logs,
    }
    subprocess.run(
        [swebench, str(BUILDER)], input=json.dumps(told), cwd=place, check=True, text=True,
        capture_output=True,
    )  # fmt: skip
    return place / f"mended-{arm}.{subject.predictions.run_id}.json"


def test_what_the_real_builder_reports_is_read_and_recorded(swebench: str, tmp_path: Path) -> None:
    made = mended.make(tmp_path / "made")
    native = built(
        swebench, made, "native",
        {"t__calc-1": True, "t__calc-2": False, "t__net-5": False},
        {"t__net-5": "Temporary failure in name resolution",
         "t__calc-2": "ModuleNotFoundError: No module named 'x'"},
    )  # fmt: skip
    tool = built(swebench, made, "tool", SUBMITTED, {})
    made.evaluate(eval_reports={"native": native, "tool": tool})
    first, second = [line.fields for line in read(made.ledger) if line.event == "evaluated"]

    assert first["classes"] == {
        "calc-1": "resolved", "calc-2": "unresolved", "net-5": "unresolved",
        "net-6": "missing-patch", "text-3": "empty-patch", "text-4": "error",
    }  # fmt: skip
    assert (first["infrastructure"], first["ambiguous"]) == (["net-5"], ["calc-2"])
    assert set(second["classes"].values()) == {"resolved"}


def test_an_instance_whose_log_is_broken_makes_the_report_unusable(
    swebench: str, tmp_path: Path
) -> None:
    """The real builder then counts it as completed and as an error."""
    made = mended.make(tmp_path / "made")
    tool = built(swebench, made, "tool", {**SUBMITTED, "t__text-4": None}, {})
    with pytest.raises(RunRefusedError, match="t__text-4 in completed_ids and error_ids"):
        made.plan(eval_reports={"tool": tool})


def test_a_report_of_the_real_builder_for_the_other_arm_is_refused(
    swebench: str, tmp_path: Path
) -> None:
    made = mended.make(tmp_path / "made")
    native = built(swebench, made, "native", {"t__calc-1": True}, {})
    with pytest.raises(RunRefusedError, match="made from other predictions"):
        made.plan(eval_reports={"tool": native})


def test_the_real_evaluation_without_docker_says_so_in_one_sentence(
    swebench: str, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    needed = {"image": "x", "eval_script": "x", "log_parser": "x", "eval_type": "x"}
    told = [
        {"instance_id": name, "repo": "t/t", "version": "1", "base_commit": mended.PIN,
         "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]", "patch": "x", "test_patch": "x", **needed}
        for name in SUBMITTED
    ]  # fmt: skip
    rows.write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")

    def real(words: tuple[str, ...]) -> str:
        return json.dumps([swebench if word == "{python}" else word for word in words])

    made = mended.make(
        tmp_path / "made",
        {
            json.dumps(mended.COMMAND): real(SWEBENCH_COMMAND),
            json.dumps(["{python}", str(mended.EVALUATOR), "--version"]): real(SWEBENCH_VERSION),
            'harness_version = "toy-1"': 'harness_version = "5.0.2"',
            '"TOY_EVALUATOR"': '"DOCKER_HOST"',
        },
    )
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "DOCKER_HOST": "tcp://127.0.0.1:1"}
    run = made.run(parameters={"rows": str(rows)}, environ=environ)
    before = made.ledger.read_bytes()
    with pytest.raises(EvaluationError, match="no Docker daemon answers") as error:
        run.evaluate(run.plan.subjects[0])
    run.close()

    assert "\n" not in str(error.value)
    assert (folder(made.ledger) / "predictions-native.jsonl").is_file()
    assert made.ledger.read_bytes() == before
