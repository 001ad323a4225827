"""The documentation server of the rehearsals: its protocol, its answers, what it never reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent_trials
from agent_trials.records import McpServer
from agent_trials.rehearsal.docs_server import MAX_BYTES, DocsServer, Pages, get, main, search
from agent_trials.workspace.mcp_server import connect

MODULE = "agent_trials.rehearsal.docs_server"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small handbook."""
    folder = tmp_path / "handbook"
    (folder / "docs").mkdir(parents=True)
    (folder / "README.md").write_text("# Handbook\n\nThe guide of the tool.\n", encoding="utf-8")
    (folder / "docs/install.md").write_text(
        "# Install\n\nRun `pip install handbook` in the shell.\n", encoding="utf-8"
    )
    (folder / "docs/usage.mdx").write_text("# Usage\n\nStart the tool.\n", encoding="utf-8")
    return folder


def ask(server: DocsServer, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = server.answer(json.dumps(message).encode())
    assert answer is not None
    assert answer["id"] == 7
    return answer


def call(checkout: Path, tool: str, **arguments: Any) -> tuple[str, bool]:  # noqa: ANN401 - JSON
    answer = ask(DocsServer(Pages(str(checkout))), "tools/call", name=tool, arguments=arguments)
    [block] = answer["result"]["content"]
    return block["text"], answer["result"]["isError"]


def run(checkout: Path, *lines: bytes) -> subprocess.CompletedProcess[bytes]:
    """Give a server of its own these lines, then the end of its input."""
    return subprocess.run(
        [sys.executable, "-m", MODULE, str(checkout)],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        check=False,
        env={"PATH": os.defpath},
    )


def test_speaks_with_the_sdk(checkout: Path) -> None:
    """The client that studies use is the judge of the protocol."""
    command = (sys.executable, "-m", MODULE, str(checkout))
    server = McpServer("docs", command, ("docs.search",), ())

    with connect(server, folder=checkout) as connection:
        names = [tool.name for tool in connection.tools]
        found = connection.call("docs.search", {"query": "install"}, 10)
        page = connection.call("docs.get", {"path": "docs/install.md"}, 10)
        denied = connection.call("docs.annotate", {"path": "README.md", "note": "x"}, 10)

    assert names == ["docs.search", "docs.get", "docs.annotate"]
    assert connection.protocol == "2025-11-25"
    assert found.text.startswith("docs/install.md:1: # Install\ndocs/install.md:3: ")
    assert page.text.splitlines()[2] == (
        "docs/install.md:3: Run `pip install handbook` in the shell."
    )
    assert (found.is_error, page.is_error, denied.is_error) == (False, False, True)


def test_answers_discovery_with_an_error_and_goes_on(checkout: Path) -> None:
    """The Claude CLI asks this first; a server that says nothing starts three seconds later."""
    ended = run(
        checkout,
        b'{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
    )
    first, second, third = map(json.loads, ended.stdout.splitlines())

    assert first["error"]["code"] == -32601
    assert second["result"]["protocolVersion"] == "2025-06-18"
    assert len(third["result"]["tools"]) == 3
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_ends_with_its_input(checkout: Path) -> None:
    """Whoever started it needs no signal to be rid of it."""
    ended = run(checkout)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25"), (7, "2025-11-25")],
    ids=["a known one", "an unknown one", "no text"],
)
def test_agrees_to_the_revision_asked_for_if_it_knows_it(
    checkout: Path, asked: object, agreed: str
) -> None:
    answer = ask(DocsServer(Pages(str(checkout))), "initialize", protocolVersion=asked)

    assert answer["result"]["protocolVersion"] == agreed


