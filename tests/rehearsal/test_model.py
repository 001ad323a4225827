from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents import repo_tools
from agent_trials.agents.repo_tools import RepoTools
from agent_trials.rehearsal import docs_server, model, replies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Work = Callable[[str, Mapping[str, Any]], tuple[str, bool]]

QUESTION = "Which command installs the tool, and where is `queue.db` put?\nCite path:line."
GREP = {"pattern": {"type": "string"}, "output_mode": {"type": "string"}, "-n": {}, "-i": {}}
CLI_TOOLS: list[dict[str, Any]] = [
    {"name": "Glob", "input_schema": {"properties": {"pattern": {"type": "string"}}}},
    {"name": "Grep", "input_schema": {"properties": GREP}},
    {"name": "Read", "input_schema": {"properties": {"file_path": {"type": "string"}}}},
]


def mcp_tools(prefix: str = "") -> list[dict[str, Any]]:
    return [
        {"name": prefix + tool["name"].replace(".", "_"), "input_schema": tool["inputSchema"]}
        for tool in docs_server.TOOLS
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a small repository."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Tool\n\nA queue.\n", encoding="utf-8")
    install = (
        "# Install\n\nRun `node tool.mjs install`; the command needs a disk.\n\n"
        "It puts `queue.db` into the data folder.\n"
    )
    (tmp_path / "docs" / "install.md").write_text(install, encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("Nothing of it.\n" * 30, encoding="utf-8")
    return tmp_path


def http(folder: Path) -> Work:
    """Work the tools of the http transport, MCP tools included."""
    tools, pages = RepoTools(folder), docs_server.Pages(str(folder))

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        if name.endswith("docs_search"):
            return docs_server.search(pages, given["query"], 10), False
        if name.endswith("docs_get"):
            return docs_server.get(pages, given["path"]), False
        answer = tools.call(name, given)
        return answer.text, answer.is_error

    return work


def cli(folder: Path) -> Work:
    """Work Grep and Read as the Claude Code CLI does, by the shapes recorded from it."""

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        if name == "Read":
            lines = (folder / given["file_path"]).read_text("utf-8").split("\n")
            chosen = list(enumerate(lines, 1))[given["offset"] - 1 :][: given["limit"]]
            return "\n".join(f"{number}\t{line}" for number, line in chosen), False
        pattern = re.compile(given["pattern"], re.IGNORECASE if given["-i"] else 0)
        hits = [
            f"{path.relative_to(folder)}:{number}:{line}"
            for path in sorted(folder.rglob("*.md"))
            for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
            if pattern.search(line)
        ]
        return "\n".join(hits) or "No matches found", False

    return work


def converse(
    question: Any,  # noqa: ANN401 - text or blocks
    tools: list[Any],
    work: Work,
) -> tuple[list[list[str]], str]:
    """Return the names of the tools asked for, turn by turn, and the answer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    turns: list[list[str]] = []
    for number in range(1, 6):
        body = {"model": "m", "max_tokens": 1024, "tools": tools, "messages": messages}
        reply = model.respond(body)
        assert reply == model.respond(json.loads(json.dumps(body)))
        finished = replies.message(reply, body, number)
        uses = [block for block in finished["content"] if block["type"] == "tool_use"]
        if not uses:
            return turns, finished["content"][0]["text"]
        turns.append([use["name"] for use in uses])
        results = []
        for use in uses:
            text, is_error = work(use["name"], use["input"])
            content: Any = [{"type": "text", "text": text}] if number % 2 else text
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": use["id"],
                    "content": content,
                    "is_error": is_error,
                }
            )
        messages += [
            {"role": "assistant", "content": finished["content"]},
            {"role": "user", "content": results},
        ]
    pytest.fail("more than five turns")


def citations(answer: str) -> list[tuple[str, int, str]]:
    found = re.findall(r"^- (.+?):([0-9]+): (.*)$", answer, re.MULTILINE)
    return [(path, int(number), text) for path, number, text in found]


def assert_cited(answer: str, folder: Path) -> None:
    cited = citations(answer)
    assert cited
    for path, number, text in cited:
        lines = (folder / path).read_text("utf-8").split("\n")
        assert lines[number - 1].strip() == text


def test_works_the_tools_of_the_http_transport(folder: Path) -> None:
    turns, answer = converse(QUESTION, list(repo_tools.DEFINITIONS), http(folder))

    assert [set(names) for names in turns] == [{"repo_search"}, {"repo_read"}]
    assert_cited(answer, folder)
    assert ("docs/install.md", 5) in [(path, number) for path, number, _ in citations(answer)]


@pytest.mark.parametrize("prefix", ["", "mcp__docs__"], ids=["http", "cli"])
def test_prefers_the_documentation_tools_where_they_are_offered(folder: Path, prefix: str) -> None:
    tools = [*repo_tools.DEFINITIONS, *mcp_tools(prefix)]
    turns, answer = converse(QUESTION, tools, http(folder))

    assert turns == [[f"{prefix}docs_search"], [f"{prefix}docs_get"]]
    assert_cited(answer, folder)


def test_works_the_tools_of_the_cli(folder: Path) -> None:
    turns, answer = converse(QUESTION, CLI_TOOLS, cli(folder))

    assert [set(names) for names in turns] == [{"Grep"}, {"Read"}]
    assert_cited(answer, folder)


def test_finds_the_question_among_what_the_cli_puts_around_it(folder: Path) -> None:
    blocks = [
        {
            "type": "text",
            "text": "<system-reminder>\nToday is Monday. Elephants.\n</system-reminder>",
        },
        {"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}},
    ]
    asked = [{"role": "system", "content": "Primary working directory: /tmp/x"}]
    body = {"tools": CLI_TOOLS, "messages": [{"role": "user", "content": blocks}, *asked]}

    patterns = [block["input"]["pattern"] for block in model.respond(body).content]

    assert patterns == [r"queue\.db", "installs", "command"]
    assert converse(blocks, CLI_TOOLS, cli(folder))[1].startswith(model.FOUND)


def test_goes_on_to_the_repository_where_the_documentation_fails(folder: Path) -> None:
    worked = http(folder)

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        return ("gone", True) if name.startswith("docs_") else worked(name, given)

    tools = [*repo_tools.DEFINITIONS, *mcp_tools()]
    turns, answer = converse(QUESTION, tools, work)

    assert [names[0] for names in turns] == ["docs_search", "repo_search", "repo_read"]
    assert_cited(answer, folder)


@pytest.mark.parametrize(
    "tools", [list(repo_tools.DEFINITIONS), [*repo_tools.DEFINITIONS, *mcp_tools()]]
)
def test_says_that_nothing_was_found(folder: Path, tools: list[Any]) -> None:
    turns, answer = converse("How are zebras quantised?", tools, http(folder))

    assert answer == model.NOTHING
    assert len(turns) <= 4


def test_a_second_search_looks_for_the_beginnings_of_words(folder: Path) -> None:
    turns, answer = converse("Installation?", list(repo_tools.DEFINITIONS), http(folder))

    assert len(turns) == 3
    assert ("docs/install.md", 1, "# Install") in citations(answer)


def test_a_read_that_fails_is_not_tried_again(folder: Path) -> None:
    worked = http(folder)

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        return ("denied", True) if name == "repo_read" else worked(name, given)

    turns, answer = converse(QUESTION, list(repo_tools.DEFINITIONS), work)

    assert len(turns) == 2
    assert_cited(answer, folder)


@pytest.mark.parametrize("tools", [[], None, [{"name": "repo_list"}], [{"name": "Glob"}]])
def test_says_so_without_a_tool_to_look_with(tools: Any) -> None:  # noqa: ANN401 - as the API takes them
    body = {"tools": tools, "messages": [{"role": "user", "content": QUESTION}]}

    assert model.respond(body).content[0]["text"] == model.NO_TOOL


def test_a_question_without_words_ends_at_once() -> None:
    body = {"tools": list(repo_tools.DEFINITIONS), "messages": [{"role": "user", "content": "?"}]}

    assert model.respond(body).content[0]["type"] == "text"


def test_takes_an_unknown_servers_tools_by_their_schemas() -> None:
    """Whatever a study calls its tools: ``search`` and ``get`` and their own argument names."""
    tools = [
        {"name": "doc_search", "input_schema": {"properties": {"phrase": {}}}},
        {"name": "doc_get", "input_schema": {"properties": {"uri": {}}}},
    ]

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        if name == "doc_search":
            return f"docs/install.md:3: {given['phrase']}", False
        return f"docs/install.md:5: {given['uri']} installs", False

    turns, answer = converse(QUESTION, tools, work)

    assert turns == [["doc_search"], ["doc_get"]]
    assert "docs/install.md:5" in answer


@given(question=st.text(max_size=60), data=st.data())
def test_every_question_ends_in_five_turns_with_what_stood_in_results(
    question: str, data: st.DataObject
) -> None:
    """Law: whatever is asked and answered, nothing is cited that no tool has shown."""
    results = st.sampled_from(
        ["", "no line", "a/b.md:3: words", "a.md:1:x\nb.md:2: y", "12\tnumbered", question]
    )
    shown: list[str] = []

    def work(name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        del name, given
        text = data.draw(results)
        shown.append(text)
        return text, data.draw(st.booleans())

    offered: list[list[Any]] = [
        CLI_TOOLS,
        list(repo_tools.DEFINITIONS),
        [*CLI_TOOLS, *mcp_tools("mcp__d__")],
    ]
    tools = data.draw(st.sampled_from(offered))
    _, answer = converse(question, tools, work)

    for _, _, text in citations(answer):
        assert any(text in result for result in shown)
