"""Words that tell an arm are replaced, and nothing else."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agent_trials.graders.citations import Corpora
from agent_trials.graders.words import ArmWords, neutral
from agent_trials.study.settings import (
    AdjudicatorSettings,
    ArmSettings,
    McpServerSettings,
    ProviderArm,
    ProviderSettings,
    ToolCall,
)

TEMPORARY = "/" + "tmp"
SERVER = McpServerSettings(command=("x",), allow=("docs.search",), probe=ToolCall(tool="t"))
CORPUS = Corpora({"docs/a.md": "A\n", "src/docs-mcp/b.md": "B\n"})
HOME = "/" + "home/op/checkouts/handbook"
ARMS = (ArmSettings(id="plain"), ArmSettings(id="docs-mcp", mcp_servers={"docs": SERVER}))


def words(**changed: tuple[str, ...]) -> ArmWords:
    settings = AdjudicatorSettings(
        transport="http",
        model="m",
        limit_usd="1",  # type: ignore[arg-type] # text, as a manifest has it
        arm_words=changed.get("arm", ()),
        keep_words=changed.get("keep", ()),
    )
    return ArmWords.of(ARMS, settings, [HOME])


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("docs.search said so", "[tool] said so", 1),
        ("docs_search said so", "[tool] said so", 1),
        ("mcp__docs__docs_search said so", "[tool] said so", 1),
        ("the docs server", "the [source] server", 1),
        ("docs/install.md:3 says", "docs/install.md:3 says", 0),
        ("see my-docs and docs.md:1", "see my-docs and docs.md:1", 0),
        (f"{TEMPORARY}/workspace-0123456789abcdef/docs/a.md:3", "docs/a.md:3", 1),
        ("/private/var/x/workspace-0123456789abcdef/a.md:3", "a.md:3", 1),
        (f"it lay in {TEMPORARY}/at-xyz/file.txt", "it lay in [path]", 1),
        ("Grep found it", "[tool] found it", 1),
        ("Docs-MCP and DOCS.SEARCH", "[setup] and [tool]", 2),
        ("MCP__docs__docs_get and mcp__docs", "[tool] and [tool]", 2),
        ("docs\u2011mcp did it", "[setup] did it", 1),
        ("see https://docs-mcp.example/x", "see https://[setup].example/x", 1),
        ("gone/docs-mcp/y.md:3", "gone/[setup]/y.md:3", 1),
        ("src/docs-mcp/b.md:1 and src/docs-mcp/", "src/docs-mcp/b.md:1 and src/docs-mcp/", 0),
        (f"file://{TEMPORARY}/workspace-0123456789abcdef/docs/a.md:3", "docs/a.md:3", 1),
        (f"{TEMPORARY}/elsewhere/docs/a.md:3", "docs/a.md:3", 1),
        (f"({HOME}/docs/a.md:3) and {HOME}/gone.md:3.", "(docs/a.md:3) and gone.md:3.", 2),
        (f"in {HOME}, that is", "in [path], that is", 1),
        ("/srv/other/docs/a.md:3", "docs/a.md:3", 1),
        ("POST /v1/jobs", "POST /v1/jobs", 0),
        ("https://docs.example/docs/b", "https://docs.example/docs/b", 0),
        ("plain-text is not plain", "plain-text is not [setup]", 1),
        ("\U0001d521ocs \U0001f600", "\U0001d521ocs \U0001f600", 0),
    ],
)
def test_replaces_names_of_tools_servers_and_folders(text: str, expected: str, count: int) -> None:
    assert neutral(text, words(), CORPUS) == (expected, count)


@pytest.mark.parametrize(
    "text",
    ["/a" * 200_000, "docs-mcp/" * 40_000, f"{'/a' * 5000}/docs/a.md"],
    ids=["path", "names", "end"],
)
def test_no_text_takes_longer_than_it_is_long(text: str) -> None:
    """A quadratic search would hold a batch for hours."""
    changed, count = neutral(text, words(), CORPUS)

    assert count == text.count("docs-mcp") + text.endswith("docs/a.md")
    assert ("docs-mcp" in changed) is False


def test_what_only_some_commands_have_tells_their_arm() -> None:
    provider = ProviderSettings(
        arms={
            "plain": ProviderArm(allowed_tools=("read",)),
            "docs-mcp": ProviderArm(allowed_tools=("read", "handoff"), evidence=("ak-docs",)),
        }
    )
    settings = AdjudicatorSettings(transport="http", model="m", limit_usd=Decimal(1))
    arms = (*ARMS, ArmSettings(id="other", model="some-model-5"))
    found = ArmWords.of(arms, settings, (), provider)

    text = "I read what ak-docs printed, the handoff, as some-model-5"
    assert neutral(text, found, CORPUS) == (
        "I read what [tool] printed, the [tool], as [setup]", 3,
    )  # fmt: skip


def test_a_study_adds_words_and_keeps_others() -> None:
    """A question about [tool] is answered with its name."""
    changed = words(arm=("Bridge",), keep=("Docs.Search", "docs"))

    assert neutral("bridge has docs.search", changed, CORPUS) == ("[setup] has docs.search", 1)
