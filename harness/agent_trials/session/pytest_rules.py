"""What of pytest's own options matters to a run: processes, selection, the way of timing out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

SELECTING = (
    ("-k", "keyword"),
    ("--lf", "lf"),
    ("--ff", "failedfirst"),
    ("--nf", "newfirst"),
    ("--sw", "stepwise"),
    ("--deselect", "deselect"),
)
WITHOUT_TESTS = (("--setup-plan", "setupplan"), ("--setup-only", "setuponly"))
"""Options with which fixtures may be set up, and so money reserved, and no test is run."""


def project(config: pytest.Config) -> Path:
    """Return the project's folder: pytest's root folder, or where pytest was started.

    Without a configuration file pytest takes the common ancestor of all paths on its command line,
    a ledger's and a checkout's among them, which is no project.
    """
    return config.rootpath if config.inipath else config.invocation_params.dir


def requested_processes(config: pytest.Config) -> int:
    """Return the number of worker processes that ``-n`` or ``--tx`` asked for; 0 without xdist."""
    return sum(_times(spec) for spec in getattr(config.option, "tx", None) or ())


def _times(spec: str) -> int:
    """Return how many processes one ``--tx`` stands for: 3 for ``3*popen``, 1 for ``popen``."""
    count, star, _ = spec.partition("*")
    return int(count) if star and count.isdecimal() else 1


def paid_problems(config: pytest.Config) -> Iterator[Problem]:
    """Yield what would make a paid run less than all of its phase, or end it unsettled."""
    why = "a paid run is all of a phase, in schedule order"
    for flag, dest in SELECTING:
        if getattr(config.option, dest, None):
            yield Problem(flag, why, f"leave {flag} out")
    for flag, dest in WITHOUT_TESTS:
        if getattr(config.option, dest, None):
            yield Problem(flag, "it runs no attempt, and may reserve for one", "use --collect-only")
    for argument in config.args:
        if "::" in argument:
            yield Problem(argument, why, "name the study's folder instead of single items")
    if timeout_method(config) == "thread":
        yield Problem(
            "timeout_method = thread",
            "it ends the whole process without settling what is in flight",
            "use --timeout-method signal",
        )
    if _exits_on_timeout(config):
        yield Problem(
            "faulthandler_exit_on_timeout = true",
            "it ends the whole process without settling what is in flight",
            "leave it out",
        )


def _exits_on_timeout(config: pytest.Config) -> bool:
    """Return whether pytest ends itself where a test takes long."""
    if not config.pluginmanager.hasplugin("faulthandler"):
        return False
    seconds = float(config.getini("faulthandler_timeout") or 0)
    return seconds > 0 and bool(config.getini("faulthandler_exit_on_timeout"))


def timeout_method(config: pytest.Config) -> str | None:
    """Return how pytest-timeout was told to end a test; None without it."""
    if not config.pluginmanager.hasplugin("timeout"):
        return None
    chosen: Any = getattr(config.option, "timeout_method", None)
    return chosen or config.getini("timeout_method") or None
