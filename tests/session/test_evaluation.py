"""What a command evaluates of a ledger, what it believes, and what it records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import evaluated_ledgers as mended
import ledgers
from agent_trials.errors import EvaluationError, RunRefusedError
from agent_trials.ledger import prior
from agent_trials.ledger.chain import read
from agent_trials.results.summary import verify
from agent_trials.session.admission import Admission
from agent_trials.session.evaluation_run import folder
from agent_trials.session.selection import Selected
from agent_trials.study import freeze

if TYPE_CHECKING:
    from pathlib import Path

    from evaluated_ledgers import Mended

WORSE = {**mended.ALL_RESOLVED, "t__calc-1": "unresolved"}


@pytest.fixture
def made(tmp_path: Path) -> Mended:
    """Return a finished ledger of attempts that left patches."""
    return mended.make(tmp_path / "made")


def evaluated(path: Path) -> list[dict[str, Any]]:
    """Return the fields of every report that a ledger holds."""
    return [dict(line.fields) for line in read(path) if line.event == "evaluated"]


def given(tmp_path: Path, content: bytes, name: str = "report.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_predictions_hold_empty_patches_and_name_missing_ones(made: Mended) -> None:
    plan = made.plan(eval_reports=mended.reports(made.ledger.parent))
    native, tool = (subject.predictions for subject in plan.subjects)

    assert native.patches["t__text-3"] == ""
    assert native.missing == ("t__net-6",)
    assert not tool.missing
    assert tool.patches["t__net-6"] == "net-6 of tool\n"


def test_imported_reports_are_recorded_once_with_their_bytes(made: Mended) -> None:
    reports = mended.reports(made.ledger.parent)
    made.evaluate(eval_reports=reports)
    again = made.evaluate(eval_reports=reports)
    native, tool = evaluated(made.ledger)

    assert native["classes"] == {
        "calc-1": "resolved", "calc-2": "unresolved", "net-5": "unresolved",
        "net-6": "missing-patch", "text-3": "empty-patch", "text-4": "error",
    }  # fmt: skip
    assert (native["infrastructure"], native["ambiguous"]) == (["net-5"], ["calc-2"])
    assert native["evaluationId"].removeprefix("agent-trials-") in native["predictionsDigest"]
    assert (tool["source"], tool["replaces"]) == ("imported", None)
    assert not any(each.recorded for each in again.outcomes.values())
    assert verify(made.ledger).committed == verify(made.ledger).opened


def test_another_report_of_the_same_predictions_is_refused_unless_asked(
    made: Mended, tmp_path: Path
) -> None:
    made.evaluate(eval_reports=mended.reports(made.ledger.parent))
    other = {"tool": given(tmp_path, mended.report(WORSE))}
    with pytest.raises(EvaluationError, match="another report of tool stands"):
        made.evaluate(eval_reports=other)
    before = evaluated(made.ledger)
    with pytest.raises(EvaluationError, match="no Docker daemon"):
        made.evaluate(
            eval_reports=other, replace_report=True, parameters={"rows": str(mended.RECORDED)},
            environ={"PATH": made.plan().program.environment["PATH"], "TOY_EVALUATOR": "no-docker"},
        )  # fmt: skip
    run = made.run(eval_reports=other, replace_report=True)
    run.evaluate(run.plan.subjects[1])
    run.close()

    assert len(before) == 2
    assert evaluated(made.ledger)[-1]["replaces"] == before[1]["reportDigest"]
    verify(made.ledger)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{}", "schema_version None"),
        (mended.report({**WORSE, "t__more-1": "resolved"}), "not submitted by this arm"),
        (mended.report({"t__calc-1": "resolved"}), "not among the submitted"),
        (mended.RECORDED.read_bytes(), "made from other predictions"),
    ],
    ids=["no report", "of more than was submitted", "of less", "another arm's"],
)
def test_a_report_that_is_not_the_arms_is_refused_before_anything_is_written(
    made: Mended, tmp_path: Path, content: bytes, what: str
) -> None:
    """The recorded report is native's: it lacks net-6, which the other arm submitted."""
    before = made.ledger.read_bytes()
    with pytest.raises(RunRefusedError, match=what):
        made.plan(eval_reports={"tool": given(tmp_path, content)})

    assert made.ledger.read_bytes() == before
    assert not folder(made.ledger).exists()


def test_without_docker_one_sentence_says_so_and_the_predictions_stay(made: Mended) -> None:
    before = made.ledger.read_bytes()
    environ = {"PATH": "/usr/bin:/bin", "TOY_EVALUATOR": "no-docker"}
    run = made.run(environ=environ)
    with pytest.raises(EvaluationError, match="no Docker daemon answers") as error:
        run.evaluate(run.plan.subjects[0])
    run.close()
    file = folder(made.ledger) / "predictions-native.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)
    assert [row["instance_id"] for row in rows] == sorted(run.plan.subjects[0].predictions.patches)
    assert rows[0]["model_name_or_path"] == "mended-native"
    assert made.ledger.read_bytes() == before


