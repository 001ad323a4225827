"""The scripted API of a rehearsal; imported by no paid run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_trials.rehearsal import judge, model
from agent_trials.rehearsal.messages_server import MessagesServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def scripted_api() -> Iterator[str]:
    """Give the base URL of a scripted Messages API on loopback, while the session lasts."""
    with MessagesServer(model.respond) as server:
        yield server.base_url


@contextmanager
def scripted_adjudicator() -> Iterator[str]:
    """Give the base URL of a scripted adjudicator on loopback, while the session lasts."""
    with MessagesServer(judge.respond) as server:
        yield server.base_url
