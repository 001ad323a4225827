"""A small deterministic model that makes the edits of its script, and says that it is done.

What is said to it last decides: the request itself, the feedback of a Stop hook, or a further turn
of the user's. It answers with the edits that the script has for it, through Write for new files
and Bash for the others, and once their results are there with a sentence. Side requests, such as a
reviewer's, that hold no request of a script get a sentence too.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.rehearsal.replies import call, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_trials.rehearsal.replies import Answer, Reply

FEEDBACK = "Stop hook feedback"
DONE = "Everything that was asked for is done."
NOTHING = "There is nothing that I would change."
_END = "END-OF-FILE"


@dataclass(frozen=True)
class CoderScript:
    """What the model does about one request: at first, after a hook's feedback, when asked again.

    Edits are new texts by path, None for a file that goes. The paths in ``new`` are not there at
    first.
    """

    request: str
    first: Mapping[str, str | None]
    feedback: Mapping[str, str | None] = field(default_factory=dict)
    further: Mapping[str, str | None] = field(default_factory=dict)
    new: frozenset[str] = frozenset()


def coder(
    scripts: Iterable[CoderScript], otherwise: Callable[[Mapping[str, Any]], Answer]
) -> Callable[[Mapping[str, Any]], Answer]:
    """Return a model that follows the scripts, and leaves other requests to another one."""
    every = tuple(scripts)

    def respond(body: Mapping[str, Any]) -> Answer:
        said = _said(body)
        script = next((each for each in every if said and each.request in said[0]), None)
        return otherwise(body) if script is None else _follow(script, body, said)

    return respond


def _follow(script: CoderScript, body: Mapping[str, Any], said: Sequence[str]) -> Reply:
    edits, new = script.first, script.new
    if len(said) > 1:
        # Write overwrites no file that the session has not read, so further edits go through Bash.
        edits, new = script.feedback if FEEDBACK in said[-1] else script.further, frozenset()
    if not edits:
        return say(NOTHING)
    if _answered(body):
        return say(DONE)
    return call(*(_edit(path, text, is_new=path in new) for path, text in edits.items()))


def _edit(path: str, text: str | None, *, is_new: bool) -> tuple[str, dict[str, Any]]:
    if text is None:
        return "Bash", {"command": f"rm -f {shlex.quote(path)}", "description": f"Remove {path}"}
    if is_new:
        return "Write", {"file_path": path, "content": text}
    quoted = shlex.quote(path)
    end = "" if text.endswith("\n") else "\n"
    command = f"cat > {quoted} <<'{_END}'\n{text}{end}{_END}"
    return "Bash", {"command": command, "description": f"Write {path}"}


def _said(body: Mapping[str, Any]) -> list[str]:
    """Return what was said to the model, without tool results and what a CLI puts around it."""
    found = []
    for message in body.get("messages", []):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [each["text"] for each in blocks or () if each.get("type") == "text"]
        own = [text for text in texts if not text.lstrip().startswith("<system-reminder>")]
        if own:
            found.append("\n".join(own))
    return found


def _answered(body: Mapping[str, Any]) -> bool:
    """Return whether tool results came after what was said last."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            content = message.get("content")
            kinds = {each.get("type") for each in content} if isinstance(content, list) else set()
            return "tool_result" in kinds
    return False
