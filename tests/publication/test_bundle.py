"""A bundle is whole or not there, holds what was chosen, and a stranger can check it."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import ledgers
import publishing
import reportable
from agent_trials import cli
from agent_trials.errors import BundleError, LedgerBrokenError, LedgerInUseError, SecretFoundError
from agent_trials.ledger.approval import Approver
from agent_trials.ledger.private import private_folder
from agent_trials.publication import bundle
from agent_trials.publication.figures import figures
from agent_trials.publication.secret_shapes import Known
from agent_trials.results import record, report_files
from agent_trials.results.report import document
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTHING = Known({})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished and graded ledger of a whole study, to be copied."""
    folder = tmp_path_factory.mktemp("template")
    publishing.graded(folder / "run.jsonl")
    return folder


@pytest.fixture
def ledger(template: Path, tmp_path: Path) -> Path:
    """Return a finished and graded ledger."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run.jsonl"


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """Return where the bundle goes: alone in its folder, so that leftovers are seen."""
    folder = tmp_path / "published"
    folder.mkdir()
    return folder / "bundle"


def call(*arguments: str | Path, **environment: str) -> Result:
    runner = CliRunner(env=environment)
    return runner.invoke(cli.main, [str(each) for each in arguments], prog_name="agent-trials")


def script(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a bundle's verify.py as a stranger does."""
    command = [sys.executable, "-I", "-S", str(folder / "verify.py"), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={}, cwd=folder.parent
    )


@pytest.fixture
def report(ledger: Path, tmp_path: Path) -> Path:
    """Return a report's folder: its figures are real, its pages are not drawn."""
    folder = tmp_path / "report"
    folder.mkdir()
    figures_of = document(record.read(ledger))
    (folder / "summary.json").write_bytes(report_files.to_json(figures_of))
    for name in ("report.md", "report.html"):
        (folder / name).write_text("a page", "utf-8")
    return folder


