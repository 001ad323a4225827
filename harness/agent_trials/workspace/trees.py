"""Prepares the starters of a study once: sealed, their set-up resolved, laid out to see it work."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.study.manifest import starter as starter_of
from agent_trials.workspace import commands, starter, tree
from agent_trials.workspace.site import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.records import SealedTree
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import TaskSettings, TreeSettings


def sealed(
    study: Study,
    task: TaskSettings,
    settings: TreeSettings,
    values: Mapping[str, str],
    into: Path,
    *,
    executable: str | None,
) -> SealedTree:
    """Return a task's starter, sealed, with what its set-up makes of the files that must be equal.

    Every later tree of it is compared with that one, those of the dry run first.

    Raises:
        WorkspaceError: it cannot be sealed, its set-up fails, or does not make those files.
    """
    found = dataclasses.replace(
        starter.seal(task.id, starter_of(study, task), into),
        setup=tuple(commands.resolved(each, values) for each in settings.setup),
        setup_seconds=settings.setup_seconds,
        equal=settings.equal,
        stop_snapshots=settings.stop_snapshots,
    )
    return dataclasses.replace(found, equal_digest=_laid_out(found, executable))


def _laid_out(found: SealedTree, executable: str | None) -> str | None:
    home = os.environ.get("HOME")
    programs = {CLAUDE: executable} if executable else {}
    with tree.tree(found, home=Path(home) if home else None, programs=programs) as made:
        missing = [name for name in tree.compared(found) if not (made.folder / name).is_file()]
        if missing:
            raise WorkspaceError(
                f"the set-up of {found.name} does not make {', '.join(missing)}, which must be"
                " equal in all arms; take it out of workspace.tree.equal, or make it"
            )
        return made.equal_digest
