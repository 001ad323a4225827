"""Writes an attempt's line when its report arrives, wherever the attempt ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ATTRIBUTE = "agent_trials_line"
"""The name under which the line travels with a report; plain text, so that xdist can carry it."""


class Display:
    """A small plugin of its own, since a report says nothing of the session it belongs to."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Show the line of an attempt that ran."""
        line = getattr(report, ATTRIBUTE, None)
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        if line and terminal and not hasattr(self._config, "workerinput"):
            terminal.ensure_newline()
            terminal.write_line(line)