def test_a_program_of_another_version_is_not_asked(tmp_path: Path) -> None:
    made = mended.make(tmp_path / "made", {'harness_version = "toy-1"': 'harness_version = "9"'})
    run = made.run()
    with pytest.raises(EvaluationError, match="is version toy-1, and the study pins 9"):
        run.evaluate(run.plan.subjects[0])
    run.close()


def test_a_missing_swebench_is_said_with_the_way_out(tmp_path: Path) -> None:
    version = json.dumps(["{python}", "-c", "import swebench.harness as m; print(m.v)"])
    toy = json.dumps(["{python}", str(mended.EVALUATOR), "--version"])
    made = mended.make(tmp_path / "made", {toy: version})
    run = made.run()
    with pytest.raises(EvaluationError, match="swebench is not installed") as error:
        run.evaluate(run.plan.subjects[0])
    run.close()

    assert "pytest-agent-trials[swebench]" in str(error.value)


def test_a_program_gets_its_path_and_what_the_study_names_alone(made: Mended) -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "ANTHROPIC_API_KEY": "x", "TOY_EVALUATOR": "wrong"}
    kept = made.plan(environ=environ).program.environment

    assert kept == {
        "PATH": "/bin", "HOME": "/h", "TOY_EVALUATOR": "wrong", "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"approve_budget": True}, "costs no money"),
        ({"transport": "cli"}, "makes no attempt"),
        ({"parameters": {"row": "x"}}, "the study has none of it"),
        ({"controls": True}, "no file of rows is given"),
        ({"malformed": ("--eval-report native is not NAME=VALUE",)}, "is not NAME=VALUE"),
    ],
    ids=["budget", "transport", "parameter", "no gold", "malformed"],
)
def test_what_does_not_belong_to_an_evaluation_is_refused(
    made: Mended, options: dict[str, Any], what: str
) -> None:
    with pytest.raises(RunRefusedError, match=what):
        made.plan(**options)


def test_a_report_of_no_arm_is_refused_by_its_name(made: Mended) -> None:
    with pytest.raises(RunRefusedError, match="use one of: native, tool"):
        made.plan(eval_reports={"nativ": mended.RECORDED})


def test_a_ledger_without_a_patch_that_it_commits_to_is_refused(made: Mended) -> None:
    for path in (made.ledger.parent / f"{made.ledger.name}.private" / "artifacts").iterdir():
        path.unlink()
    with pytest.raises(RunRefusedError, match=r"\.private"):
        made.plan()


