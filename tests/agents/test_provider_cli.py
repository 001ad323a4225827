"""A provider command gets what it is given and nothing else, and whatever it does has a status."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
from agent_trials import canonical
from agent_trials.agents.provider_claims import DECLARABLE
from agent_trials.agents.provider_cli import ProviderCli
from agent_trials.agents.provider_request import Job
from agent_trials.ledger.chain import LINE_BYTES
from agent_trials.records import AttemptRequest, AttemptResult, SealedCorpus, Status
from agent_trials.study.settings import ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(fake_cli.__file__).with_name("fake_provider.py")
ARGV = (sys.executable, "-IS", str(SCRIPT))
RATES = (Decimal(1), Decimal("0.5"), Decimal(3))


@pytest.fixture
def operator(tmp_path: Path) -> dict[str, str]:
    """The operator's environment, with a tool on its PATH and a key."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, does in (
        ("docs-tool", "exit 0"),
        ("broken-tool", "exit 3"),
        ("docs-server", "echo up; read line"),
    ):
        tool = programs / name
        tool.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        tool.chmod(0o755)
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "A_KEY": "the-value-of-a-key",
        "PYTEST_CURRENT_TEST": "tests/x.py::test",
        "STUDY_BUDGET_USD": "1",
    }


def ask(
    operator: dict[str, str],
    folder: Path,
    behaviour: dict[str, Any],
    settings: ProviderSettings | None = None,
    **changes: Any,  # noqa: ANN401 - fields of a job
) -> AttemptResult:
    """Run one attempt of the fake with this behaviour."""
    job = Job(
        argv=(*ARGV, json.dumps(behaviour)),
        allowlist=(),
        request='{"objective":"Wo läuft der 🐇?"}'.encode(),
        output_bytes=10_000,
        rates=None,
        expected=(),
        watched=(),
        digest="sha256-normalized-v1:0",
        network=False,
    )
    request = AttemptRequest(
        transport="provider",
        transport_settings=settings or ProviderSettings(timeout_seconds=20),
        model="reference-model",
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, folder, "sha256:0", ()),
        mcp_servers=(),
        provider=replace(job, **changes),
    )
    return ProviderCli(operator).ask(request, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The attempt's export."""
    made = tmp_path / "w-0123"
    made.mkdir()
    return made


def test_a_reply_is_a_completed_attempt(operator: dict[str, str], folder: Path) -> None:
    result = ask(operator, folder, {}, rates=RATES)

    seen = result.observation
    assert (seen.status, seen.problems) == (Status.COMPLETED, ())
    assert (seen.input_tokens, seen.output_tokens) == (100, 10)
    assert seen.total_input_tokens == 100
    assert seen.cost_usd == Decimal("0.00013")
    assert seen.cost_basis == "configured-rates"
    assert seen.charged_usd == Decimal("0.1")
    assert seen.provider is not None
    assert seen.provider["providerTokenCostUnits"] == 110
    assert seen.provider["selfReported"] == {"taskOutcome": "success"}
    assert result.private["answer"] == "See README.md:1."
    assert result.artifacts["stderr"] == b"a log\n"


def test_it_gets_the_request_its_folder_and_an_allowlist(
    operator: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    records = tmp_path / "records"

    ask(operator, folder, {"record": str(records)}, allowlist=("A_KEY", "NOT_SET"))

    seen = json.loads(records.read_text(encoding="utf-8"))
    assert seen["request"] == {"objective": "Wo läuft der 🐇?"}
    assert seen["folder"] == str(folder)
    environment = seen["environment"]
    environment.pop("LC_CTYPE", None)  # Python's own
    assert set(environment) == {"PATH", "HOME", "TMPDIR", "A_KEY"}
    assert environment["TMPDIR"] != str(tmp_path)


def test_the_value_of_an_allowed_variable_is_blotted_out(
    operator: dict[str, str], folder: Path
) -> None:
    reply = json.dumps({"answer": "my key is the-value-of-a-key"})

    result = ask(operator, folder, {"write": reply}, allowlist=("A_KEY",))

    assert "the-value-of-a-key" not in str(result.private)
    assert b"the-value-of-a-key" not in result.artifacts["transcript"]


@pytest.mark.parametrize("escape", [json.dumps, lambda text: json.dumps(text).replace("/", "\\/")])
def test_a_value_is_blotted_out_as_json_writes_it(
    operator: dict[str, str], folder: Path, escape: Callable[[str], str]
) -> None:
    value = 'a"quote\\and/ü'

    result = ask(
        operator | {"A_KEY": value}, folder, {"write": f'{{"answer":{escape(value)}}}'},
        allowlist=("A_KEY",),
    )  # fmt: skip

    assert set(result.private["answer"]) == {"*"}
    assert b"quote" not in result.artifacts["transcript"]


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        ({"exit": 3}, Status.FAILED, "non-zero-exit"),
        ({"write": "{}{}"}, Status.FAILED, "two-objects"),
        ({"write": "{} ok"}, Status.FAILED, "trailing-text"),
        ({"write": '{"measurements":{"x":NaN}}'}, Status.FAILED, "non-finite-number"),
        ({"flood": 20_000}, Status.FAILED, "output-limit"),
        ({"write": ""}, Status.FAILED, "no-output"),
        ({"pieces": [[0x7B, 0x22, 0xE2]]}, Status.FAILED, "invalid-utf-8"),
    ],
    ids=[
        "exit code",
        "two objects",
        "trailing text",
        "nan",
        "flood",
        "silence",
        "half a character",
    ],
)
def test_what_is_no_reply_fails_and_keeps_its_reservation(
    operator: dict[str, str], folder: Path, behaviour: dict[str, Any], status: Status, code: str
) -> None:
    result = ask(operator, folder, behaviour)

    assert (result.observation.status, result.observation.problems) == (status, (code,))
    assert result.observation.charged_usd == Decimal("0.1")
    assert "answer" not in result.private


