"""The patches of one arm as the official evaluation of SWE-bench takes them.

One JSON object a line, in the order of the ids: ``instance_id``, ``model_name_or_path`` and
``model_patch``. An attempt that changed nothing has an empty patch and is submitted as such; one
that left no patch at all is missing, and is named. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN_ID_DIGITS = 16


@dataclass(frozen=True)
class Predictions:
    """One arm's file.

    ``missing`` are the instances of the plan that have no patch; they are not in the file.
    """

    model: str
    patches: Mapping[str, str]
    missing: tuple[str, ...]

    @property
    def content(self) -> bytes:
        """Return the file's bytes; the same patches give the same bytes."""
        rows = (
            {"instance_id": name, "model_name_or_path": self.model, "model_patch": patch}
            for name, patch in sorted(self.patches.items())
        )
        return b"".join(json.dumps(row, ensure_ascii=True).encode("ascii") + b"\n" for row in rows)

    @property
    def digest(self) -> str:
        """Return the digest of the file's bytes."""
        return canonical.digest(self.content)

    @property
    def run_id(self) -> str:
        """Return the evaluation's run id.

        It holds the digest: the official evaluation answers a run id that it has seen with the
        verdicts of then, whatever the patches are now.
        """
        return f"agent-trials-{self.digest.removeprefix('sha256:')[:RUN_ID_DIGITS]}"


def predictions(
    model: str, planned: tuple[str, ...], patches: Mapping[str, bytes | None]
) -> Predictions:
    """Return one arm's predictions.

    Args:
        model: the name under which the arm is submitted, ``<study>-<arm>``.
        planned: the instance ids of the plan.
        patches: the patch of each instance; one that is absent or None is missing.

    Raises:
        EvaluationError: a patch is no UTF-8, which the official format cannot hold: binary files
        are in
            a patch as text, so it is no patch of git's.
    """
    found: dict[str, str] = {}
    for name in planned:
        patch = patches.get(name)
        if patch is None:
            continue
        try:
            found[name] = patch.decode("utf-8")
        except UnicodeDecodeError as error:
            raise EvaluationError(
                f"the patch of {name} holds a byte ({error.start}) that is not UTF-8, which the"
                " format of predictions cannot hold; look at the patch beside the ledger"
            ) from error
    return Predictions(model, found, tuple(name for name in planned if name not in found))
