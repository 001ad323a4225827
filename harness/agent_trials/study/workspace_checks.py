"""The rules over kinds of workspaces, arms that start otherwise, and further turns.

Each function is one rule:
    a task names what its workspace is made from, and nothing else   -> _sources
    a kind's table stands where its kind is                          -> _tables
    a tree is worked in through the CLI, without servers             -> _tree
    permissions of a writable workspace are pinned, and never auto   -> _permissions
    the array lets hooks load where the Stop hook is wanted          -> _hooks
    a further turn can find its session again                        -> _session, _follow_up
    what an arm adds takes nothing away that both arms must share    -> _launches
    a product's file of events has a place                           -> _side_costs
    reviews stand in such a file, and their stops leave snapshots    -> _reviews
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from agent_trials.study.findings import Finding, KeyPath
from agent_trials.study.transport_checks import is_credential

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.settings import ArmSettings, CliSettings, LaunchSettings, Manifest

ARGUMENTS: KeyPath = ("transports", "cli", "arguments")
MODE = "--permission-mode"
SESSION = "{session}"
PINNED = (
    MODE, "--dangerously-skip-permissions", "--settings", "--setting-sources", "--model",
    "--max-budget-usd", "--session-id", "--resume", "--continue", "--fork-session", "--restricted",
    "--max-turns", "--tools", "--allowedTools", "--disallowedTools", "--mcp-config",
    "--strict-mcp-config",
)  # fmt: skip
"""Options that an arm may not add: both arms have them alike, or not at all."""
PLACES = ("{tree}", "{home}", "{config}")
_SHARED = ("PATH", "HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "WORKSPACE_SNAPSHOTS")


def workspace_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place that breaks a rule over workspaces, launches or further turns."""
    yield from _sources(manifest)
    yield from _tables(manifest)
    yield from _tree(manifest)
    for index, arm in enumerate(manifest.arms):
        yield from _launches(("arms", index), arm)
        yield from _side_costs(("arms", index, "side_costs"), arm)
        yield from _reviews(("arms", index, "reviews"), arm, manifest)
    if manifest.transports.cli is not None:
        yield from _permissions(manifest, manifest.transports.cli)
        yield from _hooks(manifest, manifest.transports.cli)
        yield from _session(manifest, manifest.transports.cli)
    yield from _follow_up(manifest)


def _sources(manifest: Manifest) -> Iterator[Finding]:
    kind = manifest.workspace.kind
    wanted, other = ("tree", "repository") if kind == "tree" else ("repository", "tree")
    for index, task in enumerate(manifest.tasks):
        if getattr(task, wanted) is None:
            yield Finding(("tasks", index, wanted), "is missing", f"add {wanted}")
        if getattr(task, other) is not None:
            what = f"a workspace of kind {kind!r} is not made from it"
            yield Finding(("tasks", index, other), what, "take it out, or change workspace.kind")
    if kind != "tree" and not manifest.repositories:
        yield Finding(("repositories",), "is missing", "add repositories")


def _tables(manifest: Manifest) -> Iterator[Finding]:
    for kind in ("tree", "checkout"):
        if getattr(manifest.workspace, kind) is not None and manifest.workspace.kind != kind:
            what = f"the kind is {manifest.workspace.kind!r}"
            yield Finding(
                ("workspace", kind), what, f'write kind = "{kind}", or take the table out'
            )


def _tree(manifest: Manifest) -> Iterator[Finding]:
    if manifest.workspace.kind != "tree":
        return
    for name in manifest.transports.described:
        if name != "cli":
            what = "only the CLI works in a writable tree"
            yield Finding(("transports", name), what, "take the table out")
    for index, arm in enumerate(manifest.arms):
        if arm.mcp_servers:
            what = "a tree's arms have no servers: there is no checkout to probe them on"
            yield Finding(("arms", index, "mcp_servers"), what, "take them out")
    if manifest.adjudicator is not None:
        what = "answers about a tree are graded by a checker"
        yield Finding(("adjudicator",), what, "take the table out")
    for index, name in enumerate(manifest.workspace.tree.equal if manifest.workspace.tree else ()):
        if name.startswith("/") or ".." in name.split("/"):
            what = f"{name!r} is no path inside the tree"
            yield Finding(("workspace", "tree", "equal", index), what, "write it relative to it")


