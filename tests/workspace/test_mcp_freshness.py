"""Whether an index belongs to the checkout: made again elsewhere, it must be the same."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_trials.study.settings import IndexFreshness, McpServerSettings, ToolCall
from agent_trials.workspace.mcp_command import Place
from agent_trials.workspace.mcp_config import resolve
from agent_trials.workspace.mcp_freshness import index_problems, same_json

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.workspace.mcp_command import McpProblem

INDEXER = """
import json, os, pathlib, sys
root, config = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
pages = sorted(str(page.relative_to(root)) for page in root.rglob("*.md"))
index = {"generatedAt": os.getpid(), "project": root.name, "pages": pages}
index["config"] = config.read_text()
(root / ".docs").mkdir(exist_ok=True)
(root / ".docs/index.json").write_text(json.dumps(index))
"""
COMMAND = ("{python}", "-I", "-S", "-c", INDEXER, "{scratch}", "{config}")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a fresh index, and a .git file as worktrees have."""
    folder = tmp_path / "handbook"
    (folder / ".docs").mkdir(parents=True)
    (folder / "guide.md").write_text("# Guide\n", encoding="ascii")
    (folder / "docs.json").write_text("{}", encoding="ascii")
    (folder / ".git").write_text("gitdir: /elsewhere\n", encoding="ascii")
    write_index(folder, pages=["guide.md"])
    return folder


def write_index(folder: Path, **more: Any) -> None:  # noqa: ANN401 - JSON
    index = {"config": "{}", "project": "handbook", "generatedAt": 0, "pages": ["guide.md"]} | more
    (folder / ".docs/index.json").write_text(json.dumps(index, indent=1), encoding="ascii")


def check(
    checkout: Path,
    command: tuple[str, ...] = COMMAND,
    *,
    seconds: float = 60.0,
    **more: Any,  # noqa: ANN401
) -> list[McpProblem]:
    given = {"path": ".docs/index.json", "ignore_keys": ("generatedAt",)} | more
    rule = IndexFreshness(kind="index", command=command, **given)
    declared = McpServerSettings(
        command=("{python}",),
        allow=("docs.get",),
        probe=ToolCall(tool="docs.get"),
        freshness=rule,
        environment=("DOCS",),
        config_candidates=("docs.json",),
    )
    resolved = resolve(
        declared,
        place=Place("docs-mcp", "docs", "handbook"),
        checkout=checkout,
        parameters={},
        environ={"PATH": os.defpath, "DOCS": "x", "HOME": "/home/operator"},
    )
    return index_problems(resolved, rule, deadline_seconds=seconds)


def test_an_index_of_this_checkout_is_fresh(checkout: Path) -> None:
    """Whatever its white space, the order of its keys, and the keys that differ each time."""
    before = (checkout / ".docs/index.json").read_bytes()

    assert check(checkout) == []
    assert (checkout / ".docs/index.json").read_bytes() == before


@pytest.mark.parametrize(
    "stale",
    [{"pages": []}, {"pages": ["guide.md", "gone.md"]}, {"project": "guide"}, {"more": 1}],
    ids=["a page is missing", "a page is gone", "another project", "one more key"],
)
def test_an_index_of_another_commit_is_stale(checkout: Path, stale: dict[str, Any]) -> None:
    write_index(checkout, **stale)
    [problem] = check(checkout)

    assert problem.what == (
        "the index '.docs/index.json' is stale: made again at the pin it differs"
    )


def test_without_the_ignored_keys_every_index_would_be_stale(checkout: Path) -> None:
    assert check(checkout, ignore_keys=())


def python(script: str, *arguments: str) -> tuple[str, ...]:
    return ("{python}", "-I", "-S", "-c", script, *arguments)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (python("pass"), "the command that makes the index again wrote no '.docs/index.json'"),
        (python("import sys; sys.exit('no: /home/operator')"), "ended with code 1"),
        (("{scratch}/gone",), "cannot be started"),
    ],
    ids=["it does nothing", "it fails", "it is not there"],
)
def test_an_index_that_cannot_be_made_again_is_not_fresh(
    checkout: Path, command: tuple[str, ...], says: str
) -> None:
    """A command that does nothing must not find the old index in its place."""
    [problem] = check(checkout, command)

    assert says in problem.what
    assert "/home" not in str(problem)
    assert str(checkout) not in str(problem)


def test_a_command_that_hangs_is_ended(checkout: Path) -> None:
    hangs = python("import signal; signal.pause()")

    assert "did not end within 0.2 s" in check(checkout, hangs, seconds=0.2)[0].what


def test_the_command_gets_what_the_server_gets_and_a_copy_without_git(checkout: Path) -> None:
    """A worktree's .git leads back to the repository, which the command must not touch."""
    script = """
import json, os, pathlib, sys
root = pathlib.Path(sys.argv[1])
told = {"names": sorted(root.iterdir(), key=str), "environ": sorted({*os.environ} - {"LC_CTYPE"})}
told["names"] = [path.name for path in told["names"]]
told["cwd"] = os.getcwd() == str(root)
(root / ".docs/index.json").write_text(json.dumps(told))
"""
    told = {"names": [".docs", "docs.json", "guide.md"], "environ": ["DOCS", "PATH"], "cwd": True}
    (checkout / ".docs/index.json").write_text(json.dumps(told), encoding="ascii")

    assert check(checkout, python(script, "{scratch}")) == []


def test_a_missing_index_is_told(checkout: Path) -> None:
    (checkout / ".docs/index.json").unlink()

    assert "there is no index '.docs/index.json'" in check(checkout)[0].what


def test_an_index_outside_the_checkout_is_none(checkout: Path) -> None:
    (checkout.parent / "index.json").write_text("{}", encoding="ascii")

    assert "there is no index '../index.json'" in check(checkout, path="../index.json")[0].what


def test_an_index_that_is_no_json_is_told(checkout: Path) -> None:
    (checkout / ".docs/index.json").write_text("{", encoding="ascii")

    assert "is no JSON" in check(checkout)[0].what


def test_a_checkout_that_cannot_be_copied_is_told(checkout: Path) -> None:
    os.mkfifo(checkout / "pipe")
    [problem] = check(checkout)

    assert "cannot be copied" in problem.what
    assert str(checkout) not in str(problem)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abt"), inner, max_size=3)
    ),
    max_leaves=8,
)


def stamped(value: Any, stamp: int) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value with another stamp in each of its objects."""
    if isinstance(value, dict):
        return {key: stamped(item, stamp) for key, item in value.items()} | {"t": stamp}
    return [stamped(item, stamp) for item in value] if isinstance(value, list) else value


@given(value=JSON)
def test_ignored_keys_do_not_count_at_any_depth(value: object) -> None:
    one, other = (json.dumps(stamped(value, stamp)).encode() for stamp in (1, 2))

    assert same_json(one, other, ["t"])


@given(one=JSON, other=JSON)
@example(one=[True], other=[1])
def test_whatever_differs_elsewhere_counts(one: object, other: object) -> None:
    """Also true and 1, which Python takes for equal."""
    first, second = (json.dumps(value, sort_keys=True).encode() for value in (one, other))

    assert same_json(first, second, []) == (first == second)


def test_json_nested_too_deeply_is_no_json() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000

    with pytest.raises(ValueError, match="deeply"):
        same_json(deep, deep, [])
