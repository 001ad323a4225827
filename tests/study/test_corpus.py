"""The corpus filter, each of its rules on a path that all the others let pass."""

from __future__ import annotations

import pytest

from agent_trials.study.corpus import path_refusal, refusal
from agent_trials.study.settings import CorpusFilter

RULES = CorpusFilter()


@pytest.mark.parametrize(
    "path", ["README.md", "docs/a/b.mdx", "src/x-1_2.ts", "package.json", "CLAUDE.md", "a/b.c.md"]
)
def test_lets_public_files_pass(path: str) -> None:
    assert path_refusal(path, RULES) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs/read me.md", "it holds a character outside the filter's characters"),
        ("docs/reád.md", "it holds a character outside the filter's characters"),
        ("docs/a.md\n", "it holds a character outside the filter's characters"),
        ("/etc/hosts.md", "it is no relative path inside the repository"),
        ("docs//a.md", "it is no relative path inside the repository"),
        ("../a.md", "a part of it begins with a dot"),
        (".github/a.md", "a part of it begins with a dot"),
        ("docs/.hidden.md", "a part of it begins with a dot"),
        ("x/node_modules/a.js", "the part 'node_modules' is excluded by the filter's parts"),
        ("dist/a.js", "the part 'dist' is excluded by the filter's parts"),
        ("pnpm-lock.yaml", "the word 'lock' is excluded by the filter's words"),
        ("docs/SECRETS.md", "the word 'secret' is excluded by the filter's words"),
        ("src/main.py", "its extension is not among the filter's extensions"),
        ("Makefile", "its extension is not among the filter's extensions"),
        ("md", "its extension is not among the filter's extensions"),
    ],
)
def test_says_why_a_path_stays_out(path: str, reason: str) -> None:
    assert path_refusal(path, RULES) == reason


def test_a_name_is_excluded_as_a_whole_part_only() -> None:
    """``distance.md`` is no build output."""
    assert path_refusal("docs/distance.md", RULES) is None


@pytest.mark.parametrize("mode", ["120000", "160000", "100755"], ids=["link", "module", "program"])
def test_keeps_out_what_is_no_plain_file(mode: str) -> None:
    reason = f"its mode {mode} is not among the filter's modes"

    assert refusal("a.md", mode=mode, size=1, rules=RULES) == reason


def test_keeps_out_what_is_above_the_bound() -> None:
    assert refusal("a.md", mode="100644", size=200_000, rules=RULES) is None
    assert refusal("a.md", mode="100644", size=200_001, rules=RULES) == (
        "it has 200,001 bytes and the filter's bound is 200,000"
    )
