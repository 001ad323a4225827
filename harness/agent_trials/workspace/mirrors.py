"""A cache of repositories, each with the pins of studies and nothing else, for checkouts.

One bare repository per address. Every pin is fetched alone (depth 1), by git as hardened as
everywhere, with nothing of the operator's configuration. A run reads it and never the network.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.workspace import hardened, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME_CHARACTERS = 48


def place(cache: Path, address: str) -> Path:
    """Return where an address has its repository in a cache: a readable name, and a digest."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", address.partition("://")[2] or address).strip("-")
    digest = hashlib.sha256(address.encode()).hexdigest()[:12]
    return cache.absolute() / f"{readable[-_NAME_CHARACTERS:].strip('-')}-{digest}.git"


def has(mirror: Path, pin: str) -> bool:
    """Tell whether a repository holds a commit with all of its tree."""
    if not mirror.is_dir():
        return False
    try:
        hardened.run(mirror, "rev-list", "--objects", "--quiet", f"{pin}^{{tree}}", git_dir=mirror)
        kind = hardened.run(mirror, "cat-file", "-t", pin, git_dir=mirror)
    except WorkspaceError:
        return False
    return kind.strip() == b"commit"


def fill(cache: Path, address: str, pins: Iterable[str]) -> list[str]:
    """Fetch the pins that an address's repository lacks, and return them.

    Raises:
        WorkspaceError: a pin is not to be had; what was fetched before stays.
    """
    mirror = place(cache, address)
    missing = [pin for pin in dict.fromkeys(pins) if not has(mirror, pin)]
    if missing and not mirror.exists():
        _begin(mirror)
    for pin in missing:
        prepare.fetch(mirror, address, pin, git_dir=mirror)
        # A pin without a name would be cleared away by whoever tidies the repository up.
        hardened.run(mirror, "update-ref", f"refs/pins/{pin}", pin, git_dir=mirror)
    return missing


def source(folder: Path) -> Path:
    """Return the git folder of a repository that lies on this machine."""
    return folder / ".git" if (folder / ".git").exists() else folder


def _begin(mirror: Path) -> None:
    mirror.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mirror-", dir=mirror.parent) as scratch:
        folder = Path(scratch)
        hardened.run(folder, "init", "--quiet", "--template=", "--object-format=sha1")
        hardened.run(folder, "config", "core.bare", "true")
        (folder / ".git").rename(mirror)