@pytest.mark.parametrize(
    ("line", "identity", "code"),
    [
        (b"no json", None, -32700),
        (b'"\xff"', None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'{"id":true,"method":"ping"}', None, -32600),
        (b'{"id":null,"method":"ping"}', None, -32600),
        (b'{"id":3}', 3, -32600),
        (b'{"id":3,"method":"resources/list"}', 3, -32601),
        (b'{"id":3,"method":"ping","params":[]}', 3, -32602),
        (b'{"id":"a","method":"tools/call","params":{"name":"docs.gone"}}', "a", -32602),
        (b'{"id":3,"method":"tools/call","params":{"name":"docs.get","arguments":1}}', 3, -32602),
    ],
    ids=[
        "no JSON", "no UTF-8", "nested too deeply", "a batch", "a boolean id", "a null id",
        "no method", "unknown method", "positional params", "unknown tool", "odd arguments",
    ],
)  # fmt: skip
def test_answers_what_it_does_not_understand_with_an_error(
    checkout: Path, line: bytes, identity: object, code: int
) -> None:
    answer = DocsServer(Pages(str(checkout))).answer(line)

    assert answer is not None
    assert (answer["id"], answer["error"]["code"]) == (identity, code)


@pytest.mark.parametrize(
    "line",
    [b'{"method":"notifications/initialized"}', b'{"id":3,"result":{}}', b'{"id":3,"error":{}}'],
    ids=["a notification", "a result", "an error"],
)
def test_says_nothing_where_no_answer_is_due(checkout: Path, line: bytes) -> None:
    assert DocsServer(Pages(str(checkout))).answer(line) is None


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.none())
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUES,
        "method": VALUES | st.sampled_from(["initialize", "tools/list", "tools/call"]),
        "params": VALUES
        | st.fixed_dictionaries(
            {"name": VALUES | st.sampled_from(["docs.search", "docs.get"])},
            optional={
                "arguments": VALUES
                | st.dictionaries(st.sampled_from(["query", "path", "limit"]), VALUES)
            },
        ),
    },
)


@given(line=st.binary(max_size=60) | MESSAGES.map(json.dumps).map(str.encode))
def test_no_line_ends_it(line: bytes) -> None:
    """Whatever comes in, an answer goes out, or nothing."""
    answer = DocsServer(Pages("/nowhere")).answer(line)

    assert answer is None or ("error" in answer) != ("result" in answer)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("docs.annotate", {"path": "README.md", "note": "x"}, "read-only"),
        ("docs.get", {}, "path is missing"),
        ("docs.get", {"path": "docs/gone.md"}, "docs.search gives the paths"),
        ("docs.search", {"query": 3}, "query is missing or no text"),
        ("docs.search", {"query": "tool", "limit": 0}, "from 1 to 50"),
        ("docs.search", {"query": "tool", "limit": True}, "from 1 to 50"),
    ],
    ids=["annotate", "no path", "no such page", "no text", "limit 0", "limit true"],
)
def test_refuses_a_call_as_the_tools_own_error(
    checkout: Path, tool: str, arguments: dict[str, Any], says: str
) -> None:
    text, is_error = call(checkout, tool, **arguments)

    assert is_error
    assert says in text


def test_prefers_rare_words_and_ties_go_by_path_and_line(checkout: Path) -> None:
    """`the` stands in every page, `shell` in one; the order never depends on the file system."""
    text, _ = call(checkout, "docs.search", query="the tool in the shell")

    assert [line.split(": ")[0] for line in text.splitlines()] == [
        "docs/install.md:3", "README.md:3", "docs/usage.mdx:3",
    ]  # fmt: skip


def test_a_query_without_a_hit_says_so(checkout: Path) -> None:
    assert call(checkout, "docs.search", query="zebra !!") == (
        "no line of the documentation holds a word of the query", False,
    )  # fmt: skip


def test_returns_as_many_lines_as_asked_for(checkout: Path) -> None:
    text, _ = call(checkout, "docs.search", query="the tool in the shell", limit=2)

    assert len(text.splitlines()) == 2


def outside(checkout: Path) -> Path:
    """A page beside the checkout, which nothing may reach."""
    page = checkout.parent / "outside.md"
    page.write_text("the canary\n", encoding="utf-8")
    return page


