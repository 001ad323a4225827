"""Takes each arm's turns once with a stand-in first on PATH, before money: nothing can be spent.

What must be seen, in every arm and every turn:
    the process that the arm starts comes to the ``claude`` that is first on PATH, by its absolute
    path, and so do its children: what a hook finds under that name is the same file
    the harness's Stop hook answers and leaves a snapshot, on the resumed turn too
    a product that spends is called in its own arm, and in no other
    the checker can look at the tree, every cost can be read, and no agent sees where it lies
The environment holds no credential, and the API's address leads nowhere.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials.agents import stand_in
from agent_trials.agents.claude_cli import ClaudeCli
from agent_trials.errors import AgentError, Problem, WorkspaceError
from agent_trials.graders import checker
from agent_trials.records import AttemptRequest, Status
from agent_trials.workspace import site, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

    from agent_trials.graders.checker import Checker
    from agent_trials.records import AttemptResult, Kept, Launch, SealedTree, SideFile
    from agent_trials.study.settings import CliSettings

NOWHERE = "http://127.0.0.1:9"
SEEN = ("transcript", "tree")
"""What an agent sees: its own session, and the files of the tree after the set-up."""
PROMPTS = ("This is a dry run.", "This is a dry run, the second turn.")


@dataclasses.dataclass(frozen=True)
class Arm:
    """What an arm's turns are started with."""

    id: str
    launches: tuple[Launch, Launch]
    side: SideFile | None


@dataclasses.dataclass(frozen=True)
class Stage:
    """What all arms have in common; ``turns`` is how many a real attempt may take."""

    sealed: SealedTree
    checker: Checker | None
    settings: CliSettings
    model: str
    limit_usd: Decimal
    version: str
    turns: int


def rehearse(stage: Stage, arm: Arm) -> tuple[dict[str, Any], list[Problem]]:
    """Return what an arm's turns showed, and what is wrong.

    Args:
        stage: what all arms have in common.
        arm: the arm.
    """
    with tempfile.TemporaryDirectory(prefix="at-") as made:
        folder = Path(made)
        claude = _stand_in(folder, stage.version)
        try:
            results = _turns(stage, arm, claude)
        except (WorkspaceError, AgentError) as error:
            return {}, [Problem(f"dry run of {arm.id}", str(error), "put it right")]
        starts = _starts(folder)
    problems = [
        Problem(f"dry run of {arm.id}", what, "see docs/study.md, The dry run of a launcher")
        for what in (*_started(starts, stage.turns), *_wrong(stage, arm, results))
    ]
    return _facts(results, starts), problems


def _stand_in(folder: Path, version: str) -> str:
    """Write an executable that starts the stand-in, and return its path."""
    program = folder / "claude.py"
    program.write_bytes(Path(stand_in.__file__).read_bytes())
    (folder / "version").write_text(f"{version} (Claude Code)\n", encoding="utf-8")
    path = folder / "claude"
    command = f"{shlex.quote(sys.executable)} -I {shlex.quote(str(program))}"
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def _turns(stage: Stage, arm: Arm, claude: str) -> list[AttemptResult]:
    """Take the turns in one workspace, and remove it.

    Raises:
        WorkspaceError, AgentError: the workspace cannot be made, or a turn not be started.
    """
    results: list[AttemptResult] = []
    kept: Kept | None = None
    try:
        for number in range(stage.turns):
            request = AttemptRequest(
                transport="cli",
                transport_settings=dataclasses.replace(stage.settings, credential="config-dir"),
                model=stage.model,
                prompt=PROMPTS[number],
                limit_usd=stage.limit_usd,
                corpus=stage.sealed,
                mcp_servers=(),
                executable=claude,
                executable_version=stage.version,
                base_url=NOWHERE,
                rehearsal=True,
                kept=kept,
                keep=True,
                launch=arm.launches[min(number, 1)],
                side=arm.side,
            )
            results.append(_turn(request))
            kept = results[-1].kept
        if stage.checker is not None and kept is not None:
            said = checker.check(stage.checker, kept.workspace).to_json()
            observation = dataclasses.replace(results[-1].observation, checker=said)
            results[-1] = dataclasses.replace(results[-1], observation=observation)
    finally:
        if kept is not None:
            tree.release(kept)
    return results


def _turn(request: AttemptRequest) -> AttemptResult:
    with site.laid_out(request) as place:
        result = ClaudeCli().ask(place.told(request), place.folder)
        collected = place.collect()
        place.stay()
    observation = dataclasses.replace(result.observation, **collected.fields)
    artifacts = {**result.artifacts, **collected.artifacts}
    return dataclasses.replace(result, observation=observation, artifacts=artifacts)


def _starts(folder: Path) -> list[dict[str, Any]]:
    path = folder / stand_in.STARTS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def _started(starts: list[dict[str, Any]], turns: int) -> Iterator[str]:
    """Find turns that did not come to the stand-in."""
    sessions = [each for each in starts if not each["inHook"]]
    if len(sessions) != turns:
        yield (
            f"{turns} turns were started and {len(sessions)} came to the claude that is first on"
            " PATH: a launcher that finds another one would have spent money"
        )
    for each in sessions[1:]:
        if not each["resumed"]:
            yield "the further turn does not go on with the session of the first (--resume)"


def _wrong(stage: Stage, arm: Arm, results: list[AttemptResult]) -> Iterator[str]:
    for number, result in enumerate(results, 1):
        seen = result.observation
        if seen.status is not Status.COMPLETED:
            yield f"turn {number} ended as {seen.status.value} ({', '.join(seen.problems)})"
            continue
        if seen.cli_reported_cost_usd is None:
            yield f"the cost of turn {number} cannot be read"
        if stage.sealed.stop_snapshots and not seen.stops:
            yield f"no stop of turn {number} left a snapshot"
        if any(not stop["pinned"] for stop in seen.stops or ()):
            yield f"a child of turn {number} finds another claude than the one first on PATH"
        if arm.side is not None and arm.side.max_calls and not _calls(seen.side_costs):
            yield f"the product wrote no event {arm.side.event!r} in turn {number}"
        if stage.checker is not None:
            seen_in = [name for name in SEEN if name in result.artifacts]
            texts = [(name, result.artifacts[name]) for name in seen_in]
            for name in checker.shown_in(stage.checker, texts):
                yield f"the place of the hidden checker stands in the {name} of turn {number}"
    said = results[-1].observation.checker if results else None
    if said is not None and said["problem"] is not None:
        yield f"the checker ended with {said['problem']}"


def _calls(side: Mapping[str, Any] | None) -> int:
    return int(side["calls"]) if side else 0


def _facts(results: list[AttemptResult], starts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the ledger says of it: counts alone."""
    return {
        "turns": len(results),
        "stops": [len(result.observation.stops or ()) for result in results],
        "hooks": [dict(result.observation.hooks or {}) for result in results],
        "productCalls": [_calls(result.observation.side_costs) for result in results],
        "startsInHooks": sum(each["inHook"] for each in starts),
    }
