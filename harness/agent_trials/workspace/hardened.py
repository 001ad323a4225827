"""Runs git on a repository that nobody has vouched for, and nothing of that repository's.

What a checkout's own configuration could start is off in every call: hooks, the file system
monitor, filters (named or in attributes), text conversion, pagers, credential helpers, remotes and
their transports, lazy fetches of a partial clone. Replacement objects are not followed, the
operator's and the system's configuration is not read, no index is refreshed on disk, and nothing of
the environment but PATH (its absolute folders) reaches git. The repository is named, not searched
for, so that its owner does not matter.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GIT_SECONDS = 120.0
"""How long one call may take; everything here reads or writes local files."""

# Where git or its libraries live outside the loader's own folders (macOS, nix, conda).
_PASSED_ON = ("DEVELOPER_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

_VARIABLES = {
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.autocrlf": "false",
    "credential.helper": "",
    "diff.external": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.directory": "*",
    "submodule.recurse": "false",
}

_DRIVER_KEYS = {"clean": "", "smudge": "", "process": "", "required": "false", "textconv": ""}


def run(
    checkout: Path,
    *arguments: str,
    given: bytes = b"",
    settings: Mapping[str, str] | None = None,
    index: Path | None = None,
    further: Mapping[str, str] | None = None,
    git_dir: Path | None = None,
) -> bytes:
    """Return what git prints for a command in the checkout whose ``.git`` lies in this folder.

    ``given`` is its input, ``settings`` are further ones for this call, ``index`` is used instead
    of the repository's own, ``further`` are variables for this call. ``git_dir`` is a repository
    that lies elsewhere, so that nothing of the folder's own ``.git`` is read.

    Raises:
        WorkspaceError: git is missing, failed, or took too long.
    """
    try:
        done = subprocess.run(
            (*command(checkout, settings or {}, git_dir), *arguments),
            cwd=checkout,
            env=environment()
            | ({"GIT_INDEX_FILE": str(index)} if index else {})
            | dict(further or {}),
            input=given,
            capture_output=True,
            check=False,
            timeout=GIT_SECONDS,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkspaceError(f"git {arguments[0]} failed in {checkout}: {error}") from error
    if done.returncode != 0:
        raise WorkspaceError(failure(checkout, arguments[0], done.stderr))
    return done.stdout


def command(
    checkout: Path, settings: Mapping[str, str], git_dir: Path | None = None
) -> tuple[str, ...]:
    """Return the beginning of every call: git itself, the settings, the repository."""
    pairs = {**_SETTINGS, **settings}.items()
    options = (part for name, value in pairs for part in ("-c", f"{name}={value}"))
    # git starts inside the checkout, where a relative path would lead elsewhere.
    top = checkout.absolute()
    repository = (git_dir or top / ".git").absolute()
    place = (f"--git-dir={repository}", f"--work-tree={top}")
    return (_executable(), "--no-pager", "--literal-pathspecs", *options, *place)


def environment() -> dict[str, str]:
    """Return all that git's environment holds."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed_on, **_VARIABLES, "PATH": _path()}


def failure(checkout: Path, subject: str, stderr: bytes) -> str:
    """Return the sentence for a call that failed."""
    said = stderr.decode("utf-8", "replace").strip().splitlines()
    return f"git {subject} failed in {checkout}: {said[-1] if said else 'without a word'}"


def _path() -> str:
    """Return PATH without relative folders: git runs inside a repository."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


def _executable() -> str:
    found = shutil.which("git", path=_path())
    if found is None:
        raise WorkspaceError("git is not on PATH; install it")
    return found


def quiet_drivers(checkout: Path) -> dict[str, str]:
    """Return the settings that switch off every filter that the repository's configuration names.

    Raises:
        WorkspaceError: a filter has a name that no command line can spell.
    """
    listed = run(checkout, "config", "--list", "-z", "--name-only").decode(
        "utf-8", "surrogateescape"
    )
    settings = {}
    for key in listed.split("\0"):
        section, _, rest = key.partition(".")
        name = rest.rpartition(".")[2]
        if section in {"filter", "diff"} and name in _DRIVER_KEYS:
            if "=" in key or "\n" in key:
                what = f"the configuration of {checkout} names the driver {rest!r}"
                raise WorkspaceError(f"{what}, which cannot be switched off; remove it")
            settings[key] = _DRIVER_KEYS[name]
    return settings
