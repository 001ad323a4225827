"""Stands in for Claude Code in a dry run: runs the project's hooks, asks no model, costs nothing.

A program of its own, standard library only. It does what matters to who wraps the CLI: in a session
(``--output-format stream-json``) it runs SessionStart and Stop hooks of the project's settings and
of ``--settings``, goes on where a Stop hook says so, and prints the events of a stream. Called in
any other way it answers with an empty result. Each start is a line in the file beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

STARTS = "starts.jsonl"
IN_HOOK = "CLAUDE_STAND_IN_HOOK"
HOOK_SECONDS = 120
GOES_ON = 2
MOST_STOPS = 5
_COUNTS = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}


def main() -> int:
    """Act as one process of the CLI."""
    here = Path(__file__).resolve().parent
    if "--version" in sys.argv:
        sys.stdout.write((here / "version").read_text(encoding="utf-8"))
        return 0
    with (here / STARTS).open("a", encoding="utf-8") as starts:
        start = {
            "argv": sys.argv[1:],
            "cwd": str(Path.cwd()),
            "inHook": bool(os.environ.get(IN_HOOK)),
            "resumed": "--resume" in sys.argv,
        }
        starts.write(json.dumps(start) + "\n")
    if os.environ.get(IN_HOOK) or option("--output-format") != "stream-json":
        say(type="result", subtype="success", is_error=False, result="", total_cost_usd=0)
        return 0
    return Session((here / "version").read_text(encoding="utf-8").split()[0]).run()


def option(name: str) -> str:
    """Return the value of a command line option, empty without it."""
    place = sys.argv.index(name) if name in sys.argv else len(sys.argv)
    return sys.argv[place + 1] if place + 1 < len(sys.argv) else ""


def say(**event: Any) -> None:  # noqa: ANN401 - any event
    """Print one event."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class Session:
    """One process of a session."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.id = (
            option("--resume") or option("--session-id") or "00000000-0000-4000-8000-000000000000"
        )
        self.transcript = Path(os.environ.get("TMPDIR", "/tmp")) / f"{self.id}.jsonl"  # noqa: S108

    def run(self) -> int:
        """Print a whole session in which the model does nothing."""
        self.hooks("SessionStart", {"source": "resume" if "--resume" in sys.argv else "startup"})
        model = option("--model")
        say(
            type="system", subtype="init", session_id=self.id, cwd=str(Path.cwd()), model=model,
            tools=[each for each in option("--tools").split(",") if each], mcp_servers=[],
            permissionMode=option("--permission-mode"), claude_code_version=self.version,
            apiKeySource="none",
        )  # fmt: skip
        self.remember("user", sys.argv[-1])
        for number in range(MOST_STOPS):
            self.remember("assistant", "Done.")
            say(
                type="assistant", session_id=self.id, parent_tool_use_id=None,
                message={
                    "id": f"msg-{number}", "type": "message", "role": "assistant", "model": model,
                    "content": [{"type": "text", "text": "Done."}], "stop_reason": None,
                    "usage": _COUNTS,
                },
            )  # fmt: skip
            told = {"stop_hook_active": number > 0, "last_assistant_message": "Done."}
            if not self.hooks("Stop", told):
                break
        say(
            type="result", subtype="success", is_error=False, session_id=self.id, num_turns=1,
            result="Done.", stop_reason="end_turn", terminal_reason="completed", total_cost_usd=0,
            permission_denials=[], usage=_COUNTS,
            modelUsage={
                model: {
                    "inputTokens": 0, "outputTokens": 0, "cacheReadInputTokens": 0,
                    "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0,
                    "costBasis": "list",
                }
            },
        )  # fmt: skip
        return 0

    def remember(self, role: str, text: str) -> None:
        """Write a line of the transcript that hooks may read."""
        line = {"type": role, "sessionId": self.id, "message": {"role": role, "content": text}}
        with self.transcript.open("a", encoding="utf-8") as transcript:
            transcript.write(json.dumps(line) + "\n")

    def hooks(self, event: str, told: dict[str, Any]) -> bool:
        """Run the hooks of an event; tell whether one of them makes the agent go on."""
        goes_on = False
        for command in commands(event):
            given = {
                "session_id": self.id, "transcript_path": str(self.transcript),
                "cwd": str(Path.cwd()), "permission_mode": option("--permission-mode"),
                "hook_event_name": event, **told,
            }  # fmt: skip
            say(type="system", subtype="hook_started", hook_event=event, session_id=self.id)
            code, said = hook(command, given)
            goes_on = goes_on or code == GOES_ON or '"block"' in said
            say(
                type="system", subtype="hook_response", hook_event=event, session_id=self.id,
                exit_code=code, stdout=said,
            )  # fmt: skip
        return goes_on


def hook(command: str, given: dict[str, Any]) -> tuple[int, str]:
    """Run one hook as the CLI does, through a shell; return its exit code and what it printed."""
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(Path.cwd()), IN_HOOK: "1"}
    try:
        done = subprocess.run(  # noqa: S602 - as the real one does
            command,
            shell=True,
            input=json.dumps(given).encode(),
            capture_output=True,
            check=False,
            env=environment,
            timeout=HOOK_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 1, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")


def commands(event: str) -> list[str]:
    """Return the commands of an event's hooks, the project's before those of ``--settings``."""
    found = []
    for settings in (project(), given()):
        hooks = settings.get("hooks", {})
        for entry in hooks.get(event, []) if isinstance(hooks, dict) else []:
            found += [one["command"] for one in entry.get("hooks", []) if one.get("command")]
    return found


def project() -> dict[str, Any]:
    """Return the project's settings."""
    return read(Path(".claude/settings.json"))


def given() -> dict[str, Any]:
    """Return the settings of the command line: a file, or JSON."""
    text = option("--settings")
    if text.lstrip().startswith("{"):
        return dict(json.loads(text))
    return read(Path(text)) if text else {}


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, empty where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    sys.exit(main())
