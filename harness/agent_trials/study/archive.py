"""A study's folder as one value, so that a ledger's openings can hold what was frozen."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from agent_trials.study.find import KEYS
from agent_trials.study.folder import LOCK, counted, read_folder

if TYPE_CHECKING:
    from pathlib import Path


def archive(folder: Path) -> dict[str, Any]:
    """Return the files that count, without the answer key.

    The value is ``{"files": {path: {"text": ...} or {"base64": ...}}, "digests": {path: digest},
    "lock": text or None}``. ``digests`` names the key too, so that the folder's digest can be
    computed from the archive; PROTOCOL.md is in ``files`` whole, in ``digests`` above its heading.
    """
    lock = folder / LOCK
    return {
        "files": {
            path: _content(folder / path)
            for path, entry in counted(folder)
            if path not in KEYS and entry.is_file(follow_symlinks=False)
        },
        "digests": dict(read_folder(folder).files),
        "lock": lock.read_text("utf-8") if lock.is_file() else None,
    }


def key_archive(folder: Path) -> dict[str, Any]:
    """Return the answer key alone, ``{"files": {"key.toml": {"text": ...}}}``."""
    return {"files": {name: _content(folder / name) for name in KEYS if (folder / name).is_file()}}


def _content(path: Path) -> dict[str, str]:
    content = path.read_bytes()
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}
