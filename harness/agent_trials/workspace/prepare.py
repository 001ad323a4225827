"""Makes a checkout of a repository at its pin: detached, clean, of that one commit alone.

Where it comes from:
    a folder that is no repository      committed as a rehearsal commits it
    a repository on this machine        fetched from its path or ``file://`` address
    an ``https://`` address             fetched, the pin and nothing else

git runs as hardened as everywhere (``hardened``): no hooks, no filters, no submodules. For a fetch
the one protocol that the address names is allowed, and the operator's proxy and certificate
variables are passed on. Nothing else of the operator's is: no git configuration, no credential
helper, no ssh. The repositories of a study are public; for another one the operator makes the
checkout, and the pin is checked all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_trials import process
from agent_trials.errors import AgentError, WorkspaceError
from agent_trials.workspace import git
from agent_trials.workspace.hardened import command, environment, run

if TYPE_CHECKING:
    from pathlib import Path

FETCH_SECONDS = 1800.0
"""How long one fetch may take."""

_NOTE = "agent-trials-prepared-ms"

PROTOCOLS = ("https", "file")

_PASSED_ON = (
    "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
)  # fmt: skip
_NOT_THERE = ("not our ref", "couldn't find remote ref", "unadvertised object")


def make(url: str, pin: str, into: Path, *, local: Path | None) -> None:
    """Make a checkout at the pin in a folder that does not exist yet.

    Args:
        url: the repository's address as the study writes it.
        pin: a full commit id.
        into: the new checkout; after an error it may be there in part, for the caller to remove.
        local: the folder of this machine that the address names, None where it names none.

    Raises:
        WorkspaceError: the address cannot be fetched from, or does not have the pin.
    """
    if local is None or is_repository(local):
        _fetch(str(local or url), pin, into)
    else:
        found = git.commit_folder(local, into)
        if found != pin:
            raise WorkspaceError(f"the folder {url} makes the commit {found}, not the pin {pin}")
    run(into, "checkout", "--quiet", "--detach", pin)


def note(checkout: Path, milliseconds: int) -> None:
    """Keep what a checkout took to make inside its ``.git``, where it changes no file of it."""
    (checkout / ".git" / _NOTE).write_text(f"{milliseconds}\n", encoding="ascii")


def noted(checkout: Path) -> int | None:
    """Return the milliseconds that ``note`` kept, None for a checkout that somebody else made."""
    try:
        text = (checkout / ".git" / _NOTE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() else None


def is_repository(folder: Path) -> bool:
    """Tell whether a folder is a git repository itself, with a work tree or bare."""
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return bare or (folder / ".git").exists()


def fetch(into: Path, address: str, pin: str, *, git_dir: Path | None = None) -> None:
    """Fetch one commit, and nothing else, into the repository in a folder (or at ``git_dir``).

    Raises:
        WorkspaceError: the address cannot be fetched from, or does not have the pin.
    """
    result = _git_fetch(into, address, pin, _protocol(address), git_dir)
    if result.exit_code != 0:
        raise WorkspaceError(_failure(address, pin, result))
    if run(into, "cat-file", "-t", pin, git_dir=git_dir).strip() != b"commit":
        raise WorkspaceError(f"{pin} is in {address}, and is no commit")


def _fetch(address: str, pin: str, into: Path) -> None:
    _protocol(address)
    into.mkdir(parents=True)
    run(into, "init", "--quiet", "--template=", "--initial-branch=main", "--object-format=sha1")
    fetch(into, address, pin)


def _protocol(address: str) -> str:
    found = "file" if address.startswith("/") else address.partition("://")[0]
    if found not in PROTOCOLS:
        raise WorkspaceError(f"{address} is neither an https:// nor a file:// address, nor a path")
    return found


def _git_fetch(
    into: Path, address: str, pin: str, protocol: str, git_dir: Path | None
) -> process.ProcessResult:
    words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--")
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    started = process.Command(
        (*command(into, {}, git_dir), *words, address, pin),
        into,
        {**environment(), **passed_on, "GIT_ALLOW_PROTOCOL": protocol},
    )
    try:
        return process.run(started, process.Silent(), process.Limits(FETCH_SECONDS))
    except AgentError as error:
        raise WorkspaceError(f"git fetch cannot be started: {error}") from error


def _failure(address: str, pin: str, result: process.ProcessResult) -> str:
    if result.timed_out:
        return f"{address} did not send the pin within {FETCH_SECONDS:g} s"
    said = result.stderr.decode("utf-8", "replace")
    if any(words in said for words in _NOT_THERE):
        return f"{address} has no commit {pin}"
    lines = said.strip().splitlines()
    return f"git fetch failed from {address}: {lines[-1] if lines else 'without a word'}"
