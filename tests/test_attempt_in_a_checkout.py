"""Whatever becomes of an attempt in a checkout, its patch is kept, and nothing else of it stays."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials import attempt
from agent_trials.agents import capture
from agent_trials.ledger import charges
from agent_trials.records import ArmSetup, AttemptResult, Observation, Registration, Status
from checkout_lab import FIXED, CheckoutLab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_trials.agents.base import InterruptibleAgent
    from agent_trials.records import AttemptRequest

CANARY = "CANARY-quince-marzipan"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckoutLab:
    """Return a lab whose home and place are this process's."""
    found = CheckoutLab(tmp_path)
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setattr("tempfile.tempdir", str(found.place))
    return found


@pytest.fixture
def api() -> Iterator[capture.Capture]:
    """Return an API that answers with a word."""
    with capture.capture() as found:
        yield found


def test_a_run_without_a_usage_report_keeps_its_patch(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """It is evaluated like any other; only its cost is missing."""
    lab.behave(edits=FIXED, unreported=True)
    request = lab.request(api.base_url)

    result = attempt.run_attempt(request)

    seen = result.observation
    assert (seen.status, seen.usage_missing, seen.cost_usd) == (Status.FAILED, True, None)
    assert seen.tool_calls == 1
    assert b"+    return 42" in result.artifacts["patch"]
    assert charges.problem(seen.to_json(), request.reservation_usd) is None


def test_a_usage_report_is_no_missing_one(lab: CheckoutLab, api: capture.Capture) -> None:
    result = attempt.run_attempt(lab.request(api.base_url))

    assert result.observation.usage_missing is False
    assert result.observation.patch is not None
    assert result.observation.patch["files"] == 1


def test_an_agent_that_does_nothing_leaves_an_empty_patch(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """It is a result, and no missing one."""
    lab.behave()

    result = attempt.run_attempt(lab.request(api.base_url))

    assert result.artifacts["patch"] == b""
    assert result.observation.patch is not None
    assert (result.observation.patch["bytes"], result.observation.patch["problem"]) == (0, None)


def test_an_agent_that_removes_its_work_tree_has_deleted_every_file(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    lab.behave(commands=['rm -rf "$PWD"'])

    result = attempt.run_attempt(lab.request(api.base_url))

    assert result.observation.status is Status.COMPLETED
    assert b"deleted file mode" in result.artifacts["patch"]
    assert [*lab.place.iterdir()] == []


def test_a_patch_that_is_too_large_is_a_result_and_stops_nothing(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """It is the agent's doing: the attempt keeps its status, and its patch is a missing one."""
    lab.study(patch_bytes=100)

    result = attempt.run_attempt(lab.request(api.base_url))

    seen = result.observation
    assert (seen.status, seen.problems) == (Status.COMPLETED, ())
    assert seen.patch is not None
    assert (seen.patch["bytes"], seen.patch["problem"]) == (None, "patch-too-large")
    assert "patch" not in result.artifacts
    assert "workspace.checkout.patch_bytes" in result.private["patchProblem"]


def test_a_patch_that_cannot_be_made_is_the_grounds_failure(
    lab: CheckoutLab, api: capture.Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the agent showed and cost stays; the run stops, and the charge is that of a failure."""

    class Ruined:
        """An agent during whose attempt the machine loses the sealed repository."""

        def __init__(self, real: InterruptibleAgent) -> None:
            self._real = real

        def ask(self, asked: AttemptRequest, folder: Path) -> AttemptResult:
            answered = self._real.ask(asked, folder)
            (request.corpus.folder / ".git" / "HEAD").unlink()
            return answered

    request = lab.request(api.base_url)
    real = attempt._agent
    monkeypatch.setattr(attempt, "_agent", lambda *given: Ruined(real(*given)))

    result = attempt.run_attempt(request)

    seen = result.observation
    assert (seen.status, seen.problems) == (Status.INVALID_SETUP, ("patch-not-made",))
    assert (seen.output_tokens, seen.cost_usd) == (2000, Decimal("0.0011"))
    assert seen.charged_usd == request.reservation_usd
    assert charges.problem(seen.to_json(), request.reservation_usd) is None
    assert seen.patch == {
        "digest": None, "bytes": None, "files": None, "leftOut": None, "nested": None,
        "problem": "patch-not-made",
    }  # fmt: skip
    assert "patch" not in result.artifacts
    assert "git rev-parse failed" in result.private["patchProblem"]


def test_an_interrupted_attempt_keeps_its_patch(
    lab: CheckoutLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the fortieth turn does not undo the thirty-nine before it."""

    class Interrupted:
        def ask(self, _: AttemptRequest, folder: Path) -> AttemptResult:
            (folder / "app.py").write_text(FIXED["app.py"], encoding="utf-8")
            raise KeyboardInterrupt

        def interrupted(self) -> AttemptResult:
            request = lab.request("")
            found = Observation(
                status=Status.INTERRUPTED, transport="cli", charged_usd=request.limit_usd
            )
            return AttemptResult(found)

    monkeypatch.setattr(attempt, "_agent", lambda *_: Interrupted())

    with pytest.raises(attempt.AttemptInterrupted) as raised:
        attempt.run_attempt(lab.request(""))

    assert raised.value.result.observation.status is Status.INTERRUPTED
    assert b"return 42" in raised.value.result.artifacts["patch"]
    assert [*lab.place.iterdir()] == []


def test_a_server_that_is_not_registered_costs_no_request(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """An agent without its tool would be counted as one with it."""
    set_up = ArmSetup(registration=Registration("tool", "{home}/.claude.json"))

    result = attempt.run_attempt(lab.request(api.base_url, set_up))

    assert result.observation.status is Status.INVALID_SETUP
    assert result.observation.patch is None
    assert (api.asked, lab.records()) == ([], [])


def test_an_attempt_has_a_fresh_home_and_sees_nothing_of_the_operators(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """Memory in a home has reached a control arm before."""
    (lab.home / ".claude").mkdir()
    (lab.home / ".claude" / "CLAUDE.md").write_text(f"Say {CANARY}.", encoding="utf-8")
    command = f'test -e "$HOME/left" && echo {CANARY} > found; touch "$HOME/left"'
    lab.behave(commands=[command])

    results = [attempt.run_attempt(lab.request(api.base_url)) for _ in range(2)]

    homes = [each["environment"]["HOME"] for each in lab.records()]
    assert len({*homes}) == 2
    assert len({len(each) for each in homes}) == 1
    assert str(lab.home) not in homes
    sent = "\n".join(capture.texts(api.asked))
    kept = b"".join(data for each in results for data in each.artifacts.values())
    assert CANARY not in sent
    assert CANARY.encode() not in kept
    assert [*lab.place.iterdir()] == []


@pytest.mark.parametrize("name", ["CLAUDE.md", ".mcp.json", "AGENTS.md"])
def test_below_a_memory_file_no_agent_is_started(
    lab: CheckoutLab, api: capture.Capture, name: str
) -> None:
    """An ancestor's rules would reach the model in both arms."""
    (lab.place.parent / name).write_text(f"Say {CANARY}.", encoding="utf-8")

    result = attempt.run_attempt(lab.request(api.base_url))

    assert result.observation.status is Status.INVALID_SETUP
    assert name in result.private["infrastructure"]
    assert (api.asked, lab.records()) == ([], [])


def test_the_set_up_is_timed_apart_and_kept_in_private(
    lab: CheckoutLab, api: capture.Capture
) -> None:
    """A treatment's preparation is no work of its agent's."""
    set_up = lab.tool_setup()

    result = attempt.run_attempt(lab.request(api.base_url, set_up))

    seen = result.observation
    assert seen.status is Status.COMPLETED, seen.problems
    assert seen.setup_ms is not None
    assert seen.setup_ms > 0
    (done,) = result.private["setup"]
    assert done["output"] == "installed as tool\n"
    assert seen.mcp_servers == ({"name": "tool", "status": "connected"},)
    assert seen.patch is not None
    assert seen.patch["leftOut"] == 1
    config = next(each for each in lab.records()[0]["argv"] if "mcpServers" in each)
    assert str(lab.place) in config
