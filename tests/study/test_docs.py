"""docs/study.md is the reference: it names what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from agent_trials.study import key, settings
from agent_trials.study.endpoints import ENDPOINTS
from agent_trials.study.transport_checks import CLI_PLACEHOLDERS, INDEX_PLACEHOLDERS

TEXT = (Path(__file__).parents[2] / "docs" / "study.md").read_text("utf-8")
SHAPES = [
    shape
    for module in (settings, key)
    for shape in vars(module).values()
    if isinstance(shape, type)
    and dataclasses.is_dataclass(shape)
    and shape.__module__ == module.__name__
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_key_of_the_manifest_and_the_answer_key_is_explained(shape: type[object]) -> None:
    assert dataclasses.is_dataclass(shape)
    names = {field.name for field in dataclasses.fields(shape)}
    missing = {name for name in names if not re.search(rf"[`\[.<]{name}[`\]. =<>,]", TEXT)}

    assert missing == set()


def test_every_endpoint_and_placeholder_is_named() -> None:
    names = [*ENDPOINTS, *(f"{{{name}}}" for name in {*CLI_PLACEHOLDERS, *INDEX_PLACEHOLDERS})]

    assert [name for name in names if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_plain_default_is_the_one_that_is_stated(shape: type[object]) -> None:
    """A default that is changed in the code must be changed here too."""
    assert dataclasses.is_dataclass(shape)
    for field in dataclasses.fields(shape):
        if isinstance(field.default, bool | int) or (
            isinstance(field.default, str) and field.default
        ):
            written = (
                str(field.default).lower() if field.default in {True, False} else field.default
            )
            stated = f'`"{written}"`' if isinstance(field.default, str) else f"`{written}`"
            rows = re.findall(rf"^\| `{field.name}` \|.*\|$", TEXT, re.MULTILINE)

            assert any(row.endswith(f"| {stated} |") for row in rows)