def test_the_largest_reply_fits_a_line_of_the_ledger(
    operator: dict[str, str], folder: Path
) -> None:
    """A reply that no line can hold would leave its attempt unsettled and end the run."""
    reply = {
        "taskOutcome": "incorrect", "evidenceQuality": "medium", "safetyOutcome": "not-applicable",
        "evidenceIds": ["e" * 256] * 128,
        "clarificationRequests": 10**15, "reworkCount": 10**15, "toolCalls": 10**15,
        "firstEvidenceLatencyMs": 10**15, "inputTokens": 10**15, "cachedInputTokens": 10**14,
        "outputTokens": 10**15, "tokenMethod": "provider",
        "measurements": {f"m{n:063}": 0.12345678901234567 for n in range(128)},
        "execution": {"status": "failed", "problems": [f"p{n:063}" for n in range(32)]},
        "servers": {
            f"s{n:063}": {"ready": True, "calls": 999_999, "answered": 999_999} for n in range(16)
        },
    }  # fmt: skip

    result = ask(operator, folder, {"write": json.dumps(reply)}, output_bytes=256_000)

    assert result.observation.provider is not None
    assert len(result.observation.provider["measurements"]) == 128
    assert len(canonical.dumps(result.observation.to_json())) < LINE_BYTES - 4096


def test_a_character_may_come_in_two_pieces(operator: dict[str, str], folder: Path) -> None:
    whole = json.dumps({"answer": "ä"}, ensure_ascii=False).encode()
    at = whole.index("ä".encode()) + 1

    result = ask(operator, folder, {"pieces": [list(whole[:at]), list(whole[at:])]})

    assert result.private["answer"] == "ä"


def test_who_does_not_listen_blocks_nothing(operator: dict[str, str], folder: Path) -> None:
    """The request is larger than any pipe, and nobody reads it."""
    result = ask(operator, folder, {"deaf": True}, request=b" " * 2_000_000)

    assert result.observation.status is Status.COMPLETED


def test_the_deadline_ends_it(operator: dict[str, str], folder: Path) -> None:
    result = ask(operator, folder, {"hang": True}, ProviderSettings(timeout_seconds=1))

    assert result.observation.status is Status.TIMED_OUT
    assert result.observation.problems == ("timeout",)
    assert result.observation.charged_usd == Decimal("0.1")


def test_a_command_that_is_gone_is_recorded_as_unavailable(
    operator: dict[str, str], folder: Path
) -> None:
    result = ask(operator, folder, {}, argv=("/nowhere/at/all",))

    assert result.observation.problems == ("unavailable",)
    assert result.observation.charged_usd == Decimal("0.1")


def test_more_tokens_than_allowed_are_a_passed_budget(
    operator: dict[str, str], folder: Path
) -> None:
    settings = ProviderSettings(timeout_seconds=20, max_tokens=109)

    result = ask(operator, folder, {}, settings)

    assert result.observation.status is Status.BUDGET_EXCEEDED
    assert result.observation.problems == ("token-budget",)


def test_estimates_are_labelled_and_never_combined(operator: dict[str, str], folder: Path) -> None:
    reply = json.dumps({"inputTokens": 7, "outputTokens": 3, "tokenMethod": "estimate"})

    seen = ask(operator, folder, {"write": reply}, rates=RATES).observation

    assert (seen.input_tokens, seen.output_tokens, seen.cost_usd) == (None, None, None)
    assert seen.provider is not None
    assert seen.provider["estimates"]["inputTokens"] == 7
    assert seen.provider["providerTokenCostUnits"] is None


