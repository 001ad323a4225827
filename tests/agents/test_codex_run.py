"""A run of the Codex adapter against a program that stands for the CLI."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import codex, codex_run, provider_reply
from agent_trials.agents.codex_options import Options
from agent_trials.agents.provider_cli import ProviderCli
from agent_trials.agents.provider_request import Job
from agent_trials.records import AttemptRequest, SealedCorpus, Status
from agent_trials.study import providers
from agent_trials.study.settings import ProviderSettings
from codex_recordings import recording
from fake_codex import FakeCodex, answer, install, stream

if TYPE_CHECKING:
    from agent_trials.agents.codex_run import Outcome

REQUEST = {"objective": "Where is the installer?", "task": {"taskId": "t", "repositoryId": "r"}}
WELL = stream(answer())
RECORDED = (
    "success-shell", "schema-violation", "web-search", "mcp-required-failed", "no-usage",
    "api-error-after-tools", "refusal", "budget-reached", "missing-key", "sandbox-broken-invisible",
)  # fmt: skip


@dataclass
class Desk:
    """A folder, an environment and options around a fake."""

    tmp: Path
    fake: FakeCodex

    @property
    def environment(self) -> dict[str, str]:
        """Return the adapter's own."""
        return {
            "PATH": f"{self.tmp}:/usr/bin:/bin",
            "HOME": str(self.tmp),
            "TMPDIR": str(self.tmp / "tmp"),
            "THE_KEY": "the-value-of-the-key",
            "OTHER": "x",
        }

    @property
    def options(self) -> Options:
        """Return those of a run of the fake."""
        return Options(
            model="gpt-5.5",
            codex=self.fake.program,
            version="0.171.0",
            effort="medium",
            base_url="http://127.0.0.1:9/v1",
            key_variable="THE_KEY",
            sandbox="workspace",
            homes=self.tmp / "homes",
            timeout_seconds=60,
        )

    def run(self, environment: dict[str, str] | None = None, **changes: Any) -> Outcome:  # noqa: ANN401 - fields of the options
        """Return what a run came to."""
        options = replace(self.options, **changes)
        given = self.environment if environment is None else environment
        return codex_run.run(REQUEST, options, given, self.tmp / "work")


def desk(tmp: Path, **behaviour: Any) -> Desk:  # noqa: ANN401 - of the fake
    (tmp / "tmp").mkdir()
    (tmp / "work").mkdir()
    return Desk(tmp, install(tmp / "cli", **behaviour))


def read(outcome: Outcome) -> provider_reply.Reply:
    return provider_reply.read(json.dumps(outcome.reply).encode())


def test_a_completed_run_is_a_reply_of_the_contract(tmp_path: Path) -> None:
    measured = json.loads(answer())["measurements"] | {"searchHitRate": 0.5}
    made = desk(tmp_path, stdout=stream(answer(measurements=measured)))
    outcome = made.run()
    reply = read(outcome)

    assert outcome.completed
    assert reply.declared is None
    assert (reply.input_tokens, reply.cached_input_tokens, reply.output_tokens) == (4000, 1000, 120)
    assert (reply.counted_by, reply.answer) == ("provider", "See README.md:1.")
    assert reply.reported == {
        "taskOutcome": "success",
        "evidenceQuality": "high",
        "safetyOutcome": "safe",
        "clarificationRequests": 0,
        "reworkCount": 0,
        "toolCalls": 0,
        "evidenceIds": ["readme:1"],
    }
    assert outcome.reply["firstEvidenceLatencyMs"] is None
    assert set(reply.measurements) == {
        "searchHitRate", "observedToolEventCount", "observedToolInputBytes",
        "observedToolOutputBytes", "observedProviderInputBytes", "observedAgentMessageBytes",
        "observedContextBytes", "observedProviderDurationMs", "reasoningOutputTokens",
    }  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_adapter_says_of_a_recording_is_valid_and_never_too_good(
    name: str, tmp_path: Path
) -> None:
    """Their answers fit no schema of ours, so none may come out as completed."""
    recorded = recording(name)
    made = desk(
        tmp_path,
        stdout=recorded.stdout,
        stderr=recorded.stderr,
        exit_code=recorded.entry["exit_code"],
    )
    outcome = made.run()
    reply = read(outcome)

    assert not outcome.completed
    assert reply.declared is not None
    expected = recorded.entry["expected"]
    if expected not in {"completed", "invalid-setup", "invalid-cost"}:
        assert reply.declared.status.value == expected
    if recorded.entry["reported_usage"] is None:
        assert reply.counted_by is None
    assert reply.answer is None


