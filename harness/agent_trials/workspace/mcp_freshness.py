"""Whether a server answers from an index that belongs to the checkout.

A server can start, list its tools and answer from an index of another commit. So the index is made
again, in a scratch copy of the checkout, and the two JSON texts are compared without the keys that
differ each time (at any depth). The old index is not in the scratch copy: a command that writes
nothing must not be taken for one that wrote the same.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import process
from agent_trials.errors import AgentError
from agent_trials.workspace.mcp_command import SCRATCH, McpProblem, fill
from agent_trials.workspace.mcp_config import file_inside
from agent_trials.workspace.mcp_tools import MINIMAL_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.study.settings import IndexFreshness
    from agent_trials.workspace.mcp_config import ResolvedServer

OUTPUT_BYTES = 1024 * 1024


def index_problems(
    resolved: ResolvedServer,
    freshness: IndexFreshness,
    *,
    deadline_seconds: float,
) -> list[McpProblem]:
    """Make the index again and return why the checkout's own is not fresh.

    Args:
        resolved: the server.
        freshness: how its index is made.
        deadline_seconds: how long the command may take.
    """
    if not file_inside(resolved.checkout, freshness.path):
        return [
            _problem(
                resolved,
                f"there is no index {freshness.path!r} in the checkout",
                "make it with the server's own command, as the study's protocol says",
            )
        ]
    with tempfile.TemporaryDirectory() as folder:
        # The folder keeps its name, which an index may hold.
        scratch = Path(folder) / (resolved.checkout.name or "checkout")
        failure = _copy(resolved, freshness, scratch) or _make(
            resolved, freshness, scratch, deadline_seconds
        )
        return [failure] if failure else _compare(resolved, freshness, scratch)


def same_json(one: bytes, other: bytes, ignored: Iterable[str]) -> bool:
    """Return whether two JSON texts are equal without the ignored keys, at any depth.

    Raises:
        ValueError: one of them is no JSON.
    """
    keys = frozenset(ignored)
    return _plain(one, keys) == _plain(other, keys)


def _plain(text: bytes, ignored: frozenset[str]) -> str:
    try:
        return json.dumps(_without(json.loads(text), ignored), sort_keys=True)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _without(value: Any, ignored: frozenset[str]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _without(item, ignored) for key, item in value.items() if key not in ignored}
    if isinstance(value, list):
        return [_without(item, ignored) for item in value]
    return value


def _copy(resolved: ResolvedServer, freshness: IndexFreshness, scratch: Path) -> McpProblem | None:
    checkout = resolved.checkout

    def left_out(folder: str, names: list[str]) -> list[str]:
        # A worktree's .git leads back to the repository, which the command must not touch.
        return [name for name in names if name == ".git" and Path(folder) == checkout]

    try:
        shutil.copytree(checkout, scratch, symlinks=True, ignore=left_out)
        (scratch / freshness.path).unlink()
    except OSError as error:
        return _problem(
            resolved,
            "the checkout cannot be copied to make its index again",
            "free some room, and let the checkout hold regular files only",
            str(error),
        )
    return None


def _make(
    resolved: ResolvedServer, freshness: IndexFreshness, scratch: Path, deadline_seconds: float
) -> McpProblem | None:
    words = {**resolved.words, SCRATCH: str(scratch)}
    if resolved.config is not None:
        words["config"] = str(scratch / resolved.config)
    argv, _ = fill(freshness.command, words, resolved.place)
    command = process.Command(
        (resolved.index_program or argv[0], *argv[1:]),
        scratch,
        {"PATH": MINIMAL_PATH, **resolved.server.environment},
    )
    limits = process.Limits(deadline_seconds, OUTPUT_BYTES, OUTPUT_BYTES)
    try:
        result = process.run(command, process.Silent(), limits)
    except AgentError as error:
        return _not_made(resolved, "cannot be started", str(error))
    said = result.stderr.decode("utf-8", "replace")
    if result.timed_out:
        return _not_made(resolved, f"did not end within {deadline_seconds:g} s", said)
    if result.exit_code != 0:
        return _not_made(resolved, f"ended with code {result.exit_code}", said)
    return None


def _compare(
    resolved: ResolvedServer, freshness: IndexFreshness, scratch: Path
) -> list[McpProblem]:
    if not file_inside(scratch, freshness.path):
        return [_not_made(resolved, f"wrote no {freshness.path!r}")]
    there, anew = ((root / freshness.path).read_bytes() for root in (resolved.checkout, scratch))
    try:
        fresh = same_json(there, anew, freshness.ignore_keys)
    except ValueError as error:
        return [_problem(resolved, f"the index {freshness.path!r} is no JSON", _AGAIN, str(error))]
    if fresh:
        return []
    return [
        _problem(
            resolved,
            f"the index {freshness.path!r} is stale: made again at the pin it differs",
            _AGAIN,
        )
    ]


_AGAIN = "make the checkout's index again, or name the keys that differ each time in `ignore_keys`"


def _not_made(resolved: ResolvedServer, what: str, detail: str = "") -> McpProblem:
    return _problem(
        resolved,
        f"the command that makes the index again {what}",
        "run the `freshness` command by hand in a copy of the checkout",
        detail,
    )


def _problem(resolved: ResolvedServer, what: str, remedy: str, detail: str = "") -> McpProblem:
    return McpProblem(str(resolved.place), what, remedy, private_detail=detail)
