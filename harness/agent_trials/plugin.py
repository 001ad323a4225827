"""The pytest plugin: hooks and fixtures, each a few lines around an object that does the work.

pytest and the standard library are all that is imported here: the plugin is loaded by every pytest
run of everyone who installed it. The rest comes in when a session meets a study.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.session import options as session_options
from agent_trials.session.display import ATTRIBUTE, Display
from agent_trials.session.keys import BYTECODE, CONTROLLER, DESELECTED, LINE, WORKER_INPUT
from agent_trials.study import find

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from agent_trials.records import McpServer, PlannedAttempt, Sealed
    from agent_trials.session.controller import Controller
    from agent_trials.session.evaluating import Evaluation
    from agent_trials.session.grading import Adjudication
    from agent_trials.session.item import Attempt, Gate


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our options."""
    session_options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the standard markers; a dry run writes no byte code."""
    for phase in session_options.STANDARD_PHASES:
        config.addinivalue_line("markers", session_options.marker_line(phase))
    for line in session_options.JOB_LINES:
        config.addinivalue_line("markers", line)
    if config.option.collectonly:
        config.stash[BYTECODE] = sys.dont_write_bytecode
        sys.dont_write_bytecode = True
    if config.pluginmanager.hasplugin("xdist") and getattr(config.option, "tx", None):
        from agent_trials.session.workers import WorkerHooks  # noqa: PLC0415 - only with -n

        config.pluginmanager.register(WorkerHooks(config), "agent_trials.workers")
        if _studies_concern(config):
            config.option.maxworkerrestart = "0"  # a new worker would know nothing of the lost one
    config.pluginmanager.register(Display(config), "agent_trials.display")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give back what the dry run took, and end what an aborted session left."""
    if BYTECODE in config.stash:
        sys.dont_write_bytecode = config.stash[BYTECODE]
    if CONTROLLER in config.stash:
        config.stash[CONTROLLER].finish()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse, or open the selected runs, before any worker starts and anything is collected."""
    if _studies_concern(session.config):
        _refusable(_controller(session.config).start)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is about to run, under which cap, and the ledger's first head."""
    return config.stash[CONTROLLER].header if CONTROLLER in config.stash else []


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect ``test_<study>.py`` beside a study's manifest as that study."""
    folder = module_path.parent
    if module_path.name != find.module_name(folder) or not find.is_study(folder):
        return None
    return _controller(parent.config).collection.module(module_path, parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per planned attempt, observation to be graded, or arm to be evaluated."""
    if CONTROLLER in metafunc.config.stash:
        metafunc.config.stash[CONTROLLER].collection.parametrize(metafunc)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Keep attempts in schedule order, whatever other plugins did; deselect those not asked for."""
    if CONTROLLER in config.stash:
        config.stash[CONTROLLER].collection.count(items)
    yield
    if CONTROLLER in config.stash:
        deselected = _refusable(config.stash[CONTROLLER].arrange, items)
        if deselected:
            config.hook.pytest_deselected(items=deselected)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    """Let the attempt's line travel with its report, from a worker too."""
    report = yield
    if report.when == "call" and LINE in item.stash:
        setattr(report, ATTRIBUTE, item.stash[LINE])
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Close the runs; a session that only deselected attempts has not failed.

    The exit code is set behind everybody else, since other plugins add to it.
    """
    controller = session.config.stash.get(CONTROLLER, None)
    if controller is not None:
        controller.finish()
    yield
    if controller is not None and controller.unclosed and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    deselected = session.config.stash.get(DESELECTED, None)
    nothing = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if nothing and deselected is not None and deselected.nothing_else:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:  # noqa: ANN401
    """Show what each run came to, or the dry run's matrix."""
    if CONTROLLER in config.stash:
        for title, lines in config.stash[CONTROLLER].summaries():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)
    if DESELECTED in config.stash:
        found = config.stash[DESELECTED]
        if found.recorded:
            terminalreporter.write_line(session_options.recorded_line(found.recorded))
        if found.attempts:
            terminalreporter.write_line(session_options.deselected_line(found.attempts))


