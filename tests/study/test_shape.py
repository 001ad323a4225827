"""Whatever a file holds is answered with sentences, and never with an exception of another kind."""

from __future__ import annotations

import copy
import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_trials.errors import StudyError
from agent_trials.study import manifest, shape
from agent_trials.study.settings import Manifest

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " ", "operator", "x", "../x", "{prompt}", "\0", "a" * 9000, "é"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - JSON
    """Return every place in a document but its top."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    inside = [place for key, item in items for place in places(item, (*path, key))]
    return inside if path == () else [path, *inside]


def put(document: Any, path: tuple[Any, ...], value: object) -> None:  # noqa: ANN401 - JSON
    """Put a value in a place of a document."""
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


@pytest.mark.parametrize("name", ["study", "key"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_anything_at_any_place_is_a_study_or_a_sentence(
    folder: Path, name: str, data: st.DataObject
) -> None:
    original = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
    document = copy.deepcopy(original)
    path = data.draw(st.sampled_from(places(document)))
    put(document, path, data.draw(VALUES))
    (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
    kept = (folder / f"{name}.toml").rename(folder / f"{name}.kept")
    try:
        manifest.load(folder)
    except StudyError as error:
        for problem in error.problems:
            assert "see docs/study.md" not in str(problem), problem
            assert "\n" not in str(problem)
    finally:
        kept.rename(folder / f"{name}.toml")
        (folder / f"{name}.json").unlink()


@given(VALUES.filter(lambda value: isinstance(value, dict)))
@example({})
def test_a_document_that_is_nothing_like_a_study_is_named_missing_key_by_key(
    document: dict[str, Any],
) -> None:
    fitted = shape.fit(document, Manifest)

    assert fitted.value is None
    assert any(finding.what == "is missing" for finding in fitted.findings)
    for key in document:
        assert any(finding.path[:1] == (key,) for finding in fitted.findings)


def test_the_keys_of_a_place_are_those_of_its_dataclass() -> None:
    freshness = ("arms", 0, "mcp_servers", "docs", "freshness")

    assert shape.keys(Manifest, ("schedule",))[:2] == ("repetitions", "arm_order")
    assert shape.keys(Manifest, ("transports", "cli", "prices", 1))[0] == "above_prompt_tokens"
    assert shape.keys(Manifest, freshness) == (
        "kind",
        "tool",
        "matches",
        "arguments",
        "command",
        "path",
        "ignore_keys",
    )
    assert shape.keys(Manifest, ("schedule", "seed")) == ()