def rows_file(tmp_path: Path, **changed: str) -> Path:
    """Return rows with the benchmark's own patches, which no toy repository stands behind."""
    rows = [
        {"instance_id": f"t__{each}", "repo": "t/t", "patch": f"gold {each}\n", **changed}
        for each in mended.IDS
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


EMPTY = mended.report(dict.fromkeys(mended.ALL_RESOLVED, "empty"))


@pytest.mark.parametrize(
    ("gold", "empty", "what"),
    [
        (WORSE, EMPTY, "the gold patches resolve 5 of 6; not t__calc-1"),
        (mended.ALL_RESOLVED, mended.report(mended.ALL_RESOLVED), "empty patches resolve 6 of 6"),
    ],
    ids=["gold fails", "empty resolves"],
)
def test_a_control_that_fails_keeps_the_arms_from_being_evaluated(
    made: Mended, tmp_path: Path, gold: dict[str, str], empty: bytes, what: str
) -> None:
    reports = {
        "gold": given(tmp_path, mended.report(gold), "gold.json"),
        "empty": given(tmp_path, empty, "empty.json"),
        **mended.reports(tmp_path),
    }
    run = made.run(
        eval_reports=reports, controls=True, parameters={"rows": str(rows_file(tmp_path))}
    )
    said = []
    for subject in run.plan.subjects:
        try:
            run.evaluate(subject)
        except EvaluationError as error:
            said.append(str(error))
    run.close()

    assert what in said[0]
    assert said[-2] == said[-1] == said[0]
    assert all("control" in fields for fields in evaluated(made.ledger))


def test_controls_before_the_attempts_have_a_ledger_of_their_own(tmp_path: Path) -> None:
    made = mended.Mended(mended.study(tmp_path / "p" / "mended"), tmp_path / "out" / "c.jsonl")
    made.ledger.parent.mkdir()
    reports = {
        "gold": given(tmp_path, mended.report(mended.ALL_RESOLVED), "gold.json"),
        "empty": given(tmp_path, EMPTY, "empty.json"),
    }
    made.evaluate(
        eval_reports=reports, controls=True, parameters={"rows": str(rows_file(tmp_path))}
    )
    opening, *_ = read(made.ledger)

    assert [fields["control"] for fields in evaluated(made.ledger)] == ["gold", "empty"]
    assert (opening.fields["job"], opening.fields["attempts"]) == ("evaluate", 0)
    assert opening.fields["mode"] == "rehearsal"
    verify(made.ledger)


def test_a_new_ledger_needs_controls(tmp_path: Path) -> None:
    made = mended.Mended(mended.study(tmp_path / "p" / "mended"), tmp_path / "c.jsonl")
    with pytest.raises(RunRefusedError, match="with --controls it may be a new one"):
        made.plan()


def test_other_rows_than_the_study_fixes_are_refused(tmp_path: Path) -> None:
    fixed = f'image_set = "toy"\nrows_digest = "sha256:{"0" * 64}"'
    made = mended.make(tmp_path / "made", {'image_set = "toy"': fixed})
    with pytest.raises(RunRefusedError, match="and the study fixes sha256:0000"):
        made.plan(parameters={"rows": str(rows_file(tmp_path))})


def test_a_report_of_an_evaluation_over_its_deadline_is_not_believed(tmp_path: Path) -> None:
    """It was ended from outside; what it had written by then may be half of it."""
    script = tmp_path / "hangs.py"
    script.write_text(
        "import pathlib, sys, time\n"
        "place, run, source = sys.argv[1:4]\n"
        "report = pathlib.Path(source).read_bytes()\n"
        "pathlib.Path(place, f'mended-native.{run}.json').write_bytes(report)\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    words = ["{python}", str(script), "{reports}", "{run_id}", str(mended.RECORDED)]
    hanging = json.dumps([*words, "{predictions}", "{dataset}"])
    fixed = 'image_set = "toy"\ndeadline_seconds = 2'
    made = mended.make(
        tmp_path / "made", {json.dumps(mended.COMMAND): hanging, 'image_set = "toy"': fixed}
    )
    run = made.run()
    with pytest.raises(EvaluationError, match="still running after 2 seconds"):
        run.evaluate(run.plan.subjects[0])
    run.close()

    assert list(folder(made.ledger).glob("*/mended-native.*.json"))


def test_a_verdict_that_lies_there_from_before_is_not_taken(made: Mended) -> None:
    """The official evaluation answers a run id that it knows with what it said then."""
    environ = {"PATH": "/usr/bin:/bin", "TOY_EVALUATOR": "no-docker"}
    run = made.run(environ=environ)
    native = run.plan.subjects[0]
    old = folder(made.ledger) / f"{native.predictions.run_id}.native.1"
    old.mkdir()
    name = f"mended-native.{native.predictions.run_id}.json"
    (old / name).write_bytes(mended.RECORDED.read_bytes())
    with pytest.raises(EvaluationError, match="left no report"):
        run.evaluate(native)
    run.close()

    assert not evaluated(made.ledger)


@pytest.fixture
def frozen(tmp_path: Path) -> Mended:
    """Return a frozen study, and a ledger of passed controls that may stand before a paid run."""
    made = mended.Mended(mended.study(tmp_path / "p" / "mended"), tmp_path / "out" / "c.jsonl")
    freeze.freeze(made.study, now=ledgers.clock()())
    made.ledger.parent.mkdir()
    reports = {
        "gold": given(tmp_path, mended.report(mended.ALL_RESOLVED), "gold.json"),
        "empty": given(tmp_path, EMPTY, "empty.json"),
    }
    made.evaluate(
        eval_reports=reports, controls=True, parameters={"rows": str(rows_file(tmp_path))}
    )
    return made


@pytest.mark.parametrize("passed", [True, False])
def test_a_paid_run_needs_controls_that_passed(frozen: Mended, *, passed: bool) -> None:
    """An evaluation that nobody tried may judge thirty attempts for nothing."""
    options = mended.made_options(
        approve_budget=True, prior_ledgers=(frozen.ledger,) if passed else ()
    )
    admission = Admission(options, frozen.study.folder.parent, 0)
    admission.plan([Selected(frozen.study, "full")], ())
    said = [str(problem) for problem in admission.problems]

    assert any("no ledger of passed controls" in each for each in said) != passed
    assert not any("its mode is" in each for each in said)


def test_controls_that_failed_are_none(tmp_path: Path) -> None:
    made = mended.Mended(mended.study(tmp_path / "p" / "mended"), tmp_path / "out" / "c.jsonl")
    made.ledger.parent.mkdir()
    reports = {
        "gold": given(tmp_path, mended.report(WORSE), "gold.json"),
        "empty": given(tmp_path, EMPTY, "empty.json"),
    }
    parameters = {"rows": str(rows_file(tmp_path))}
    run = made.run(eval_reports=reports, controls=True, parameters=parameters)
    with pytest.raises(EvaluationError, match="the control gold failed"):
        run.evaluate(run.plan.subjects[0])
    run.evaluate(run.plan.subjects[1])
    run.close()

    assert prior.read(made.ledger).controls == {"empty"}
