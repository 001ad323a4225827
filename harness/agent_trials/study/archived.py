"""A study as a ledger's openings hold it: what was frozen, whatever became of the folder since."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from agent_trials import canonical
from agent_trials.errors import LedgerError
from agent_trials.study import task_source
from agent_trials.study.document import JSON_SUFFIX
from agent_trials.study.find import KEYS, MANIFESTS
from agent_trials.study.folder import digest_of_files
from agent_trials.study.key import AnswerKey
from agent_trials.study.settings import Manifest
from agent_trials.study.shape import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")


@dataclass(frozen=True)
class Archived:
    """Manifest and answer key of a ledger; ``key`` is None where the study had none."""

    manifest: Manifest
    key: AnswerKey | None


def read(
    study: Mapping[str, Any] | None, key: Mapping[str, Any] | None, *, folder_digest: str
) -> Archived:
    """Return the study that a ledger committed to.

    Args:
        study: the opening of ``study``, None where it was not kept.
        key: the opening of ``key``, None where it was not kept.
        folder_digest: the digest that the ledger's line states for the folder.

    Raises:
        LedgerError: an archive is missing, is not that of the folder, or cannot be read any more.
    """
    if study is None or key is None:
        raise LedgerError("the openings of the ledger's study and key are not beside it")
    digests = study["digests"]
    if digest_of_files(digests) != folder_digest:
        raise LedgerError("the study that the ledger holds is not the folder that it names")
    manifest = _load(study["files"], digests, MANIFESTS, Manifest)
    if manifest is None:
        raise LedgerError("the ledger holds no manifest of its study")
    return Archived(manifest, _load(key["files"], digests, KEYS, AnswerKey))


def _load(
    files: Mapping[str, Any], digests: Mapping[str, str], names: Iterable[str], shape: type[T]
) -> T | None:
    name = next((name for name in names if name in files), None)
    if name is None:
        return None
    text = _content(files, digests, name).decode("utf-8")
    raw = json.loads(text) if name.endswith(JSON_SUFFIX) else tomllib.loads(text)
    raw, _ = task_source.expand(raw, lambda other: _content(files, digests, other))
    fitted = fit(raw, shape)
    if fitted.value is None or fitted.findings:
        raise LedgerError(
            f"{name} in the ledger cannot be read by this version: it was recorded by another one"
        )
    return fitted.value


def _content(files: Mapping[str, Any], digests: Mapping[str, str], name: str) -> bytes:
    """Return the bytes of a text file of the archive, as the ledger's line names them."""
    text = files.get(name, {}).get("text")
    content = b"" if text is None else text.encode("utf-8")
    if text is None or canonical.digest(content) != digests.get(name):
        raise LedgerError(f"{name} in the ledger is not the file that the ledger names")
    return content