def _permissions(manifest: Manifest, cli: CliSettings) -> Iterator[Finding]:
    given = [value for option, value in pairwise(cli.arguments) if option == MODE]
    if "auto" in {*given, cli.permission_mode}:
        what = 'the mode "auto" makes requests of its own that no figure of the CLI shows'
        yield Finding(ARGUMENTS, what, "pin another mode, such as dontAsk or acceptEdits")
    if manifest.workspace.kind == "tree" and cli.credential == "login":
        what = "a login under the operator's home brings the operator's own memory and hooks"
        yield Finding(("transports", "cli", "credential"), what, 'write "config-dir" or "api-key"')
    if manifest.workspace.kind != "export" and given != [cli.permission_mode]:
        what = f"the array does not pin the mode {cli.permission_mode!r} with {MODE}"
        yield Finding(ARGUMENTS, what, f'add "{MODE}", "{cli.permission_mode}"')


def _hooks(manifest: Manifest, cli: CliSettings) -> Iterator[Finding]:
    if manifest.tree is None or not manifest.tree.stop_snapshots:
        return
    if "--restricted" in cli.arguments:
        what = "with --restricted no hook of a project loads, so that no stop is copied"
        yield Finding(ARGUMENTS, what, "take it out, or stop_snapshots")
    if "--include-hook-events" not in cli.arguments:
        what = "without --include-hook-events the stream does not show whether the hook loaded"
        yield Finding(ARGUMENTS, what, "add it")


def _session(manifest: Manifest, cli: CliSettings) -> Iterator[Finding]:
    if manifest.follow_up is None:
        return
    if cli.arguments.count(SESSION) != 1:
        what = f"a further turn needs {SESSION} once in the array, and it is not so"
        yield Finding(ARGUMENTS, what, f'add "{SESSION}" as a word of its own')
    if "--no-session-persistence" in cli.arguments:
        what = "with --no-session-persistence there is no session to go on with"
        yield Finding(ARGUMENTS, what, "take it out")


def _follow_up(manifest: Manifest) -> Iterator[Finding]:
    path: KeyPath = ("follow_up",)
    if manifest.follow_up is None:
        for index, arm in enumerate(manifest.arms):
            if arm.follow_up is not None:
                what = "the study has no table [follow_up], so this arm has no further turn"
                yield Finding(("arms", index, "follow_up"), what, "add that table")
        return
    if manifest.workspace.kind == "export":
        what = "an export is made anew for every turn, and nothing in it can be corrected"
        yield Finding(path, what, 'write workspace.kind = "tree"')
    if manifest.follow_up.prompt.startswith(("/", "-")):
        what = "the prompt begins with a mark that a CLI reads as a command or option"
        yield Finding((*path, "prompt"), what, "begin with a word")
    if manifest.schedule.resume != "never":
        what = "a kept session does not outlive its run, so an attempt cannot be gone on with"
        yield Finding(("schedule", "resume"), what, 'write resume = "never"')


def _launches(path: KeyPath, arm: ArmSettings) -> Iterator[Finding]:
    launches: list[tuple[KeyPath, LaunchSettings]] = [(path, arm)]
    if arm.follow_up is not None:
        launches.append(((*path, "follow_up"), arm.follow_up))
    for place, launch in launches:
        for index, word in enumerate(launch.arguments):
            if word.partition("=")[0] in PINNED:
                what = f"{word!r} is the same in every arm"
                yield Finding((*place, "arguments", index), what, "take it out of the arm")
        for name in launch.environment:
            if is_credential(name) or name in _SHARED:
                what = "the harness alone decides on this variable"
                yield Finding((*place, "environment", name), what, "take it out")
            if name in launch.unset:
                what = "it is set and taken away"
                yield Finding((*place, "environment", name), what, "keep one of the two")
        for index, name in enumerate(launch.unset):
            if is_credential(name) or name in _SHARED:
                what = f"{name} is the same in every arm"
                yield Finding((*place, "unset", index), what, "take it out of the arm")


def _reviews(path: KeyPath, arm: ArmSettings, manifest: Manifest) -> Iterator[Finding]:
    if arm.reviews is None:
        return
    if arm.side_costs is None:
        yield Finding(path, "are read from the file of side_costs", "add arms.side_costs")
    tree = manifest.workspace.tree
    if tree is None or not tree.stop_snapshots:
        what = "a review is of a stop, and stops leave no snapshot"
        yield Finding(path, what, "write workspace.tree.stop_snapshots = true")


def _side_costs(path: KeyPath, arm: ArmSettings) -> Iterator[Finding]:
    if arm.side_costs is None:
        return
    first, _, rest = arm.side_costs.path.partition("/")
    if first not in PLACES or not rest or ".." in rest.split("/"):
        what = f"{arm.side_costs.path!r} does not say where the file is"
        remedy = f"begin with one of {', '.join(PLACES)}, then a path below it"
        yield Finding((*path, "path"), what, remedy)
