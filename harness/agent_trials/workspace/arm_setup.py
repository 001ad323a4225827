"""An arm's set-up with everything filled in that can be, and the rules file that it brings.

``{home}`` and ``{workspace}`` stay in it until an attempt has them. A text that holds either path
is compared with those words in their place, since they differ in every attempt.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.records import ArmSetup, Registration, Rules
from agent_trials.workspace.mcp_command import absolute_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.study.settings import ArmSettings, CheckoutSettings

PROJECT_FILE = "project-file"
APPENDED = "appended-system-prompt"
WORKSPACE, HOME = "{workspace}", "{home}"
MOST_RULES_BYTES = 100_000
"""A text in an argument array may have 128 KiB on Linux."""

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Places:
    """The folders of one attempt that an arm's set-up may name."""

    workspace: Path
    home: Path

    def filled(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return words with the folders in them."""
        return tuple(
            word.replace(WORKSPACE, str(self.workspace)).replace(HOME, str(self.home))
            for word in words
        )

    def path(self, written: str) -> Path:
        """Return the path that a study's word names.

        Raises:
            WorkspaceError: it leads out of both folders.
        """
        (word,) = self.filled([written])
        path = Path(word).resolve()
        if not any(path.is_relative_to(each.resolve()) for each in (self.workspace, self.home)):
            raise WorkspaceError(
                f"{written} lies neither in the workspace nor in the attempt's home"
            )
        return path

    def neutral(self, text: str) -> str:
        """Return a text with words in place of the folders."""
        return text.replace(str(self.workspace), WORKSPACE).replace(str(self.home), HOME)


@dataclass(frozen=True)
class DeliveredRules:
    """A rules file as an attempt's agent gets it; ``digest`` is that of its neutral text."""

    text: str
    deliver: str
    digest: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the further arguments that deliver it, if arguments do."""
        return ("--append-system-prompt", self.text) if self.deliver == APPENDED else ()


def resolved(
    arm: ArmSettings, settings: CheckoutSettings, values: Mapping[str, str], folder: Path
) -> ArmSetup:
    """Return an arm's set-up with the study's parameters in it.

    Args:
        arm: the arm as the study states it.
        settings: how checkouts are laid out.
        values: the study's parameters; a value that is a path here becomes an absolute one.
        folder: the study's own, from which a rules file comes.

    Raises:
        WorkspaceError: a program or a rules file is not there.
    """
    known = {name: absolute_value(value) for name, value in values.items()}
    known["python"] = sys.executable
    commands = tuple(_command(command, known) for command in arm.setup)
    return ArmSetup(
        commands, settings.setup_seconds, _registration(arm, known), _rules(arm, known, folder)
    )


def delivered(rules: Rules, places: Places) -> DeliveredRules:
    """Return the rules file of an attempt.

    Raises:
        WorkspaceError: the set-up did not make it, it is no text, or is not the preflight's.
    """
    text = rules.text
    if text is None:
        text = _read(places.path(rules.file), rules.file)
    digest = canonical.digest(places.neutral(text).encode())
    if rules.digest not in {None, digest}:
        what = f"the set-up made another {rules.file} than in the preflight"
        raise WorkspaceError(f"{what}; make the set-up the same every time")
    return DeliveredRules(text, rules.deliver, digest)


def _command(command: Iterable[str], known: Mapping[str, str]) -> tuple[str, ...]:
    program, *rest = (_filled(word, known) for word in command)
    if program.startswith((WORKSPACE, HOME)):
        return (program, *rest)  # a set-up command before it may make it
    path = shutil.which(program)
    if path is None:
        raise WorkspaceError(f"the program {program!r} is not there; install it, or name its path")
    return (str(Path(path).absolute()), *rest)


def _filled(word: str, known: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), word)


def _registration(arm: ArmSettings, known: Mapping[str, str]) -> Registration | None:
    if arm.registration is None:
        return None
    server, file = (
        _filled(each, known) for each in (arm.registration.server, arm.registration.file)
    )
    return Registration(server, file, tuple(sorted(set(arm.registration.allow))))


def _rules(arm: ArmSettings, known: Mapping[str, str], folder: Path) -> Rules | None:
    if arm.rules is None:
        return None
    file = _filled(arm.rules.file, known)
    if file.startswith((WORKSPACE, HOME)):
        return Rules(file, arm.rules.deliver)
    return Rules(file, arm.rules.deliver, _read(folder / file, file))


def _read(path: Path, name: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"the rules file {name} cannot be read: {error}") from error
    if not text.strip() or len(text.encode()) > MOST_RULES_BYTES:
        what = f"the rules file {name} has {len(text.encode()):,} bytes"
        raise WorkspaceError(f"{what}; write 1 to {MOST_RULES_BYTES:,}, not blank")
    return text
