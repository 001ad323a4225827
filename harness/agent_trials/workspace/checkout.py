"""Lays out a writable checkout of one commit for an attempt, set up as its arm says.

In order:
    place         two folders with random names, outside home, below no memory file (``neutral``):
                  the checkout itself, and what lies around it (a fresh HOME, TMPDIR, programs)
    commit        the sealed repository's only one, its files checked out
    set-up        the arm's commands, in the fresh HOME and the checkout
    rules         the study's rules file, where it is delivered as a project's
    known         what all of that did to the files, so that no patch shows it
    registration  the MCP server that the set-up registered, taken out of its file
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.records import Kept
from agent_trials.workspace import arm_setup, commands, neutral, patch, registration, single_commit
from agent_trials.workspace.tree import programs_first, release, remove_in_passing, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_trials.records import ArmSetup, McpServer, SealedCheckout, Surroundings
    from agent_trials.workspace.arm_setup import DeliveredRules
    from agent_trials.workspace.commands import Done
    from agent_trials.workspace.patch import Known, Patch

MEMORY_FILE = "CLAUDE.md"
"""Where a rules file of the study is read as a project's."""


@dataclass(frozen=True)
class Checkout:
    """A writable checkout of one attempt.

    ``setup`` are the arm's commands that ran, ``known`` what they did to the files, ``server`` is
    what they registered (``registration_digest`` without what differs in every attempt), ``rules``
    the rules file as it was delivered.
    """

    folder: Path
    surroundings: Surroundings
    sealed: SealedCheckout
    setup: tuple[Done, ...]
    known: Known
    server: McpServer | None
    registration_digest: str | None
    rules: DeliveredRules | None

    @property
    def places(self) -> arm_setup.Places:
        """Return the folders that the set-up may have written into its files."""
        return arm_setup.Places(self.folder, self.surroundings.home)

    def patch(self) -> Patch:
        """Return what the agent changed.

        Raises:
            PatchTooLargeError: it is larger than the study takes.
            WorkspaceError: it cannot be told.
        """
        sealed = self.sealed
        return patch.make(sealed.folder, self.folder, self.known, most_bytes=sealed.patch_bytes)


@contextmanager
def checkout(
    sealed: SealedCheckout,
    set_up: ArmSetup,
    *,
    home: Path | None,
    programs: Mapping[str, str],
    parent: Path | None = None,
) -> Iterator[Checkout]:
    """Lay out a fresh checkout for an arm, and remove it afterwards with all around it.

    Args:
        sealed: the repository with its one commit.
        set_up: what the arm does before its agent comes.
        home: the operator's home, in which it must not lie.
        programs: executables to be found first on PATH, by name.
        parent: the folder to make it in; the system's temporary one by default.

    Raises:
        WorkspaceError: it cannot be laid out, or is not what the preflight laid out.
    """
    place = neutral.place(parent, home=home)
    folder, around = neutral.new(place), surroundings(neutral.new(place, "surround"))
    kept = Kept(folder, around)
    try:
        programs_first(around, programs)
        single_commit.lay_out(sealed.folder, folder)
        yield _set_up(sealed, set_up, folder, around)
    except BaseException as error:
        remove_in_passing(kept, error)
        raise
    release(kept)


def _set_up(
    sealed: SealedCheckout, set_up: ArmSetup, folder: Path, around: Surroundings
) -> Checkout:
    places = arm_setup.Places(folder, around.home)
    found = commands.environment(around)
    argvs = [places.filled(argv) for argv in set_up.commands]
    done = commands.run(argvs, folder, found, seconds=set_up.seconds)
    rules = _rules(set_up, places)
    known = patch.after_set_up(sealed.folder, folder)
    server, digest = None, None
    if set_up.registration is not None:
        server = registration.registered(set_up.registration, places, found["PATH"])
        digest = registration.public_digest(server.command, server.environment, places)
    return Checkout(folder, around, sealed, done, known, server, digest, rules)


def _rules(set_up: ArmSetup, places: arm_setup.Places) -> DeliveredRules | None:
    """Deliver the rules file, and return it as the agent gets it."""
    rules = set_up.rules
    if rules is None:
        return None
    if rules.text is not None and rules.deliver == arm_setup.PROJECT_FILE:
        path = places.workspace / MEMORY_FILE
        if path.exists():
            raise WorkspaceError(
                f"the repository has a {MEMORY_FILE} at its pin, which the study's rules would"
                ' replace; write deliver = "appended-system-prompt"'
            )
        path.write_text(rules.text, encoding="utf-8")
    return arm_setup.delivered(rules, places)
