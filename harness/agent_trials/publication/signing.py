"""Signs heads with an SSH key, so that what was published early can be told from what came later.

``ssh-keygen -Y sign`` makes the signatures (namespace ``agent-trials``), ``ssh-keygen -Y verify``
checks them; both are part of OpenSSH 8.1 and newer. A head is signed as a file of one line, exactly
as it is printed. Nothing ever asks for a passphrase: a key that has one is unlocked in ssh-agent,
and its public key is named instead.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import SigningError
from agent_trials.publication import heads
from agent_trials.study import disk

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMESPACE = "agent-trials"
SIGNER = "operator"
SECONDS = 60.0
"""How long one signature may take: a key in hardware waits to be touched."""
_PASSED_ON = ("HOME", "SSH_AUTH_SOCK")
_TRIAL = b"0:sha256:" + b"0" * 64 + b"\n"


@dataclass(frozen=True)
class Signer:
    """A key that was tried: it signs, and its public key verifies. ``key`` is never read here."""

    program: str
    key: Path
    public_key: str
    environ: Mapping[str, str]

    @classmethod
    def of(cls, key: Path, environ: Mapping[str, str] = os.environ) -> Signer:
        """Return a signer with the key, once it has signed something.

        Raises:
            SigningError: ssh-keygen or the key is missing, or the key cannot sign.
        """
        program = shutil.which("ssh-keygen", path=environ.get("PATH", os.defpath))
        if program is None:
            raise SigningError("ssh-keygen is not on PATH; install OpenSSH, or leave out --sign")
        if not key.is_file():
            raise SigningError(f"the key {key} does not exist; make one: ssh-keygen -t ed25519")
        kept = {name: environ[name] for name in _PASSED_ON if name in environ}
        signer = cls(program, key, "", {**kept, "SSH_ASKPASS_REQUIRE": "never"})
        signer = cls(program, key, signer._read_public_key(), signer.environ)
        signer._try()
        return signer

    def _read_public_key(self) -> str:
        beside = self.key.with_name(f"{self.key.name}.pub")
        for path in (beside, self.key):
            found = path.read_text("utf-8", "replace").split() if path.is_file() else []
            if len(found) > 1 and not found[0].startswith("-"):
                return " ".join(found[:2])
        return " ".join(self._run("-y", "-P", "", "-f", str(self.key)).decode().split()[:2])

    def _try(self) -> None:
        with tempfile.TemporaryDirectory(prefix="at-") as made:
            signed = self.sign(Path(made) / "trial.head", _TRIAL.decode().strip())
            self._run(*signed.arguments, given=_TRIAL)

    def sign(self, path: Path, head: str) -> Signed:
        """Write a head, its signature and the public key that verifies it; each whole or not.

        Args:
            path: where the head goes, ``….head``; in a folder that exists.
            head: as it is printed.

        Raises:
            SigningError: it cannot be signed or written.
        """
        message = f"{head}\n".encode("ascii")
        how = ("-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(self.key))
        signature = self._run(*how, given=message)
        signed = Signed(path)
        line = f'{SIGNER} namespaces="{NAMESPACE}" {self.public_key}\n'.encode()
        known = signed.signers.read_bytes() if signed.signers.is_file() else b""
        try:
            disk.replace(path, message)
            disk.replace(signed.signature, signature)
            disk.replace(signed.signers, known if line in known else known + line)
        except OSError as error:
            raise SigningError(f"{path} cannot be written ({error.strerror})") from error
        return signed

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        try:
            done = subprocess.run(
                (self.program, *arguments),
                input=given,
                env=dict(self.environ),
                capture_output=True,
                check=False,
                timeout=SECONDS,
                start_new_session=True,  # without a terminal nothing can ask for a passphrase
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SigningError(f"the key {self.key} did not sign: {error}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SigningError(
                f"the key {self.key} cannot sign ({said[-1] if said else 'without a word'}); if it"
                " has a passphrase, add it to ssh-agent and name its public key"
            )
        return done.stdout


@dataclass(frozen=True)
class Signed:
    """A head that was signed; ``path`` holds it."""

    path: Path

    @property
    def signature(self) -> Path:
        """Return where the signature is."""
        return self.path.with_name(f"{self.path.name}.sig")

    @property
    def signers(self) -> Path:
        """Return where the public keys are that sign here."""
        return self.path.with_name("study.lock.signers" if _is_lock(self.path) else "heads.signers")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return what ssh-keygen is given to verify it; the head is its input."""
        where = ("-f", str(self.signers), "-I", SIGNER, "-n", NAMESPACE, "-s", str(self.signature))
        return ("-Y", "verify", *where)

    @property
    def command(self) -> str:
        """Return the command that verifies it."""
        return f"{shlex.join(('ssh-keygen', *self.arguments))} < {shlex.quote(str(self.path))}"


def sign_freeze(signer: Signer, study: Path, series_id: str) -> Signed:
    """Sign the head of a series before its first ledger, beside the study's lock."""
    return signer.sign(study / heads.LOCK_HEAD, f"0:{series_id}")


def sign_ledger(signer: Signer, ledger: Path, name: str, head: str) -> Signed:
    """Sign a head of a ledger, beside it; ``name`` says which, ``run-1-opened``."""
    folder = heads.folder(ledger)
    folder.mkdir(mode=0o700, exist_ok=True)
    return signer.sign(folder / f"{name}.head", head)


def _is_lock(path: Path) -> bool:
    return path.name == heads.LOCK_HEAD