@pytest.mark.parametrize(
    ("run", "expected", "codes"),
    [
        (["docs-tool"], ("docs-tool",), ()),
        ([], ("docs-tool",), ("treatment-not-seen",)),
        (["broken-tool"], ("broken-tool",), ("treatment-not-seen",)),
        (["docs-tool"], (), ("treatment-in-another-arm",)),
        ([], (), ()),
        ([], ("absent-tool",), ("treatment-unavailable", "treatment-not-seen")),
    ],
    ids=["ran", "did not run", "failed", "ran in the control", "control", "is not installed"],
)
def test_an_arm_is_what_its_programs_show(
    operator: dict[str, str], folder: Path, run: list[str], expected: tuple[str, ...],
    codes: tuple[str, ...],
) -> None:  # fmt: skip
    """A scenario's label proves nothing: a reply that claims success changes no status."""
    watched = tuple(sorted({"docs-tool", "broken-tool", *expected}))

    seen = ask(operator, folder, {"run": run}, expected=expected, watched=watched).observation

    assert seen.problems == codes
    assert seen.status is (Status.INVALID_SETUP if codes else Status.COMPLETED)
    assert seen.treatment_evidence is not None
    assert seen.treatment_evidence["started"] == {name: run.count(name) for name in watched}


READY = {"docs": {"ready": True, "calls": 2, "answered": 1}}


@pytest.mark.parametrize(
    ("behaviour", "problems"),
    [
        ({"serve": ["docs-server"], "write": json.dumps({"servers": READY})}, ()),
        ({"serve": ["docs-server"]}, ("treatment-not-seen",)),
        ({"write": json.dumps({"servers": READY})}, ("treatment-not-seen",)),
        (
            {"run": ["broken-tool"], "write": json.dumps({"servers": READY})},
            ("treatment-not-seen", "treatment-in-another-arm"),
        ),
    ],
    ids=["seen by both", "not ready", "never started", "another that failed"],
)
def test_a_server_that_its_client_ended_was_there_if_both_saw_it(
    operator: dict[str, str], folder: Path, behaviour: dict[str, Any], problems: tuple[str, ...]
) -> None:
    """The command's word alone shows nothing, nor does a program that was only started."""
    result = ask(
        operator,
        folder,
        behaviour,
        expected=("docs-server",),
        watched=("docs-server", "broken-tool"),
    )

    seen = result.observation
    assert seen.problems == problems
    assert seen.treatment_evidence is not None
    told = READY if "write" in behaviour else None
    assert seen.treatment_evidence.get("reportedServers") == told


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("status", DECLARABLE)
def test_a_command_may_say_how_its_attempt_failed(
    operator: dict[str, str], folder: Path, status: Status, code: int
) -> None:
    """What it spent is known then, and the reason; it is charged all the same."""
    told = {"status": status.value, "problems": ["foreign-tool"]}
    reply = {"execution": told, "inputTokens": 9, "outputTokens": 1, "tokenMethod": "provider"}
    settings = ProviderSettings(timeout_seconds=20, charge="priced")

    result = ask(
        operator, folder, {"write": json.dumps(reply), "exit": code}, settings, rates=RATES
    )

    seen = result.observation
    assert (seen.status, seen.problems) == (status, (f"declared-{status.value}",))
    assert seen.provider is not None
    assert seen.provider["declared"] == told
    assert (seen.input_tokens, seen.charged_usd) == (9, Decimal("0.1"))


@pytest.mark.parametrize(
    "reply",
    ['{"inputTokens":9,"outputTokens":1,"tokenMethod":"provider"}', '{"execution":{}}', "no"],
    ids=["a plain reply", "an unclear word", "no reply"],
)
def test_a_failed_command_that_does_not_say_how_says_nothing(
    operator: dict[str, str], folder: Path, reply: str
) -> None:
    result = ask(operator, folder, {"write": reply, "exit": 3})

    seen = result.observation
    assert (seen.status, seen.problems) == (Status.FAILED, ("non-zero-exit",))
    assert seen.input_tokens is None


def test_what_the_harness_gave_is_evidence_too(operator: dict[str, str], folder: Path) -> None:
    given = ask(operator, folder, {}, handoff_bytes=120).observation.treatment_evidence
    none = ask(operator, folder, {}).observation.treatment_evidence

    assert given is not None
    assert none is not None
    assert given["handoffBytes"] == 120
    assert "handoffBytes" not in none


@pytest.mark.parametrize(
    "does",
    ["os.mkdir(log)", "os.mkfifo(log)", "os.symlink('/dev/zero', log)", "os.chmod(top, 0)"],
    ids=["a folder", "a pipe", "a device", "a folder that cannot be read"],
)
def test_a_log_that_was_tampered_with_shows_nothing_and_ends_no_run(
    operator: dict[str, str], folder: Path, does: str
) -> None:
    code = f"import os; top = os.path.dirname(os.environ['TMPDIR']); log = top + '/seen'; {does}"

    result = ask(
        operator, folder, {}, argv=(sys.executable, "-c", f"{code}; print('{{}}')"),
        expected=("docs-tool",), watched=("docs-tool",),
    )  # fmt: skip

    assert result.observation.setup_problem == "treatment-not-seen"


def test_a_study_may_only_record_the_evidence(operator: dict[str, str], folder: Path) -> None:
    settings = ProviderSettings(timeout_seconds=20, evidence_rule="record")

    seen = ask(
        operator, folder, {}, settings, expected=("docs-tool",), watched=("docs-tool",)
    ).observation

    assert seen.status is Status.COMPLETED
    assert seen.treatment_evidence is not None
    assert seen.treatment_evidence["problems"] == ["treatment-not-seen"]
