"""The scripted API of a rehearsal; imported by no paid run.

A study may bring its own model: ``rehearsal.py`` with ``respond(body)``, a pure function from the
body of a Messages request to one of ``rehearsal.replies``. Without it the package's small model
answers, which looks things up and writes nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from agent_trials.errors import Problem, StudyError
from agent_trials.rehearsal import judge, model
from agent_trials.rehearsal.messages_server import MessagesServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from agent_trials.rehearsal.replies import Answer

OWN = "rehearsal.py"


@contextmanager
def scripted_api(study: Path) -> Iterator[str]:
    """Give the base URL of a scripted Messages API on loopback, while the session lasts.

    Raises:
        StudyError: the study's own model cannot be used.
    """
    with MessagesServer(_model(study)) as server:
        yield server.base_url


def _model(study: Path) -> Callable[[Mapping[str, Any]], Answer]:
    path = study / OWN
    if not path.is_file():
        return model.respond
    names: dict[str, Any] = {"__name__": "study_rehearsal", "__file__": str(path)}
    # The study's own code, which the operator's pytest collects beside it anyway.
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102
    found = names.get("respond")
    if not callable(found):
        raise StudyError([Problem(str(path), "it has no function respond", "write respond(body)")])
    return cast("Callable[[Mapping[str, Any]], Answer]", found)


@contextmanager
def scripted_adjudicator() -> Iterator[str]:
    """Give the base URL of a scripted adjudicator on loopback, while the session lasts."""
    with MessagesServer(judge.respond) as server:
        yield server.base_url
