"""The command as its user meets it: sentences, exit codes, and nothing half written."""

from __future__ import annotations

import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from agent_trials import cli
from agent_trials.study import manifest
from agent_trials.workspace import git

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syrupy.assertion import SnapshotAssertion

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "bad_manifests"


def call(*arguments: str) -> Result:
    """Run the command in this process; what it does not catch itself is raised."""
    runner = CliRunner()
    return runner.invoke(cli.main, arguments, prog_name="agent-trials", catch_exceptions=False)


def edit(file: Path, old: str, new: str) -> None:
    """Change one thing in a file."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(each): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(here: Path) -> Path:
    """Return the folder of a sound study with its corpus, relative to the working directory."""
    shutil.copytree(EXAMPLE, here, dirs_exist_ok=True)
    pin = git.commit_folder(here / "handbook", here / "commit")
    shutil.rmtree(here / "commit")
    edit(Path("valid_study/study.toml"), "0123456789abcdef0123456789abcdef01234567", pin)
    return Path("valid_study")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that holds nothing but a new study."""
    folder = tmp_path_factory.mktemp("project")
    call("new", "mine", "--project", str(folder))
    return folder


@pytest.fixture(scope="module")
def rehearsal(project: Path) -> subprocess.CompletedProcess[str]:
    """Rehearse the new study's pilot once for all tests that look at what comes of it."""
    return pytest_in(project, "-m", "pilot")


def pytest_in(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the new study's items."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "evals/mine", *arguments, "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=project,
    )


# --- the command itself ---------------------------------------------------------------------------


def test_the_help_names_every_command(snapshot: SnapshotAssertion) -> None:
    assert call("--help").output == snapshot


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_commands_help_teaches_with_an_example(name: str) -> None:
    result = call(name, "--help")

    assert result.exit_code == 0
    assert re.search(rf"Examples?:\n +agent-trials {name} ", result.output)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_is_described_alike_by_itself_and_in_the_list(name: str) -> None:
    """The list is written without importing the commands, so it could go its own way."""
    command = cli.main.get_command(None, name)  # type: ignore[arg-type] # no context is looked at

    assert command is not None
    assert command.short_help == cli.COMMANDS[name][1]


