"""What a line only commits to: openings and artifacts beside the ledger, in ``FILE.private/``.

A commitment is SHA-256(salt ‖ field ‖ 0x00 ‖ bytes): 32 random bytes, the field's name, a zero
byte, and the canonical JSON of the value or the bytes of the artifact before compression. Openings
are made durable before the line that commits to them. One that no line matches is the remains of a
crash: it is told by its commitment, for the next line takes the same number.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.ledger.disk import open_for_writing, sync_folder, write_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_trials.ledger.disk import Disk

SALT_BYTES = 32
INLINE_BYTES = 16 * 1024
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_BLOCK = 1 << 16


def private_folder(ledger: Path) -> Path:
    """Return the folder of a ledger's openings and artifacts."""
    return Path(f"{ledger}.private")


def commitment(salt: bytes, field: str, data: bytes) -> str:
    """Return what a line says of a private field."""
    return f"sha256:{hashlib.sha256(salt + field.encode() + bytes(1) + data).hexdigest()}"


class Artifact(bytes):
    """Private bytes to be kept in a compressed file of their own; plain bytes are kept so too."""


@dataclass(frozen=True)
class Sealed:
    """A private field on its way to the disk; ``inline`` ones stand in the opening itself."""

    field: str
    salt: bytes
    data: bytes
    inline: bool

    @property
    def commitment(self) -> str:
        """Return what the line says of it."""
        return commitment(self.salt, self.field, self.data)


def seal(private: Mapping[str, Any]) -> tuple[Sealed, ...]:
    """Return private fields ready to be written: JSON values, or bytes as artifacts.

    Raises:
        TypeError: a value has no canonical text (a float, say).
    """
    sealed = []
    for field, value in sorted(private.items()):
        if not _FIELD.fullmatch(field):
            raise RuntimeError(f"{field!r} is no name for a private field")
        is_artifact = isinstance(value, bytes)
        data = bytes(value) if is_artifact else canonical.dumps(value)
        inline = not is_artifact and len(data) <= INLINE_BYTES
        sealed.append(Sealed(field, secrets.token_bytes(SALT_BYTES), data, inline))
    return tuple(sealed)


class Vault:
    """Writes openings; always under the ledger's append lock."""

    def __init__(self, ledger: Path, disk: Disk) -> None:
        self._folder = private_folder(ledger)
        self._disk = disk

    def create(self) -> None:
        """Make the empty folder, mode 0700; its own name is for the caller to make last.

        Raises:
            OSError: it exists, or cannot be made; nothing is left behind.
        """
        self._disk.create_folder(self._folder)
        try:
            self._disk.create_folder(self._folder / "artifacts")
            os.close(self._disk.create(self._folder / "openings.jsonl"))
            sync_folder(self._disk, self._folder)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self._folder)

    def put(self, openings: Sequence[tuple[int, Sealed]]) -> None:
        """Write the openings of the lines that come next, by number; durable on return."""
        if not openings:
            return
        written = b"".join(self._line(seq, sealed) for seq, sealed in openings)
        if any(not sealed.inline for _, sealed in openings):
            sync_folder(self._disk, self._folder / "artifacts")
        descriptor = open_for_writing(self._folder / "openings.jsonl")
        try:
            size = self._mend(descriptor)
            write_all(self._disk, descriptor, written, size)
            self._disk.sync(descriptor)
        finally:
            os.close(descriptor)

    def _line(self, seq: int, sealed: Sealed) -> bytes:
        fields: dict[str, Any] = {"field": sealed.field, "salt": sealed.salt.hex(), "seq": seq}
        if sealed.inline:
            fields["value"] = json.loads(sealed.data)
        else:
            fields["artifact"] = self._artifact(sealed.data)
        return canonical.dumps(fields) + b"\n"

    def _artifact(self, data: bytes) -> str:
        name = f"{secrets.token_hex(16)}.gz"
        descriptor = self._disk.create(self._folder / "artifacts" / name)
        try:
            write_all(self._disk, descriptor, gzip.compress(data, mtime=0), 0)
            self._disk.sync(descriptor)
        finally:
            os.close(descriptor)
        return name

    def _mend(self, descriptor: int) -> int:
        """Cut off the remains of a torn opening; return where the next one goes."""
        size = whole = os.fstat(descriptor).st_size
        while whole and os.pread(descriptor, 1, whole - 1) != b"\n":
            start = max(0, whole - _BLOCK)
            whole = start + os.pread(descriptor, whole - start, start).rfind(b"\n") + 1
        if whole < size:
            self._disk.truncate(descriptor, whole)
        return whole
