"""What the Claude CLI would send in an arm, and what a command that it starts can see.

One process of the real CLI in a real workspace, with a dummy key and a server on loopback in the
provider's place. Nothing of it costs money, and nothing of the operator's is in it.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.agents import capture
from agent_trials.agents.claude_cli import ClaudeCli
from agent_trials.agents.cli_environment import CREDENTIALS
from agent_trials.records import Secret
from agent_trials.study.settings import CliSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from agent_trials.records import AttemptRequest

SECONDS = 120
_RAN = "the-shell-ran"
_COMMAND = "printf 'the-shell-%s\\n' ran; env; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'"
"""The mark is put together by the shell, so that the command's own text does not show it."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Foreseen:
    """What one process showed.

    ``problems`` are the codes of an attempt, ``said`` what it printed on stderr. ``sent`` are the
    texts of the first request, None where there was none. ``ran`` tells whether a command of the
    shell tool ran, None without that tool; ``key_seen`` whether the key was in what it printed.
    """

    problems: tuple[str, ...]
    said: str
    sent: str | None
    ran: bool | None
    key_seen: bool

    def holds(self, text: str) -> bool:
        """Tell whether the first request holds every line of a text (comments are not sent)."""
        sent = self.sent or ""
        return all(line in sent for line in lines(text))


def look(request: AttemptRequest, folder: Path) -> Foreseen:
    """Return what the CLI does with an attempt's request, in its workspace.

    Raises:
        AgentError: the CLI cannot be started.
        TypeError: the attempt is none of the CLI's.
    """
    settings = request.transport_settings
    if not isinstance(settings, CliSettings):
        raise TypeError("only an attempt of the CLI can be foreseen")
    key = f"sk-ant-foreseen-{secrets.token_hex(16)}"
    with capture.capture(_COMMAND) as api:
        asked = dataclasses.replace(
            request,
            transport_settings=dataclasses.replace(
                settings, timeout_seconds=min(SECONDS, settings.timeout_seconds)
            ),
            base_url=api.base_url,
            rehearsal=False,
            secrets={CREDENTIALS[0]: Secret(key)},
        )
        shown = ClaudeCli().ask(asked, folder)
    results = [*_results(api.asked)]
    printed = "\n".join(text for each in results for text in capture.texts(each))
    return Foreseen(
        shown.observation.problems,
        shown.artifacts["stderr"].decode("utf-8", "replace").strip(),
        "\n".join(capture.texts(api.asked[0])) if api.asked else None,
        _RAN in printed if "Bash" in settings.tools else None,
        key in printed,
    )


def lines(text: str) -> tuple[str, ...]:
    """Return the lines of a rules file that an agent is told: neither blank nor a comment."""
    found = (line.strip() for line in _COMMENT.sub("", text).splitlines())
    return tuple(line for line in found if line)


def _results(asked: Iterable[Mapping[str, Any]]) -> Iterator[object]:
    """Yield what tools answered."""
    for body in asked:
        for message in body.get("messages") or []:
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            yield from (each for each in blocks if each.get("type") == "tool_result")