def held(folder: Path) -> dict[str, bytes]:
    """Return everything in a bundle, artifacts unpacked."""
    return {
        path.relative_to(folder).as_posix(): (
            gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_bundle_holds_what_may_be_published_and_verifies(ledger: Path, into: Path) -> None:
    made = bundle.write(ledger, into, known=NOTHING)

    files = held(into)
    assert files["ledger.jsonl"] == ledger.read_bytes()
    assert files["HEAD"].decode().strip() == made.head == verify(ledger).head
    assert json.loads(files["summary.json"]) == figures(record.read(into / "ledger.jsonl"))
    assert made.opened == {"study": 1}
    assert {name.split("/")[0] for name in files} == {
        "ledger.jsonl", "ledger.jsonl.private", "HEAD", "summary.json", "verify.py",
    }  # fmt: skip
    done = script(into, "--head", made.head)
    assert (done.returncode, done.stderr) == (0, "")
    assert "every figure follows" in done.stdout


def test_nothing_private_goes_in_unless_it_was_chosen(ledger: Path, into: Path) -> None:
    """Not the answers, not the key, not what the adjudicators were given; the study's text does."""
    bundle.write(ledger, into, known=NOTHING)

    everything = b"".join(held(into).values())
    assert b"answer that is private" not in everything
    assert b"that is what the page of" not in everything
    assert b"as expected" not in everything
    assert b"Does a made-up server help?" in everything


def test_chosen_fields_are_opened_and_still_verify(ledger: Path, into: Path) -> None:
    made = bundle.write(ledger, into, known=NOTHING, opened=["key", "answer", "blindId"])

    everything = b"".join(held(into).values())
    assert b"answer that is private" in everything
    assert b"that is what the page of" in everything
    assert (made.opened["answer"], made.opened["key"], made.opened["transcript"]) == (12, 1, 0)
    assert verify(into / "ledger.jsonl").opened == sum(made.opened.values())
    assert script(into).returncode == 0


def test_correctness_follows_from_the_bundle_once_blind_ids_are_open(
    ledger: Path, into: Path
) -> None:
    """Whose a grade is stands in them alone."""
    closed = into.with_name("closed")
    bundle.write(ledger, closed, known=NOTHING)
    bundle.write(ledger, into, known=NOTHING, opened=["blindId"])

    shown = [json.loads((each / "summary.json").read_bytes()) for each in (closed, into)]
    assert {each["grade"] for each in shown[0]["attempts"]} == {"pending"}
    assert {each["grade"] for each in shown[1]["attempts"]} == {"correct", "incorrect"}
    assert shown[1]["arms"]["docs-mcp"]["correctOfScored"]["trials"] == 6


def test_a_report_goes_in_and_its_rows_are_recomputed(
    ledger: Path, report: Path, into: Path
) -> None:
    bundle.write(ledger, into, known=NOTHING, opened=["blindId"], report=report)

    assert "report/summary.json: its head and its rows follow" in script(into).stdout
    summary = into / "report" / "summary.json"
    shown = json.loads(summary.read_bytes())
    shown["comparisons"][0]["rows"][0]["values"]["cost_usd"][0] = "0.000001"
    summary.write_text(json.dumps(shown), "utf-8")
    done = script(into)
    assert done.returncode == 1
    assert "report/summary.json" in done.stderr


REFUSED: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "a private page": (lambda report, _: (report / "private").mkdir(), "without --private"),
    "no page": (lambda report, _: (report / "report.html").unlink(), "it has no report.html"),
    "an earlier report": (
        lambda _, ledger: Approver.on(ledger, clock=ledgers.clock()).approve("Ada"),
        "make it anew",
    ),
    "no report": (
        lambda report, _: (report / "summary.json").write_text("[]", "utf-8"),
        "is none of a report",
    ),
}


@pytest.mark.parametrize(("change", "says"), REFUSED.values(), ids=REFUSED)
def test_refuses_a_report_that_is_not_of_the_ledger_as_it_stands(
    ledger: Path, report: Path, into: Path, change: Callable[[Path, Path], object], says: str
) -> None:
    change(report, ledger)

    with pytest.raises(BundleError, match=says):
        bundle.write(ledger, into, known=NOTHING, report=report)
    assert not list(into.parent.iterdir())


def test_refuses_a_folder_that_exists_and_one_that_has_no_place(ledger: Path, into: Path) -> None:
    into.mkdir()
    with pytest.raises(BundleError, match="exists"):
        bundle.write(ledger, into, known=NOTHING)
    assert not list(into.iterdir())
    with pytest.raises(BundleError, match="make it first"):
        bundle.write(ledger, into / "deep" / "er", known=NOTHING)


def test_refuses_a_ledger_on_which_a_run_is_open(tmp_path: Path, into: Path) -> None:
    journal = ledgers.create(tmp_path / "open.jsonl")

    with pytest.raises(LedgerInUseError):
        bundle.write(tmp_path / "open.jsonl", into, known=NOTHING)
    assert not list(into.parent.iterdir())
    journal.close()


def test_refuses_a_ledger_that_does_not_verify(ledger: Path, into: Path) -> None:
    ledger.write_bytes(ledger.read_bytes().replace(b'"capUsd":"5000"', b'"capUsd":"6000"', 1))

    with pytest.raises(LedgerBrokenError):
        bundle.write(ledger, into, known=NOTHING)
    assert not list(into.parent.iterdir())


def test_refuses_a_ledger_whose_study_was_not_kept(ledger: Path, into: Path) -> None:
    shutil.rmtree(private_folder(ledger))

    with pytest.raises(BundleError, match="what was planned"):
        bundle.write(ledger, into, known=NOTHING)
    assert not list(into.parent.iterdir())


def test_refuses_a_field_that_the_ledger_does_not_have(ledger: Path, into: Path) -> None:
    with pytest.raises(BundleError, match="did you mean 'answer'"):
        bundle.write(ledger, into, known=NOTHING, opened=["answers"])
    assert not list(into.parent.iterdir())


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a figure": (
        lambda folder: spoil(folder / "summary.json", b'"spentUsd": "0', b'"spentUsd": "1'),
        "summary.json: budget: spentUsd",
    ),
    "the head": (lambda folder: spoil(folder / "HEAD", b":sha256:", b":sha256:0"), "HEAD is not"),
    "the ledger": (
        lambda folder: spoil(folder / "ledger.jsonl", b'"arm":"docs-mcp"', b'"arm":"docs-mpc"'),
        "broken at line",
    ),
    "a salt": (
        lambda folder: spoil(
            folder / "ledger.jsonl.private/openings.jsonl", b'"salt":"', b'"salt":"0'
        ),
        "summary.json",
    ),
}


