"""The real CLI in a writable tree: its hooks, its sessions, and the memory that stays outside."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.attempt import release, run_attempt
from agent_trials.records import AttemptRequest, Launch, SealedTree, Secret, SideFile, Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import Held, call, say
from agent_trials.study.settings import CliSettings, PriceTier
from agent_trials.workspace import starter
from claude_bench import VERSION
from tree_product import __file__ as product

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agent_trials.records import AttemptResult
    from agent_trials.rehearsal.replies import Answer

CANARY = "CANARY-quince-marzipan"
ARGUMENTS = (
    "-p", "--model", "{model}", "--output-format", "stream-json", "--verbose",
    "--include-hook-events", "{session}", "--max-budget-usd", "{limit}", "--permission-mode",
    "acceptEdits", "--tools", "{tools}", "--allowedTools", "{tools}", "--strict-mcp-config",
    "--mcp-config", '{"mcpServers":{}}', "--disable-slash-commands", "{prompt}",
)  # fmt: skip
RATES = [Decimal(each) for each in ("0.10", "0.50", "0.01", "0.125", "0.20")]
UPPER = [Decimal(each) for each in ("0.50", "2.50", "0.05", "0.625", "1.00")]
REVIEWED = Launch(
    command=(sys.executable, str(product), "review", "--"), environment={}, names_session=False
)
SIDE = SideFile(
    "{home}/.product/ledger.jsonl", "event", "SEMANTIC_COST", "cost_usd", Decimal("0.06"), 3
)


@dataclasses.dataclass
class Bench:
    """Attempts of the real CLI over a tree; ``asked`` is everything that the API was asked."""

    request: AttemptRequest
    asked: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def ask(self, answers: Iterable[Answer], **changes: Any) -> AttemptResult:  # noqa: ANN401 - fields of the request
        """Return what one turn showed."""
        with MessagesServer(answers) as api:
            request = dataclasses.replace(self.request, base_url=api.base_url, **changes)
            result = run_attempt(request)
            self.asked += api.asked
        return result


@pytest.fixture
def bench(claude: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Return a bench with a small starter into which the product is initialised."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    folder = tmp_path / "starter"
    folder.mkdir()
    (folder / "app.py").write_text("print('broken')\n", encoding="utf-8")
    sealed = dataclasses.replace(
        starter.seal("one", folder, tmp_path / "master"),
        setup=((sys.executable, str(product), "init"),),
        stop_snapshots=True,
    )
    settings = CliSettings(
        version=VERSION, arguments=ARGUMENTS, credential="config-dir", timeout_seconds=60,
        tools=("Bash", "Edit", "Read", "Write"), permission_mode="acceptEdits",
        prices=(PriceTier(above_prompt_tokens=0, **rates(RATES)),
                PriceTier(above_prompt_tokens=100_000, **rates(UPPER))),
    )  # fmt: skip
    yield Bench(
        AttemptRequest(
            transport="cli", transport_settings=settings, model="claude-haiku-5-5",
            prompt="Fix app.py.", limit_usd=Decimal("0.10"), corpus=sealed, mcp_servers=(),
            executable=claude, executable_version=VERSION, rehearsal=True, keep=True,
        )
    )  # fmt: skip
    assert not [each for each in place.iterdir() if each.name.startswith("workspace")]


def rates(found: list[Decimal]) -> dict[str, Decimal]:
    """Return the fields of a price tier."""
    names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    return dict(zip(names, found, strict=True))


def write(text: str) -> Answer:
    """Return a call that writes app.py, relative to wherever the tree lies."""
    return call(
        ("Bash", {"command": f"printf %s {text!r} > app.py", "description": "Write app.py"})
    )


def test_hooks_answer_in_both_turns_of_one_session_and_its_cost_is_counted_once(
    bench: Bench,
) -> None:
    """The reviewed arm whole: launcher, a stop that is sent back, a second turn without it."""
    settings = bench.request.transport_settings
    settings = dataclasses.replace(settings, arguments=(*ARGUMENTS[:-1], "{prompt}"))
    first = bench.ask(
        [write("half"), say("done"), write("fixed"), say("really done")],
        launch=REVIEWED, side=SIDE, transport_settings=settings,
    )  # fmt: skip
    assert first.kept
    second = bench.ask(
        [write("fixed twice"), say("now")],
        kept=first.kept, side=SIDE, prompt="Re-read it.",
        launch=dataclasses.replace(REVIEWED, command=(), environment={"REVIEW": "1"}),
    )  # fmt: skip
    release(first.kept)
    one, two = first.observation, second.observation

    assert [one.status, two.status] == [Status.COMPLETED] * 2, (one.problems, two.problems)
    assert one.hooks
    assert two.hooks
    assert (one.hooks["Stop"], two.hooks["Stop"]) == (4, 2)
    assert [stop["stopHookActive"] for stop in one.stops or ()] == [False, True]
    assert [stop["pinned"] for stop in (*(one.stops or ()), *(two.stops or ()))] == [True] * 3
    assert len({stop["digest"] for stop in (*(one.stops or ()), *(two.stops or ()))}) == 3
    assert [each.side_costs and each.side_costs["calls"] for each in (one, two)] == [2, 1]
    assert one.cost_usd
    assert two.cost_usd
    assert two.session_cost_usd == one.cost_usd + two.cost_usd
    assert "Re-read it." in json.dumps(bench.asked[-1])
    assert "Fix app.py." in json.dumps(bench.asked[-1])


def test_the_cost_of_a_killed_turn_is_counted_once_by_the_next(bench: Bench) -> None:
    """It printed no result; the session's total of the next turn holds what it spent."""
    never = threading.Event()
    settings = dataclasses.replace(bench.request.transport_settings, timeout_seconds=6)
    first = bench.ask([write("half"), Held(never, say("never"))], transport_settings=settings)
    assert first.kept
    second = bench.ask([say("now")], kept=first.kept, prompt="Re-read it.")
    release(first.kept)
    one, two = first.observation, second.observation

    assert (one.status, one.cli_reported_cost_usd) == (Status.TIMED_OUT, None)
    assert two.status is Status.COMPLETED, two.problems
    assert two.cost_usd
    assert two.computed_cost_usd == two.cost_usd
    assert two.session_cost_usd
    assert two.session_cost_usd > two.cost_usd