def hide(checkout: Path, path: str) -> str:
    page = checkout / path
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("the canary\n", encoding="utf-8")
    return path


def link(checkout: Path, path: str, *, folder: bool) -> str:
    target = outside(checkout)
    (checkout / path).parent.mkdir(exist_ok=True)
    if folder:
        (checkout / path).parent.rmdir()
        (checkout / path).parent.symlink_to(target.parent)
        return f"{Path(path).parent}/outside.md"
    (checkout / path).symlink_to(target)
    return path


def too_large(checkout: Path) -> str:
    (checkout / "large.md").write_text("the canary\n" + "x" * MAX_BYTES, encoding="utf-8")
    return "large.md"


def no_text(checkout: Path) -> str:
    (checkout / "blob.md").write_bytes(b"the canary\n\0")
    return "blob.md"


@pytest.mark.parametrize(
    "lay",
    [
        lambda folder: hide(folder, ".git/canary.md"),
        lambda folder: hide(folder, "docs/.draft.md"),
        lambda folder: hide(folder, "node_modules/canary.md"),
        lambda folder: hide(folder, "docs/client-Secrets/canary.md"),
        lambda folder: hide(folder, "docs/canary.txt"),
        lambda folder: f"../{outside(folder).name}",
        lambda folder: str(outside(folder)),
        lambda folder: link(folder, "docs/canary.md", folder=False),
        lambda folder: link(folder, "more/canary.md", folder=True),
        too_large,
    ],
    ids=[
        "in .git", "a dot file", "dependencies", "a secret", "no Markdown", "the parent folder",
        "an absolute path", "a linked file", "a linked folder", "too large",
    ],
)  # fmt: skip
def test_never_reads_what_is_not_public(checkout: Path, lay: Any) -> None:  # noqa: ANN401 - a lambda
    """The treatment would otherwise hold more than the corpus that both arms are about."""
    path = lay(checkout)

    assert "canary:" not in (search(Pages(str(checkout)), "canary", 50))
    assert "the canary" not in search(Pages(str(checkout)), "canary", 50)
    assert call(checkout, "docs.get", path=path)[1]


def test_a_page_that_is_no_text_has_no_lines(checkout: Path) -> None:
    path = no_text(checkout)

    assert get(Pages(str(checkout)), path) == ""
    assert "blob.md" not in search(Pages(str(checkout)), "canary", 50)


def test_a_page_swapped_for_a_link_meanwhile_is_not_followed(checkout: Path) -> None:
    """Between listing and reading, the file system itself must refuse."""
    pages = Pages(str(checkout))
    listed = pages.paths()
    (checkout / "README.md").unlink()
    (checkout / "README.md").symlink_to(outside(checkout))

    with pytest.raises(OSError, match="symbolic"):
        pages.lines(listed[0])


def test_an_unreadable_folder_is_told_without_its_path(tmp_path: Path) -> None:
    text, is_error = call(tmp_path / "gone", "docs.search", query="x")

    assert is_error
    assert str(tmp_path) not in text


def test_needs_one_existing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main([str(tmp_path / "gone")]) == 2
    assert "existing folder" in capsys.readouterr().err


def test_is_quiet_when_nobody_reads_its_answers(checkout: Path) -> None:
    """A client that was killed leaves no traceback on the operator's terminal."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", MODULE, str(checkout)],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        env={"PATH": os.defpath},
    )
    os.close(writing)

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_imports_the_standard_library_alone_and_little_of_it() -> None:
    """It is started for every rehearsed attempt; its start must stay far below a tenth second."""
    script = f"import sys, {MODULE}; print(*sys.modules)"
    source = str(Path(agent_trials.__file__).parent.parent)
    ended = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": source},
    )
    imported = ended.stdout.decode().split()
    foreign = [name for name in imported if name.split(".")[0] not in sys.stdlib_module_names]

    assert {name.split(".")[0] for name in foreign} == {"agent_trials", "__main__"}
    assert not {"asyncio", "pathlib", "typing", "subprocess", "dataclasses"} & set(imported)