def spoil(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    changed = data.replace(old, new, 1)
    path.write_bytes(changed)


@pytest.mark.parametrize(("change", "says"), SPOILED.values(), ids=SPOILED)
def test_a_stranger_catches_what_was_changed_in_a_bundle(
    ledger: Path, into: Path, change: Callable[[Path], object], says: str
) -> None:
    bundle.write(ledger, into, known=NOTHING)
    change(into)

    done = script(into)

    assert done.returncode == 1
    assert says in done.stderr


def test_a_re_chained_forgery_needs_a_head_from_elsewhere(ledger: Path, into: Path) -> None:
    """Who holds the bundle alone can be lied to whole; who saw the head cannot."""
    head = bundle.write(ledger, into, known=NOTHING).head
    ledgers.rewrite(into / "ledger.jsonl", lambda lines: lines[0].update(capUsd="9000"))
    shutil.rmtree(into / "ledger.jsonl.private")
    forged = verify(into / "ledger.jsonl").head
    (into / "HEAD").write_text(forged, "ascii")
    (into / "summary.json").unlink()

    assert script(into).returncode == 0
    assert "made anew would verify" in script(into).stdout
    assert script(into, "--head", head).returncode == 1


def test_a_secret_in_the_study_stops_the_bundle(into: Path, tmp_path: Path) -> None:
    """Written into the frozen folder by mistake; the file and the place are named, it is not."""
    token = "sk-" + "ant-api03-" + "aB3_" * 8
    path = reportable.ledger(tmp_path / "made", tasks=1, files=(("notes.md", f"x\n{token}\n"),))

    with pytest.raises(SecretFoundError) as caught:
        bundle.write(path, into, known=NOTHING)

    assert "ledger.jsonl.private/" in str(caught.value)
    assert "files.notes.md.text:2: a key of Anthropic" in str(caught.value)
    assert token not in str(caught.value)
    assert not list(into.parent.iterdir())


def test_a_place_that_somebody_looked_at_is_let_through_and_a_known_value_never(
    tmp_path: Path, into: Path
) -> None:
    """A frozen study cannot be changed for the sake of a pattern; a real key stays in."""
    home = "/ho" + "me/ada/notes"
    path = reportable.ledger(tmp_path / "made", tasks=1, files=(("notes.md", home),))
    with pytest.raises(SecretFoundError, match="--not-a-secret PLACE") as caught:
        bundle.write(path, into, known=NOTHING)
    places = [hit.rsplit(": ", 1)[0] for hit in caught.value.hits]

    known = Known({"MY_TOKEN": home})
    with pytest.raises(SecretFoundError, match="the value of MY_TOKEN"):
        bundle.write(path, into, known=known, waived=places)
    bundle.write(path, into, known=NOTHING, waived=places)
    assert script(into).returncode == 0


def test_a_secret_in_an_opened_answer_stops_the_bundle(ledger: Path, into: Path) -> None:
    """Of this run's variables, by the command; without the answer it goes through."""
    arguments = ("bundle", ledger, "--into", into)
    environment = {"SOME_API_KEY": "answer that is private"}

    done = call(*arguments, "--open", "answer", **environment)

    assert done.exit_code == 4
    assert "the value of SOME_API_KEY" in done.output
    assert "answer that is private" not in done.output
    assert not list(into.parent.iterdir())
    done = call(*arguments, **environment)
    assert done.exit_code == 0, done.output
    assert "SOME_API_KEY" in done.output


def test_the_command_says_what_it_opened_and_how_to_verify(ledger: Path, into: Path) -> None:
    done = call("bundle", ledger, "--into", into, "--open", "blindId")

    assert done.exit_code == 0, done.output
    head = verify(ledger).head
    assert "opened    blindId: 12 of 12" in done.output
    assert "withheld  answer: 12 of 12" in done.output
    assert "publication: not approved" in done.output
    assert f"verify.py --head {head}" in done.output


def test_a_variable_that_cannot_be_looked_for_is_refused(ledger: Path, into: Path) -> None:
    done = call("bundle", ledger, "--into", into, "--secret-env", "NOT_THERE")

    assert done.exit_code == 4
    assert "--secret-env NOT_THERE" in done.output
    assert not list(into.parent.iterdir())


@pytest.mark.parametrize("name", ["died", "eventful", "completed later", "judged, missing"])
def test_every_kind_of_ledger_can_be_published(tmp_path: Path, into: Path, name: str) -> None:
    path = tmp_path / "run.jsonl"
    publishing.LEDGERS[name](path)

    bundle.write(path, into, known=NOTHING)

    assert script(into).returncode == 0
    assert (into / "ledger.jsonl").read_bytes() == path.read_bytes()