def test_the_process_gets_an_allowlist_and_a_home_that_is_gone_afterwards(tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL)
    made.run()
    found = made.fake.environment

    home = Path(found.pop("HOME"))
    assert home.is_relative_to(tmp_path / "homes")
    assert found.pop("CODEX_HOME") == str(home / ".codex")
    found = {name: each for name, each in found.items() if name not in {"PWD", "_", "SHLVL"}}
    assert found == {
        "PATH": made.environment["PATH"],
        "TMPDIR": made.environment["TMPDIR"],
        "THE_KEY": "the-value-of-the-key",
    }
    assert list((tmp_path / "homes").iterdir()) == []


def test_nothing_that_was_read_or_run_is_in_the_reply_or_the_log(tmp_path: Path) -> None:
    """Bytes and durations only; the answer alone is text, and the harness keeps it private."""
    item = {
        "id": "item_1", "type": "command_execution", "command": "cat private-path.txt",
        "aggregated_output": "private content", "exit_code": 0, "status": "completed",
    }  # fmt: skip
    broken = desk(tmp_path, stdout=stream("private answer", item))
    outcome = broken.run()

    said = json.dumps(outcome.reply) + "".join(outcome.logs)
    assert "private" not in said
    assert outcome.logs == ("codex exec: failed answer-not-json",)


PREFLIGHT: list[tuple[dict[str, Any], dict[str, Any], dict[str, str], str]] = [
    ({"version": "codex-cli 0.172.0"}, {}, {}, "reports codex-cli 0.172.0, and 0.171.0 is pinned"),
    ({"version": "0.171.0"}, {}, {}, "and 0.171.0 is pinned"),
    ({"sandbox_code": 1, "sandbox_stderr": "bwrap: No permissions"}, {}, {}, "bwrap: No perm"),
    ({"sandbox_stderr": "WARNING: could not create PATH aliases: x"}, {}, {}, "no command can run"),
    ({}, {"codex": "not-there"}, {}, "not-there is no executable; install it: npm install"),
    ({}, {}, {"THE_KEY": ""}, "THE_KEY: it is not set, or empty"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("behaviour", "changes", "variables", "why"),
    PREFLIGHT,
    ids=["version", "no name", "sandbox", "aliases", "missing", "key"],
)
def test_what_speaks_against_a_run_is_found_before_it(
    behaviour: dict[str, Any],
    changes: dict[str, Any],
    variables: dict[str, str],
    why: str,
    tmp_path: Path,
) -> None:
    made = desk(tmp_path, stdout=WELL, **behaviour)
    outcome = made.run({**made.environment, **variables}, **changes)

    assert not made.fake.was_asked
    assert outcome.reply == {
        "execution": {"status": "invalid-setup", "problems": ["preflight-failed"]}
    }
    assert why in "\n".join(outcome.logs)


@pytest.mark.parametrize("inside", ["tmp", "tmp/deep/er"])
def test_a_home_below_the_temporary_folder_is_refused(inside: str, tmp_path: Path) -> None:
    """The CLI goes on there, and every command fails without a trace in its stream."""
    made = desk(tmp_path, stdout=WELL)
    outcome = made.run(homes=tmp_path / inside)

    assert not made.fake.was_asked
    assert "is below the temporary folder" in outcome.logs[0]


def test_a_home_that_commands_could_write_is_refused(tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL)
    outcome = made.run(sandbox="workspace-write", homes=Path("/tmp/h"))  # noqa: S108 - the rule's own

    assert "which this sandbox lets commands write" in outcome.logs[0]


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL)
    outcome = made.run({"PATH": "/bin", "TMPDIR": str(tmp_path)}, codex="not-there")

    assert len(outcome.logs) == 3


def program(folder: Path, text: str) -> str:
    made = folder / "handoff"
    made.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    made.chmod(0o755)
    return str(made)