def test_nothing_of_the_operator_or_of_an_earlier_attempt_reaches_the_model(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One folder of a login serves every attempt; what one leaves there is gone."""
    home, login = tmp_path / "home", tmp_path / "login"
    (home / ".claude").mkdir(parents=True)
    for path in (home / "CLAUDE.md", home / ".claude" / "CLAUDE.md"):
        path.write_text(f"Always say {CANARY}.", encoding="utf-8")
    login.mkdir()
    (login / "CLAUDE.md").write_text(f"Always say {CANARY}.", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    paid = {
        "rehearsal": False, "keep": False, "config_dir": login,
        "secrets": {"ANTHROPIC_API_KEY": Secret("dummy-key-0123456789")},
    }  # fmt: skip
    first = bench.ask([say("done")], **paid)
    left = sorted(each.name for each in login.iterdir())
    bench.ask([say("done")], **paid)

    assert first.observation.status is Status.COMPLETED, first.observation.problems
    assert "projects" in left
    assert CANARY not in json.dumps(bench.asked)
    assert len([*(login / "projects").rglob("*.jsonl")]) == 1


def test_the_canary_would_be_seen(bench: Bench) -> None:
    """In the tree it is the project's own memory: the test above looks where it stands."""
    code = f"import pathlib; pathlib.Path('CLAUDE.md').write_text('Always say {CANARY}.')"
    corpus = bench.request.corpus
    assert isinstance(corpus, SealedTree)
    setup = (*corpus.setup, (sys.executable, "-c", code))
    speaking = dataclasses.replace(corpus, setup=setup)
    bench.ask([say("done")], corpus=speaking, keep=False)

    assert CANARY in json.dumps(bench.asked)


def test_a_project_whose_hooks_do_not_load_is_an_infrastructure_failure(bench: Bench) -> None:
    """With --restricted they do not: the stream shows that none answered."""
    settings = dataclasses.replace(
        bench.request.transport_settings, arguments=("--restricted", *ARGUMENTS)
    )
    found = bench.ask([say("done")], transport_settings=settings, keep=False).observation

    assert (found.status, found.problems[0]) == (Status.INVALID_SETUP, "hooks-not-loaded")
