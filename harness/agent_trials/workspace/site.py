"""The workspace of one attempt, of whichever kind: laid out, collected, removed.

The type of ``request.corpus`` says which kind it is. A kind is a context manager that gives a
``Site``; what is laid out for it stands in a module of its own. After the agent has ended and
before anything is removed, ``collect`` makes plain data of what is to be kept of the workspace.
"""

from __future__ import annotations

import dataclasses
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent_trials.errors import PatchTooLargeError, WorkspaceError
from agent_trials.records import SealedCheckout, SealedCorpus
from agent_trials.study.settings import ProviderSettings
from agent_trials.workspace import checkout, export, snapshots, tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.records import AttemptRequest
    from agent_trials.workspace.checkout import Checkout
    from agent_trials.workspace.patch import Patch
    from agent_trials.workspace.tree import Tree

CLAUDE = "claude"
PATCH_NOT_MADE = "patch-not-made"
PATCH_TOO_LARGE = "patch-too-large"
_NO_PATCH = dict.fromkeys(("digest", "bytes", "files", "leftOut", "nested"))


@dataclass(frozen=True)
class Collected:
    """What is kept of a workspace: fields of the observation, private values, artifacts.

    ``problem`` is the code of what could not be told of it: the ground failed, not the agent.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    problem: str | None = None


class Site(Protocol):
    """Where an attempt happens."""

    @property
    def folder(self) -> Path:
        """Return the folder that the agent works in."""
        ...

    def told(self, request: AttemptRequest) -> AttemptRequest:
        """Return the request with what the agent must know of the site."""
        ...

    def collect(self) -> Collected:
        """Return what is kept, once the agent has ended; the workspace is as it left it."""
        ...

    def stay(self) -> None:
        """Keep the workspace for another turn, where its kind can have one."""
        ...


@contextmanager
def laid_out(request: AttemptRequest) -> Iterator[Site]:
    """Lay out the workspace of a request, or go back to a kept one.

    Raises:
        WorkspaceError: it cannot be laid out, changed where it must not, or cannot be removed.
    """
    corpus = request.corpus
    home = os.environ.get("HOME")
    place = Path(home) if home else None
    programs = {CLAUDE: request.executable} if request.executable else {}
    if isinstance(corpus, SealedCorpus):
        settings = request.transport_settings
        writable = isinstance(settings, ProviderSettings) and settings.writable
        with export.export(corpus, writable_arm=writable) as folder:
            if writable:
                export.open_up(folder, corpus.files)
            yield _Export(folder)
    elif request.kept is not None:
        with tree.again(request.kept) as kept:
            yield _Tree(kept)
    elif isinstance(corpus, SealedCheckout):
        with checkout.checkout(corpus, request.set_up, home=place, programs=programs) as found:
            yield _Checkout(found)
    else:
        with tree.tree(corpus, home=place, programs=programs) as made:
            yield _Tree(made)


@dataclass(frozen=True)
class _Export:
    folder: Path

    def told(self, request: AttemptRequest) -> AttemptRequest:
        return request

    def collect(self) -> Collected:
        return Collected()

    def stay(self) -> None:
        """A read-only export is made anew."""


@dataclass(frozen=True)
class _Tree:
    made: Tree

    @property
    def folder(self) -> Path:
        return self.made.folder

    def told(self, request: AttemptRequest) -> AttemptRequest:
        return dataclasses.replace(request, surroundings=self.made.surroundings)

    def collect(self) -> Collected:
        now, stops = self.made.states()
        artifacts = {"tree": snapshots.pack([("", now)])}
        if stops:
            named = [(f"stop-{number}", state) for number, state in enumerate(stops, 1)]
            artifacts["stops"] = snapshots.pack(named)
        return Collected(
            {
                "tree_digest": now.digest,
                "equal_digest": self.made.equal_digest,
                "setup_ms": sum(done.wall_time_ms for done in self.made.setup),
                "stops": tuple(self._stop(number, state) for number, state in enumerate(stops, 1)),
            },
            {"setup": [dataclasses.asdict(done) for done in self.made.setup]},
            artifacts,
        )

    def stay(self) -> None:
        self.made.stays = True

    def _stop(self, number: int, state: snapshots.State) -> dict[str, Any]:
        """Return what is public of one stop: its number in the turn, when, and the files' digest.

        ``pinned`` tells whether a child of the agent finds the harness's program as ``claude``.
        """
        at = state.facts.get("atNs")
        return {
            "stop": number,
            "atMs": at // 1_000_000 if type(at) is int else None,
            "stopHookActive": state.facts.get("stopHookActive") is True,
            "whole": state.facts.get("whole") is True,
            "pinned": state.facts.get("claude") == str(self.made.surroundings.programs / CLAUDE),
            "digest": state.digest,
        }


@dataclass(frozen=True)
class _Checkout:
    made: Checkout

    @property
    def folder(self) -> Path:
        return self.made.folder

    def told(self, request: AttemptRequest) -> AttemptRequest:
        server, rules, launch = self.made.server, self.made.rules, request.launch
        further = rules.arguments if rules else ()
        return dataclasses.replace(
            request,
            surroundings=self.made.surroundings,
            mcp_servers=request.mcp_servers if server is None else (server,),
            launch=dataclasses.replace(launch, arguments=(*launch.arguments, *further)),
        )

    def collect(self) -> Collected:
        rules, registered = self.made.rules, self.made.registration_digest
        fields: dict[str, Any] = {
            "setup_ms": sum(done.wall_time_ms for done in self.made.setup),
            "rules_digest": rules.digest if rules else None,
            "registration_digest": registered,
        }
        private: dict[str, Any] = {"setup": [dataclasses.asdict(done) for done in self.made.setup]}
        try:
            made = self.made.patch()
        except PatchTooLargeError as error:
            fields["patch"] = {**_NO_PATCH, "problem": PATCH_TOO_LARGE}
            private["patchProblem"] = str(error)
            return Collected(fields, private)
        except WorkspaceError as error:
            fields["patch"] = {**_NO_PATCH, "problem": PATCH_NOT_MADE}
            private["patchProblem"] = str(error)
            return Collected(fields, private, {}, PATCH_NOT_MADE)
        return Collected({**fields, "patch": _patch(made)}, private, {"patch": made.content})

    def stay(self) -> None:
        """A checkout has no further turn."""


def of_checkout(made: Checkout) -> Site:
    """Return the site of a checkout that was laid out elsewhere, such as in the preflight."""
    return _Checkout(made)


def _patch(made: Patch) -> dict[str, Any]:
    return {
        "digest": made.digest,
        "bytes": len(made.content),
        "files": made.files,
        "leftOut": made.left_out,
        "nested": made.nested,
        "problem": None,
    }