def test_the_handoff_reaches_the_model_in_one_line(tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL)
    script = """printf '{\\n "startHere": "%s",\\n "of": "%s"\\n}' "$1" "$2"; pwd >seen"""
    outcome = made.run(handoff=(program(tmp_path, script), "{task}", "{repository}"))

    assert outcome.completed
    assert '\n{"startHere":"t","of":"r"}\n' in made.fake.prompt
    assert "Begin at the paths in its startHere and readBeforeEditing" in made.fake.prompt
    assert (tmp_path / "work" / "seen").exists()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 3", "ended with code 3"),
        ("echo '{}'", "no JSON object with startHere"),
        ("sleep 60", "took too long"),
        ("yes", "printed too much"),
    ],
)
def test_an_arm_whose_handoff_failed_is_not_run(script: str, why: str, tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL)
    words = (program(tmp_path, script),)
    outcome = made.run(handoff=words, handoff_seconds=1 if "sleep" in script else 30)

    assert not made.fake.was_asked
    assert outcome.reply["execution"] == {"status": "invalid-setup", "problems": ["handoff-failed"]}
    assert why in outcome.logs[0]


def test_a_run_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    made = desk(tmp_path, stdout=WELL[:120], hang=True)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(made.fake.wait_until_asked)
        outcome = made.run(timeout_seconds=2)
    reply = read(outcome)

    assert reply.declared is not None
    assert reply.declared.status is Status.TIMED_OUT
    assert reply.counted_by is None


def command(made: Desk, *arguments: str) -> tuple[str, ...]:
    return (
        *(sys.executable, "-I", "-m", "agent_trials.agents.codex", "--model", "gpt-5.5"),
        *("--codex", made.fake.program, "--key", "THE_KEY"),
        *("--homes", str(made.tmp / "homes"), *arguments),
    )


def test_what_the_operator_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C, and the harness's own first step at a deadline."""
    made = desk(tmp_path, stdout=WELL[:120], hang=True)
    with subprocess.Popen(
        command(made),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path / "work",
        env=made.environment,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(json.dumps(REQUEST).encode())
        running.stdin.close()
        running.stdin = None
        made.fake.wait_until_asked()
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=30)

    assert (running.returncode, said) == (1, b"")
    assert list((tmp_path / "homes").iterdir()) == []


def test_the_harness_sees_the_handoff_s_program_run(tmp_path: Path) -> None:
    """Found on PATH it is one of those that the harness watches in every arm."""
    made = desk(tmp_path, stdout=WELL)
    program(tmp_path, """printf '{"startHere":"a.md"}'""")
    job = Job(
        argv=command(made, "--handoff", '["handoff"]'),
        allowlist=("THE_KEY",),
        request=json.dumps(REQUEST).encode(),
        output_bytes=50_000,
        rates=None,
        expected=("handoff",),
        watched=("handoff",),
        digest="sha256-normalized-v1:0",
        network=False,
    )
    request = AttemptRequest(
        transport="provider",
        transport_settings=ProviderSettings(timeout_seconds=60),
        model="gpt-5.5",
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, tmp_path / "work", "sha256:0", ()),
        mcp_servers=(),
        provider=job,
    )
    seen = ProviderCli(made.environment).ask(request, tmp_path / "work").observation

    assert (seen.status, seen.problems) == (Status.COMPLETED, ())
    assert seen.treatment_evidence is not None
    assert seen.treatment_evidence["succeeded"] == {"handoff": 1}


def test_the_documented_configuration_is_one(tmp_path: Path) -> None:
    """Its file fits, and each of its commands is a command line of the adapter."""
    text = (Path(__file__).parents[2] / "docs/codex.md").read_text("utf-8")
    file = tmp_path / "codex.json"
    file.write_text(text.split("```json\n", 1)[1].split("```", 1)[0], "utf-8")
    configuration = providers.load(file, must_be_fresh=False)

    for provider in configuration.providers:
        assert provider.args[:3] == ("-I", "-m", "agent_trials.agents.codex")
        parsed = codex.command.make_context("codex", list(provider.args[3:])).params
        assert parsed["model"] == provider.modelId
        assert (parsed["mcp"] is not None) == ("docs-mcp" in provider.scenarioIds)


def test_the_module_is_a_provider_command(tmp_path: Path) -> None:
    """One object on standard output, logs elsewhere; a corpus shadows none of its modules."""
    made = desk(tmp_path, stdout=WELL)
    (tmp_path / "work" / "click.py").write_text("raise SystemExit(9)", "utf-8")
    ran = subprocess.run(
        command(made),
        input=json.dumps(REQUEST).encode(),
        cwd=tmp_path / "work",
        env=made.environment,
        capture_output=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, b"codex exec: completed\n")
    assert provider_reply.read(ran.stdout).answer == "See README.md:1."