@pytest.fixture
def planned_attempt() -> PlannedAttempt:
    """The attempt of the schedule that the item stands for; given by the plugin in a study."""
    raise RuntimeError("planned_attempt is given to the items of a study: test_<study>.py")


@pytest.fixture
def blind_id() -> str:
    """The opaque name of the observation that an item grades; given by the plugin."""
    raise RuntimeError("blind_id is given to the items of -m adjudicate")


@pytest.fixture
def adjudication(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, blind_id: str
) -> Adjudication:
    """The grading of one observation; ``adjudication.grade()`` asks and settles."""
    return pytestconfig.stash[CONTROLLER].adjudication(request.node, blind_id)


@pytest.fixture
def evaluated_name() -> str:
    """The arm or control that an item evaluates; given by the plugin."""
    raise RuntimeError("evaluated_name is given to the items of -m evaluate")


@pytest.fixture
def evaluation(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, evaluated_name: str
) -> Evaluation:
    """The evaluation of one arm's patches; ``evaluation.evaluate()`` runs and records it."""
    return pytestconfig.stash[CONTROLLER].evaluation(request.node, evaluated_name)


@pytest.fixture(scope="session")
def budget(pytestconfig: pytest.Config) -> Gate:
    """What reserves money before an attempt and settles it after; one per session and process."""
    from agent_trials.session.item import Gate  # noqa: PLC0415 - only when an attempt runs

    return Gate(pytestconfig.stash[CONTROLLER])


@pytest.fixture
def export(request: pytest.FixtureRequest, budget: Gate) -> Sealed:
    """What the attempt's own workspace is made from: a sealed corpus, starter or commit."""
    return budget.corpus(request.node)


@pytest.fixture
def mcp_server(request: pytest.FixtureRequest, budget: Gate) -> tuple[McpServer, ...]:
    """The MCP servers of the attempt's arm, resolved and probed; empty in an arm without one."""
    return budget.servers(request.node)


@pytest.fixture
def attempt(
    request: pytest.FixtureRequest,
    planned_attempt: PlannedAttempt,
    budget: Gate,
    export: Sealed,
    mcp_server: tuple[McpServer, ...],
) -> Iterator[Attempt]:
    """One attempt whose money is reserved; ``attempt.run()`` runs and settles it."""
    reserved = budget.reserve(request.node, planned_attempt, export, mcp_server)
    yield reserved
    reserved.close()


def _controller(config: pytest.Config) -> Controller:
    """Return the session's controller, made when the first study comes into sight."""
    if CONTROLLER not in config.stash:
        from agent_trials.session.controller import Controller  # noqa: PLC0415 - needs pydantic

        read = session_options.read_options(config, os.environ)
        config.stash[CONTROLLER] = Controller(config, read, _study_folders(config))
    return config.stash[CONTROLLER]


def _studies_concern(config: pytest.Config) -> bool:
    """Return whether this session has studies to decide about before collection."""
    if hasattr(config, "workerinput"):
        return bool(config.workerinput.get(WORKER_INPUT))
    option = config.option
    if session_options.shows_only(option):
        return False
    if session_options.names_ours(option):
        return True
    return bool((option.collectonly or option.markexpr) and _study_folders(config))


def _study_folders(config: pytest.Config) -> tuple[Path, ...]:
    base = config.invocation_params.dir
    arguments = [base / argument.partition("::")[0] for argument in config.args]
    return find.find(arguments, skip=config.getini("norecursedirs"))


def _refusable(decide: Any, *arguments: Any) -> Any:  # noqa: ANN401 - passes through
    """Call it, and turn a refusal, ours or the machine's, into a usage error, exit code 4."""
    from agent_trials import errors  # noqa: PLC0415 - beside its only user

    heading = "agent-trials: the run is refused; no attempt was started:\n  - "
    try:
        return decide(*arguments)
    except errors.ProblemsError as error:
        raise pytest.UsageError(str(error)) from None
    except errors.TrialsError as error:
        raise pytest.UsageError(f"{heading}{error}") from None
    except OSError as error:
        remedy = "make room or see to the right to write there, then start again"
        raise pytest.UsageError(f"{heading}{error}; {remedy}") from None
