"""What a report says of a finished ledger, and what it must not say."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
import publishing
import reportable
from agent_trials.errors import ReportError
from agent_trials.ledger.approval import Approver
from agent_trials.ledger.private import private_folder
from agent_trials.results import record, render_html, render_markdown, report, report_files
from agent_trials.results.deviations import deviations

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion


FEW_PLOTS: dict[str, Any] = {"primary": '["correctness"]', "secondary": "[]"}
ATTACK = "'<img src=x onerror=alert(1)> | **bold** </style><script>alert(2)</script>'"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a graded ledger of 16 pairs; no test changes it."""
    return reportable.ledger(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def document(ledger: Path) -> dict[str, Any]:
    """Return its report."""
    return report.document(record.read(ledger))


@pytest.fixture(scope="module")
def written(ledger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of its report."""
    into = tmp_path_factory.mktemp("reports") / "made_up"
    report_files.write(record.read(ledger), into)
    return into


def of(tmp_path: Path, **changed: Any) -> dict[str, Any]:  # noqa: ANN401 - a shape's fields
    return report.document(record.read(reportable.ledger(tmp_path, **changed)))


def test_the_report_in_words(written: Path, snapshot: SnapshotAssertion) -> None:
    """What a maintainer reads first; versions and digests apart."""
    text = (written / "report.md").read_text("utf-8")
    text = re.sub(r"(sha256|sha1):[0-9a-f]{40,64}", r"\1:…", text)

    assert re.sub(r"Made with .*", "Made with …", text) == snapshot


@pytest.fixture(scope="module")
def again(ledger: Path, written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a copy, made over an earlier one that had private pages."""
    elsewhere = tmp_path_factory.mktemp("copy") / "other-name.jsonl"
    shutil.copy(ledger, elsewhere)
    shutil.copytree(private_folder(ledger), private_folder(elsewhere))
    into = tmp_path_factory.mktemp("again") / "out"
    shutil.copytree(written, into)
    for each in into.iterdir():
        if each.name != "summary.json":
            each.write_text("an earlier report", "utf-8")
    (into / "private").mkdir()
    (into / "private" / "attempt-00000.html").write_text("an earlier answer", "utf-8")
    report_files.write(record.read(elsewhere), into)
    return into


def test_the_same_ledger_gives_the_same_bytes(written: Path, again: Path) -> None:
    """A reader who trusts nobody makes the report again, on another day and elsewhere."""
    for name in ("report.md", "summary.json", "report.html"):
        assert (again / name).read_bytes() == (written / name).read_bytes(), name


def test_each_file_names_the_head_and_the_declaration(ledger: Path, written: Path) -> None:
    """A page that is not bound to a ledger can be laid beside any."""
    head = record.read(ledger).summary.head

    for name in ("report.md", "summary.json", "report.html"):
        text = (written / name).read_text("utf-8")
        assert head in text
        assert "agent-adjudicated; no human review was performed" in text
        assert "publication: not approved" in text
        assert "not a billed amount" in text


def test_nothing_private_is_in_the_default_output(written: Path) -> None:
    """Answers, prompts, transcripts and reasons stay beside the ledger."""
    assert {each.name for each in written.iterdir()} == report_files.OURS - {
        "private", "result-v1.json",
    }  # fmt: skip
    for file in written.iterdir():
        text = file.read_text("utf-8")
        assert "an answer that is private" not in text
        assert "What does page" not in text
        assert "as expected" not in text
        assert "Yes, that is what" not in text


def test_rows_hold_what_the_verdict_was_made_of(document: dict[str, Any]) -> None:
    """Another program decides again from these rows alone."""
    [comparison] = document["comparisons"]
    rows = comparison["rows"]
    by_task: dict[str, list[Decimal]] = {}
    for row in rows:
        control, treatment = row["values"]["correctness"]
        by_task.setdefault(row["task"], []).append(Decimal(treatment) - Decimal(control))
    mean = sum(sum(of) / len(of) for of in by_task.values()) / len(by_task)
    [correctness] = [e for e in comparison["endpoints"] if e["endpoint"] == "correctness"]

    assert len(rows) == 16
    assert Decimal(correctness["mean"]) == mean == Decimal("0.1875")
    assert document["verdicts"][0]["figures"]["correctness.mean_difference"] == "0.1875"
    assert all(type(value) is str for row in rows for value in row["values"]["cost_usd"])
    assert "." not in json.dumps([row["pair"] for row in rows])


def test_no_number_is_a_float(document: dict[str, Any]) -> None:
    """Two programs may disagree about a float, and then about the bytes."""

    def walk(value: object) -> None:
        assert not isinstance(value, float)
        for inside in value.values() if isinstance(value, dict) else ():
            walk(inside)
        for inside in value if isinstance(value, list) else ():
            walk(inside)

    walk(document)


def test_only_registered_endpoints_are_headed_so(document: dict[str, Any]) -> None:
    """What was found by looking is exploratory, however it looks."""
    [comparison] = document["comparisons"]
    standings = {each["endpoint"]: each["standing"] for each in comparison["endpoints"]}

    assert [n for n, s in standings.items() if s == "primary"] == ["correctness", "cost_usd"]
    assert [n for n, s in standings.items() if s == "secondary"] == [
        "total_input_tokens",
        "wall_time_ms",
    ]
    assert standings["turns"] == "exploratory"


def test_a_study_without_p_values_gets_none(tmp_path: Path) -> None:
    """004 forbids them: not as a null, not as a heading, not in the figures of the verdict."""
    path = reportable.ledger(
        tmp_path, p_values=False, rule="cost-per-correct", thresholds='maximum_ratio = "1"'
    )
    report_files.write(record.read(path), tmp_path / "out")

    for name in ("report.md", "summary.json", "report.html"):
        text = (tmp_path / "out" / name).read_text("utf-8")
        text = re.sub(r"data:image[^\"]*", "", text)
        for word in ("signFlip", "mcnemar", "McNemar", "Holm adj", "p-value of", "holmP", "| p |"):
            assert word not in text, (name, word)
        assert '<th class="n">p</th>' not in text


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the private report of a rehearsal whose title attacks the page."""
    folder = tmp_path_factory.mktemp("private")
    path = reportable.ledger(folder, mode="rehearsal", tasks=2, title=ATTACK)
    report_files.write(record.read(path), folder / "out", private=True)
    return folder / "out"


def test_a_rehearsal_says_so_everywhere(private: Path) -> None:
    """A rehearsal's page that is sent around must not be taken for a result."""
    document = json.loads((private / "summary.json").read_bytes())

    assert document["rehearsal"] is True
    assert document["labels"]["mode"] == "REHEARSAL"
    assert document["verdicts"][0]["sentence"].startswith("REHEARSAL, says nothing of the world")
    for file in private.rglob("*.*"):
        assert "REHEARSAL" in file.read_text("utf-8"), file.name


def test_an_approval_is_shown_until_something_is_appended(ledger: Path, tmp_path: Path) -> None:
    """What was approved is what stood there then."""
    path = tmp_path / "run.jsonl"
    shutil.copy(ledger, path)
    shutil.copytree(private_folder(ledger), private_folder(path))
    Approver.on(path, clock=ledgers.clock()).approve("Ada Example")

    labels = report.document(record.read(path))["labels"]

    assert labels["publication"].startswith("publication: approved by Ada Example on 2026-11-30")


def test_a_stopped_run_states_its_denominators(tmp_path: Path) -> None:
    """Nothing is dropped silently: what was not begun and the half pair are named."""
    document = of(tmp_path, tasks=4, stop_after=5)
    verdict, deviations = document["verdicts"][0], document["deviations"]

    assert verdict["outcome"] == "incomplete"
    assert "2 of 8 planned pairs were run (stopped: operator)" in verdict["sentence"]
    assert "Run 1 was stopped early (operator)." in deviations
    assert "11 of 16 planned attempts were not begun." in deviations
    assert any("Pair 2 is in no paired figure" in each for each in deviations)
    assert [pair["pair"] for pair in document["pairs"] if pair["half"]] == [2]
    assert [each["status"] for each in document["attempts"]].count("blocked") == 11
    assert {one["arm"]: one["counts"]["analysed"] for one in document["flow"]} == {
        "repository-only": 2,
        "docs-mcp": 2,
    }


def test_an_attempt_that_was_not_begun_has_no_private_page(tmp_path: Path) -> None:
    """Its row stands in the private report without a link; the others have theirs."""
    path = reportable.ledger(tmp_path, tasks=1, stop_after=1)
    report_files.write(record.read(path), tmp_path / "out", private=True)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    links = set(re.findall(r'href="(private/[^"]+)"', page))

    assert links == {f"private/{each.name}" for each in (tmp_path / "out/private").iterdir()}
    assert len(links) == 1
    assert "blocked" in page


def test_the_flow_counts_every_stage(document: dict[str, Any]) -> None:
    """The CONSORT figures are those of the ledger's lines."""
    for one in document["flow"]:
        expected = dict.fromkeys(one["counts"], 16) | {"refused": 0}
        assert one["counts"] == expected


def test_answers_that_are_not_graded_keep_the_verdict_open(tmp_path: Path) -> None:
    """A grade that is missing is not a wrong answer."""
    document = of(tmp_path, tasks=2, graded=False)

    assert document["verdicts"][0]["outcome"] == "incomplete"
    assert "answers not graded yet: 8" in document["verdicts"][0]["sentence"]
    assert {each["grade"] for each in document["attempts"]} == {"pending"}
    assert document["arms"]["docs-mcp"]["costPerCorrect"]["tag"] == "missing"


def test_a_phase_that_is_not_scored_has_no_verdict(tmp_path: Path) -> None:
    """A pilot never counts, whatever it shows."""
    document = of(tmp_path, tasks=2, phase="pilot")

    assert [each["outcome"] for each in document["verdicts"]] == ["not-scored"]


def test_a_study_whose_opening_was_withheld_has_no_verdict(tmp_path: Path) -> None:
    """Then only what stands in the lines is told, and that it is so."""
    path = reportable.ledger(tmp_path, tasks=2)
    shutil.rmtree(private_folder(path))
    report_files.write(record.read(path), tmp_path / "out")
    document = json.loads((tmp_path / "out" / "summary.json").read_bytes())

    assert document["verdicts"][0]["outcome"] == "not-decided"
    assert document["comparisons"] == []
    assert len(document["attempts"]) == 8
    assert any("could not be read" in each for each in document["deviations"])


RULE = """
import pathlib
pathlib.Path({mark!r}).write_text("run", encoding="utf-8")
from agent_trials.results.evidence import Finding
def find(evidence):
    return Finding("the study's own claim", supports=("its own reason",), says="its own figures")
"""


def test_a_strangers_rule_is_not_executed(tmp_path: Path) -> None:
    """A ledger is data: to read a report of it must not run what somebody put into it."""
    mark = tmp_path / "mark"
    files = (("verdict.py", RULE.format(mark=str(mark))),)
    document = of(tmp_path, tasks=2, files=files)

    assert document["verdicts"][0]["outcome"] == "not-executed"
    assert "--trust-study-code" in document["verdicts"][0]["sentence"]
    assert not mark.exists()


def test_values_from_a_ledger_are_escaped(private: Path) -> None:
    """A title, a problem's code or a task can hold what a browser would run."""
    page = (private / "report.html").read_text("utf-8")
    attempt = (private / "private" / "attempt-00000.html").read_text("utf-8")
    text = (private / "report.md").read_text("utf-8")

    assert "<img src=x" not in page
    assert "<script" not in page + attempt
    assert page.count("</style>") == 1
    assert "&lt;img src=x" in page
    assert "&lt;script&gt;alert(1)" in attempt
    assert r"\<img src=x onerror=alert(1)\> \| \*\*bold\*\*" in text


def test_private_pages_show_the_attempt_and_are_the_owners_alone(private: Path) -> None:
    """Prompt, timeline, answer, cited lines and reasons, on request."""
    pages = sorted((private / "private").iterdir())
    first = pages[0].read_text("utf-8")

    assert len(pages) == 8
    assert {each.stat().st_mode & 0o777 for each in pages} == {0o600}
    assert private.stat().st_mode & 0o777 == 0o700
    for words in ("What does page 0 say?", "call of repo_read", "input 3000 tokens", "a.md:3-3"):
        assert words in first
    assert "3: yes &lt;b&gt;" in first
    assert "as expected" in first
    assert 'href="private/attempt-00000.html"' in (private / "report.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["notes.txt", "report.html"])
def test_refuses_a_folder_that_is_no_earlier_report(
    ledger: Path, tmp_path: Path, name: str
) -> None:
    """Whatever stands there is somebody's."""
    (tmp_path / name).write_text("mine", "utf-8")

    with pytest.raises(ReportError, match="give a folder that does not exist"):
        report_files.write(record.read(ledger), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_refuses_an_earlier_report_to_which_somebody_added(
    ledger: Path, written: Path, tmp_path: Path
) -> None:
    """It would be replaced as a whole, and the addition with it."""
    into = tmp_path / "out"
    shutil.copytree(written, into)
    (into / "screenshot.png").touch()

    with pytest.raises(ReportError, match=r"holds .screenshot\.png."):
        report_files.write(record.read(ledger), into)
    assert (into / "screenshot.png").exists()


def test_an_earlier_report_is_replaced_as_a_whole(again: Path) -> None:
    """Private pages of an earlier one do not stay behind in one for publication."""
    assert not (again / "private").exists()
    assert [each.name for each in again.parent.iterdir()] == ["out"]


def test_a_report_that_fails_leaves_the_earlier_one(
    ledger: Path, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk in the middle leaves nothing half written."""
    into = tmp_path / "out"
    shutil.copytree(written, into)
    before = {each.name: each.read_bytes() for each in into.iterdir()}

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        report_files.write(record.read(ledger), into)
    assert {each.name: each.read_bytes() for each in into.iterdir()} == before
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_three_arms_are_one_pair_and_two_comparisons(tmp_path: Path) -> None:
    """A pair is all arms of a task and repetition; each treatment stands against the first arm."""
    path = reportable.ledger(
        tmp_path, tasks=3, repetitions=1, treatments=("docs-mcp", "other-mcp"), **FEW_PLOTS
    )
    found = record.read(path)

    made = report.document(found)

    assert [(each["control"], each["treatment"]) for each in made["comparisons"]] == [
        ("repository-only", "docs-mcp"),
        ("repository-only", "other-mcp"),
    ]
    assert [sorted(pair["order"]) for pair in made["pairs"]] == [
        ["docs-mcp", "other-mcp", "repository-only"]
    ] * 3
    assert [one["arm"] for one in made["flow"]] == ["repository-only", "docs-mcp", "other-mcp"]
    assert len(made["verdicts"]) == 2
    assert [len(each["rows"]) for each in made["comparisons"]] == [3, 3]
    shown = render_html.render(found, made).decode() + render_markdown.render(made).decode()
    assert "docs-mcp minus repository-only" in shown
    assert "other-mcp minus repository-only" in shown


def test_a_pair_of_three_arms_counts_in_the_comparison_whose_arms_are_whole(tmp_path: Path) -> None:
    """The third arm of the last pair was never begun: the first two are compared all the same."""
    arms = ("docs-mcp", "other-mcp")
    path = reportable.ledger(
        tmp_path, tasks=2, repetitions=1, treatments=arms, stop_after=5, graded=False
    )

    made = report.document(record.read(path))

    costs = [
        {one["endpoint"]: one["pairs"] for one in each["endpoints"]}["cost_usd"]
        for each in made["comparisons"]
    ]
    last = made["pairs"][-1]
    assert last["half"]
    assert sorted(costs) == [1, 2] if last["order"][2] != "repository-only" else costs == [1, 1]


def test_says_where_the_grader_was_the_model_that_answered(tmp_path: Path) -> None:
    """A model may like its own words."""
    found = record.read(reportable.ledger(tmp_path, tasks=1, **FEW_PLOTS))
    document = report.document(found)
    grading = document["grading"]
    graders = [{**grading["graders"][0], "sameModelAsAgent": True}]
    said = "the same model as the agent"
    same = {**document, "grading": {**grading, "graders": graders}}

    assert said in render_markdown.render(same).decode()
    assert said in render_html.render(found, same).decode()
    assert said not in render_markdown.render(document).decode()


def test_runs_in_different_environments_are_a_deviation(ledger: Path) -> None:
    """Attempts that other versions ran are not of one experiment."""
    found = record.read(ledger)
    first, second = found.summary.runs
    facts = {"python": "3.11.7", "packages": {"anthropic": "1.2.0"}}
    newer = {"python": "3.11.7", "packages": {"anthropic": "1.3.0"}}

    def said(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
        runs = (
            dataclasses.replace(first, opening={**first.opening, "environment": one}),
            dataclasses.replace(second, opening={**second.opening, "environment": other}),
        )
        summary = dataclasses.replace(found.summary, runs=runs)
        return deviations(dataclasses.replace(found, summary=summary))

    assert said(facts, newer) == [
        "Run 2 was made in another environment: anthropic 1.2.0 became 1.3.0."
    ]
    assert said(facts, facts) == []


def test_a_follow_up_turn_has_a_row_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    publishing.eventful(path)
    found = record.read(path)

    made = report.document(found)

    [two] = [each for each in made["attempts"] if each["byTurn"]]
    assert (two["costUsd"], two["chargedUsd"]) == ("0.19", "0.19")
    assert [turn["chargedUsd"] for turn in two["byTurn"]] == ["0.17", "0.02"]
    assert "| turn 2 |" in render_markdown.render(made).decode()
    assert "<td>turn 2</td>" in render_html.render(found, made).decode()