def test_a_reader_that_has_enough_is_no_error(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``agent-trials check evals/* | head -1``: it ends without a word."""

    def closed(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(manifest, "load_all", closed)

    assert call("check", str(study)).stderr == ""


def test_a_mistyped_command_is_answered_with_the_nearest_one() -> None:
    result = call("freze", "x")

    assert result.exit_code == 2
    assert "no command 'freze'; did you mean 'freeze'?" in result.stderr
    assert "known are new, check, select, freeze" in call("zzz").stderr


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["--help"], "pydantic anthropic mcp xdist pytest scipy numpy"),
        (["check", "--help"], "anthropic mcp xdist pytest scipy numpy"),
        (["show", "--help"], "anthropic mcp xdist pytest scipy numpy"),
        (["verify", "--help"], "anthropic mcp xdist pytest scipy numpy"),
        (["new", "--help"], "anthropic mcp xdist pytest scipy numpy"),
        (["amend", "--help"], "anthropic mcp xdist pytest scipy numpy"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_starts_without_what_it_does_not_need(arguments: list[str], forbidden: str) -> None:
    code = (
        "import sys; from agent_trials.cli import main; main(sys.argv[1:], standalone_mode=False);"
        f" print([name for name in {forbidden.split()!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_what_the_disk_refuses_is_a_sentence(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a folder of somebody else's is no reason for a traceback."""

    def full(self: Path, target: Path) -> Path:  # noqa: ARG001 - the method's own signature
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", full)
    before = files(study)
    result = call("freeze", str(study))

    assert result.exit_code == 4
    assert result.stderr.endswith("No space left on device; nothing else was done\n")
    assert files(study) == before


# --- new ------------------------------------------------------------------------------------------


def test_a_new_study_has_neither_problems_nor_doubts(here: Path) -> None:
    made = call("new", "doc_bridge")
    checked = call("check", "evals/doc_bridge")

    assert made.exit_code == 0
    assert made.output.endswith("at no cost: pytest evals/doc_bridge -m pilot\n")
    assert sorted(each.name for each in (here / "evals/doc_bridge").iterdir()) == [
        "PROTOCOL.md",
        "key.toml",
        "study.toml",
        "test_doc_bridge.py",
    ]
    assert checked.exit_code == 0
    assert "0 problems, 0 doubts" in checked.output
    assert manifest.load(here / "evals/doc_bridge").manifest.id == "doc-bridge"


def test_a_new_study_rehearses_at_once(rehearsal: subprocess.CompletedProcess[str]) -> None:
    """The first thing that a user does after ``new``; no network, no key, no money."""
    assert rehearsal.returncode == 0, rehearsal.stdout + rehearsal.stderr
    assert "2 passed" in rehearsal.stdout
    assert "REHEARSAL" in rehearsal.stdout


def test_what_a_new_study_asks_for_can_be_graded(
    project: Path, rehearsal: subprocess.CompletedProcess[str]
) -> None:
    """Its adjudicator tells the right answer of its key from the wrong one."""
    assert rehearsal.returncode == 0
    [ledger] = (project / ".agent-trials").glob("*.jsonl")
    graded = pytest_in(project, "-m", "adjudicate", "--ledger", str(ledger))

    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert "2 passed" in graded.stdout


def test_new_leaves_nothing_behind_when_it_fails(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pin is git's to compute, and here there is no git."""
    monkeypatch.setenv("PATH", "")
    result = call("new", "mine")

    assert result.exit_code == 4
    assert "git" in result.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("place", ["evals/mine", "fixtures/mine"])
def test_new_overwrites_nothing_and_writes_nothing_half(here: Path, place: str) -> None:
    (here / place).mkdir(parents=True)
    (here / place / "own.txt").write_text("own")
    before = files(here)
    result = call("new", "mine")

    assert result.exit_code == 4
    assert f"{place}: it is there already; choose another name, or remove it" in result.stderr
    assert files(here) == before


@pytest.mark.parametrize("name", ["", "Mine", "1st", "a__b", "../up", "a b", "a.b", "x" * 65])
def test_new_refuses_a_name_that_no_study_can_have(here: Path, name: str) -> None:
    result = call("new", name)

    assert result.exit_code == 4
    assert f"{name!r}: no name for a study; write up to 64 lower-case letters" in result.stderr
    assert list(here.iterdir()) == []


def test_a_hyphen_in_a_name_is_an_underscore_in_the_folder(here: Path) -> None:
    call("new", "doc-bridge", "--project", str(here))

    assert (here / "evals/doc_bridge/test_doc_bridge.py").is_file()


# --- check ----------------------------------------------------------------------------------------


def test_check_says_what_it_looked_at(study: Path) -> None:
    result = call("check", str(study))

    assert result.exit_code == 0
    assert "full: 12 attempts, 6 pairs of 2 arms, 2 tasks, reserves 1.2 USD in all" in result.output
    assert "smallest two-sided sign-flip p 0.5" in result.output
    assert "corpus handbook: 2 files, searched for the key" in result.output


def test_check_misses_the_file_in_which_pytest_finds_the_attempts(study: Path) -> None:
    """A run would open a ledger and find nothing to do."""
    module = study / f"test_{study.name}.py"
    module.unlink(missing_ok=True)
    result = call("check", str(study))

    assert result.exit_code == 1
    assert f"problem: {module}: it is not there, so pytest would find none" in result.output


def test_check_says_every_problem_and_doubt_at_once(
    study: Path, snapshot: SnapshotAssertion
) -> None:
    corpus = study.parent / "handbook"
    edit(study / "study.toml", 'arm_order = "alternate"', 'arm_order = "fixed"')
    edit(study / "study.toml", "minimum_difference", "minimum_diference")
    edit(study / "key.toml", "quoted = true", "quoted = false")
    edit(study / "key.toml", "docs/usage.md", "docs/use.md")
    shutil.copy(study / "key.toml", corpus / "docs/notes.md")
    (study / "PROTOCOL.md").unlink()
    result = call("check", str(study))

    assert result.exit_code == 1
    assert re.sub("[0-9a-f]{40,}", "HEX", result.output) == snapshot


def test_check_says_what_does_not_fit_and_where(study: Path) -> None:
    edit(study / "study.toml", 'arm_order = "alternate"', 'arm_order = "alternat"')
    result = call("check", str(study), str(study))

    assert result.exit_code == 1
    assert "schedule.arm_order: 'alternat' is not known; did you mean 'alternate'?" in result.output


def test_check_leaves_a_corpus_elsewhere_to_the_dry_run(study: Path) -> None:
    edit(study / "study.toml", 'url = "../handbook"', 'url = "https://example.org/handbook"')

    assert "corpus handbook: at its pin only; a dry run with --root handbook=DIR looks" in (
        call("check", str(study)).output
    )


def test_check_shows_what_changed_since_the_freeze(study: Path) -> None:
    call("freeze", str(study))
    edit(study / "study.toml", 'title = "', 'title = "New: ')
    result = call("check", str(study))

    assert result.exit_code == 0
    assert "(frozen)" in result.output
    assert "changed since then: study.toml: title (a paid run needs agent-trials" in result.output


def test_check_writes_nothing(study: Path) -> None:
    before = files(study.parent)
    call("check", str(study))

    assert files(study.parent) == before


@pytest.mark.parametrize("name", ["check", "freeze", "amend"])
def test_a_folder_that_is_not_there_is_a_wrong_command_line(here: Path, name: str) -> None:
    assert here.is_dir()
    result = call(name, "nowhere", *(["--reason", "x"] if name == "amend" else []))

    assert result.exit_code == 2
    assert "Directory 'nowhere' does not exist" in result.stderr


# --- freeze and amend -----------------------------------------------------------------------------


def test_freeze_names_the_series(study: Path) -> None:
    result = call("freeze", str(study))

    assert result.exit_code == 0
    assert "valid_study is frozen; commit valid_study/study.lock.json" in result.output
    assert re.search(r"^series sha256:[0-9a-f]{64}$", result.output, re.MULTILINE)


def test_freeze_refuses_a_study_whose_corpus_gives_the_answers(study: Path) -> None:
    """Frozen, it could only be amended, and the first paid run would already be spoilt."""
    edit(study / "key.toml", "quoted = true", "quoted = false")
    result = call("freeze", str(study))

    assert result.exit_code == 4
    assert "refused, nothing was written" in result.stderr
    assert "docs/install.md:3: the corpus holds tasks.install-command" in result.stderr
    assert not (study / "study.lock.json").exists()


def test_amend_says_what_it_recorded(study: Path) -> None:
    call("freeze", str(study))
    edit(study / "study.toml", 'title = "', 'title = "New: ')
    result = call("amend", str(study), "--reason", "a clearer title")

    assert result.exit_code == 0
    assert result.output.splitlines()[:2] == [
        "changed: study.toml: title",
        "valid_study is amended (A1); commit its lock and its protocol",
    ]


def test_amend_refuses_in_a_sentence(study: Path) -> None:
    call("freeze", str(study))
    before = files(study)
    result = call("amend", str(study), "--reason", "none")

    assert result.exit_code == 4
    assert "nothing changed since the last entry of the lock" in result.stderr
    assert files(study) == before


def test_amend_says_that_it_begins_a_new_series(study: Path) -> None:
    call("freeze", str(study))
    series = manifest_series(study)
    record = {
        "at": "t",
        "capUsd": "1",
        "event": "opened",
        "phase": "full",
        "runId": "ab",
        "scored": True,
        "seriesId": series,
    }
    (study / "study.ledgers.jsonl").write_text(json.dumps(record) + "\n")
    edit(study / "study.toml", "Where do the settings", "Where are the settings")
    result = call("amend", str(study), "--reason", "clearer")

    assert result.exit_code == 0
    assert "begins a new series, because scored attempts are on record and the change touches:" in (
        result.output
    )
    assert f"supersedes {series}" in result.output


def manifest_series(study: Path) -> str:
    """Return the series id of the lock's first entry."""
    lock = json.loads((study / "study.lock.json").read_text())
    return str(lock["entries"][0]["folderDigest"])


# --- show and verify ------------------------------------------------------------------------------


@pytest.fixture
def ledger(project: Path, rehearsal: subprocess.CompletedProcess[str], tmp_path: Path) -> Path:
    """Return a copy of the rehearsed ledger with what stands beside it."""
    assert rehearsal.returncode == 0
    (rehearsed,) = (project / ".agent-trials").glob("*.jsonl")
    for each in rehearsed.parent.iterdir():
        if each.is_dir():
            shutil.copytree(each, tmp_path / each.name)
        else:
            shutil.copy(each, tmp_path / each.name)
    return tmp_path / rehearsed.name


def test_show_in_words_and_as_json(ledger: Path) -> None:
    words, shown = call("show", str(ledger)), json.loads(call("show", str(ledger), "--json").output)

    assert words.exit_code == 0
    assert words.output.startswith("REHEARSAL: pilot of mine over http")
    assert shown["run"]["mode"] == "rehearsal"
    assert [each["status"] for each in shown["observations"]] == ["completed", "completed"]
    assert words.output.endswith(f"head    {shown['head']}\n")


def test_a_ledger_that_verifies_says_its_head_and_what_that_does_not_prove(ledger: Path) -> None:
    head = json.loads(call("show", str(ledger), "--json").output)["head"]
    with_head, without = call("verify", str(ledger), "--head", head), call("verify", str(ledger))

    assert (with_head.exit_code, without.exit_code) == (0, 0)
    assert f"head {head}" in with_head.output
    assert "no published head was given" in without.output
    assert "no published head" not in with_head.output


@pytest.mark.parametrize("name", ["show", "verify"])
def test_a_ledger_that_does_not_verify_is_exit_code_1_with_the_line(
    ledger: Path, name: str
) -> None:
    content = ledger.read_bytes()
    ledger.write_bytes(content.replace(b'"completed"', b'"failed"', 1))
    result = call(name, str(ledger))

    assert result.exit_code == 1
    assert re.match(r"ledger broken at line \d+: ", result.stderr)


def test_a_tail_dropped_after_the_head_was_published_is_found(ledger: Path) -> None:
    head = json.loads(call("show", str(ledger), "--json").output)["head"]
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    result = call("verify", str(ledger), "--head", head)

    assert result.exit_code == 1
    assert "lines are missing from here on" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["nowhere"], ["{ledger}", "--head", "x"]], ids=["file", "head"]
)
def test_what_cannot_be_verified_at_all_is_refused(ledger: Path, arguments: Iterable[str]) -> None:
    result = call("verify", *(each.format(ledger=ledger) for each in arguments))

    assert result.exit_code == 4
    assert len(result.stderr.splitlines()) == 1


def test_selects_tasks_and_writes_their_lock_once(tmp_path: Path) -> None:
    lock = tmp_path / "tasks.lock.json"
    rows = EXAMPLE.parent / "swebench" / "verified_instances.jsonl"
    first = call("select", str(rows), "--n", "2", "--into", str(lock), "--harness-version", "5.0.2")
    again = call("select", str(rows), "--n", "3", "--into", str(lock))

    assert first.output.splitlines()[:2] == ["astropy__astropy-12907", "django__django-10097"]
    assert "sha256-of-text-with-newline sha256:" in first.output
    assert json.loads(lock.read_text("utf-8"))["pins"]["harness_version"] == "5.0.2"
    assert again.exit_code == 4
    assert "a lock is never made again" in again.output
    assert "django" not in again.output


def test_select_refuses_a_list_that_is_too_short(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"instance_id": "a__b-1", "repo": "a/b"}\n', "utf-8")
    ran = call("select", str(rows), "--into", str(tmp_path / "lock"))

    assert ran.exit_code == 4
    assert "it has fewer instances (1) than --n 15" in ran.output
    assert not (tmp_path / "lock").exists()
