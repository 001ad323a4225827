"""The model of a rehearsal: it looks around, and makes the edit that an issue spells out.

An issue of the toy benchmark holds a line ``In `FILE`, replace `OLD` by `NEW`.``; an issue of the
real one holds none, and leaves an empty patch. Where a server offers a search, that is called
first, and what it answers is read as part of the issue.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agent_trials.rehearsal.replies import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

EDIT = re.compile(r"In `([^`]+)`, replace `([^`]+)` by `([^`]+)`")
LOOK = "git log --all --oneline; git remote; ls"


def respond(body: Mapping[str, Any]) -> Reply:
    """Return the next step, told by how many steps were taken."""
    steps = _steps(body)
    taken = sum(message["role"] == "assistant" for message in body["messages"])
    if taken < len(steps):
        name, given = steps[taken]
        call = {"type": "tool_use", "name": name, "input": given}
        return Reply((call,), stop_reason="tool_use")
    return Reply(({"type": "text", "text": "The code is changed as the issue asks."},))


def _steps(body: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    offered = [tool["name"] for tool in body.get("tools", ())]
    steps: list[tuple[str, dict[str, Any]]] = []
    server = next((name for name in offered if name.startswith("mcp__") and "search" in name), None)
    if server is not None:
        steps.append((server, {"query": "replace"}))
    if "Bash" in offered:
        steps.append(("Bash", {"command": LOOK, "description": "Look around"}))
    found = EDIT.search(_said(body))
    if found is not None and {"Read", "Edit", "Bash"} <= {*offered}:
        file, old, new = found.groups()
        path = f"{_folder(body)}/{file}"
        steps += [
            ("Read", {"file_path": path}),
            ("Edit", {"file_path": path, "old_string": old, "new_string": new}),
            ("Bash", {"command": "git diff --stat", "description": "See what changed"}),
        ]
    return steps


def _said(body: Mapping[str, Any]) -> str:
    """Return everything that the user's side said, answers of tools with it."""
    texts = [
        json.dumps(message["content"], ensure_ascii=False)
        for message in body["messages"]
        if message["role"] == "user"
    ]
    return "\n".join(texts).replace("\\\\", "\\").replace('\\"', '"')


def _folder(body: Mapping[str, Any]) -> str:
    """Return the working directory that the CLI names to its model."""
    text = json.dumps(body.get("system", "")) + json.dumps(body["messages"])
    found = re.search(r"[Ww]orking directory: ([^\\\"\s]+)", text)
    return found[1] if found else "."
