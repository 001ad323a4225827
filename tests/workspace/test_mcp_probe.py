"""What is looked at before money is spent: every server of every arm, for every checkout."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials import canonical
from agent_trials.errors import ProblemsError
from agent_trials.study.settings import (
    AnswerFreshness,
    ArmSettings,
    IndexFreshness,
    McpServerSettings,
    ToolCall,
)
from agent_trials.workspace.mcp_command import McpProblem
from agent_trials.workspace.mcp_probe import ProbeLimits, probe_all
from agent_trials.workspace.mcp_tools import ConnectionLimits
from mcp_servers.misbehaving import PRIVATE, command

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.workspace.mcp_probe import Probes

WHERE = "arm 'docs-mcp', MCP server 'docs', checkout 'handbook'"
HANGS = ProbeLimits(ConnectionLimits(0.3, 10, 0.05))
HANGS_LATER = ProbeLimits(ConnectionLimits(10, 0.3, 0.05), call_seconds=0.3)
ALLOW = ("docs.search", "docs.get")
PROBE = ToolCall(tool="docs.search", arguments={"query": "install"})


def settings(behaviour: str, *arguments: str, **more: Any) -> McpServerSettings:  # noqa: ANN401 - as the settings
    given: dict[str, Any] = {"allow": ALLOW, "probe": PROBE} | more
    return McpServerSettings(command=command(behaviour, *arguments), **given)


def probe(
    folder: Path,
    declared: McpServerSettings,
    *checkouts: str,
    **more: Any,  # noqa: ANN401 - as probe_all
) -> Probes:
    """Probe one arm beside a control, in checkouts that are folders of this name."""
    names = checkouts or ("handbook",)
    for name in names:
        (folder / name).mkdir(exist_ok=True)
    arms = (
        ArmSettings(id="repository-only"),
        ArmSettings(id="docs-mcp", mcp_servers={"docs": declared}),
    )
    return probe_all(
        arms,
        {name: folder / name for name in names},
        folders=dict.fromkeys(names, folder),
        parameters={},
        environ={"PATH": os.defpath},
        **more,
    )


def refused(
    folder: Path,
    declared: McpServerSettings,
    *checkouts: str,
    **more: Any,  # noqa: ANN401 - as probe_all
) -> list[McpProblem]:
    with pytest.raises(ProblemsError) as caught:
        probe(folder, declared, *checkouts, **more)
    return [
        problem if isinstance(problem, McpProblem) else McpProblem(*vars(problem).values())
        for problem in caught.value.problems
    ]


def test_an_arm_gets_its_servers_and_every_other_tool_is_denied(tmp_path: Path) -> None:
    """Also in the control arm, so that the arms' argument arrays differ in what is allowed only."""
    probes = probe(tmp_path, settings("lists-more"))
    [server] = probes.servers("docs-mcp", "handbook")

    assert probes.servers("repository-only", "handbook") == ()
    assert server.tools == ("docs.annotate", "docs.get", "docs.search", "memory.promoteDraft")
    assert server.allow == ("docs.get", "docs.search")
    assert probes.denied("docs-mcp") == probes.denied("repository-only") == (
        "mcp__docs__docs_annotate", "mcp__docs__memory_promoteDraft",
    )  # fmt: skip


def test_what_is_recorded_holds_no_path_and_no_value(tmp_path: Path) -> None:
    """It stands in a ledger line, which is published as it is."""
    [probed] = probe(tmp_path, settings("well")).probed
    line = probed.to_json()

    text = canonical.dumps(line).decode()
    assert str(tmp_path) not in text
    assert sys.executable not in text
    assert [file["word"] for file in line["files"]] == [0, 2]
    assert (line["tools"], line["environment"], line["indexMs"]) == (
        ["docs.get", "docs.search"], [], None,
    )  # fmt: skip


def test_what_a_model_is_told_has_a_digest_of_its_own(tmp_path: Path) -> None:
    """The same files can describe their tools differently."""
    digests = {
        probe(tmp_path, settings(behaviour)).probed[0].definitions_digest
        for behaviour in ("well", "pages", "lists-more")
    }

    assert len(digests) == 2


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("exits-at-start", "ended with code 1 before it had answered `initialize`"),
        ("exits-after-initialize", "ended with code 3 before it had listed its tools"),
        ("collapses", "are one tool in the Claude CLI, 'mcp__docs__docs_search'"),
        ("lists-twice", "lists the tool 'docs.get' 2 times"),
        ("dies-in-a-call", "the probe call of 'docs.search' came to an error"),
        ("errs-always", "the probe call of 'docs.search' came to an error"),
        ("fails-always", "the probe call of 'docs.search' came to an error"),
    ],
)
def test_refuses_a_server_that_is_not_fit(tmp_path: Path, behaviour: str, says: str) -> None:
    """Each of these the Claude CLI takes: it says `connected`, or goes on without the server."""
    [problem] = refused(tmp_path, settings(behaviour))

    assert problem.where == WHERE
    assert says in problem.what
    assert problem.remedy


@pytest.mark.parametrize(
    ("behaviour", "limits", "says"),
    [
        ("hangs-at-start", HANGS, "has not answered `initialize` within 0.3 s"),
        ("hangs-at-list", HANGS_LATER, "has not listed its tools within 0.3 s"),
        ("slow", HANGS_LATER, "the probe call of 'docs.search' came to an error"),
    ],
)
def test_refuses_a_server_that_hangs(
    tmp_path: Path, behaviour: str, limits: ProbeLimits, says: str
) -> None:
    [problem] = refused(tmp_path, settings(behaviour), limits=limits)

    assert says in problem.what


@pytest.mark.parametrize("behaviour", ["exits-at-start", "errs-always", "fails-always"])
def test_what_the_server_said_is_kept_apart(tmp_path: Path, behaviour: str) -> None:
    [problem] = refused(tmp_path, settings(behaviour))

    assert PRIVATE in problem.private_detail
    assert PRIVATE not in f"{problem} {problem!r}"


def test_refuses_a_server_that_does_not_list_what_is_allowed(tmp_path: Path) -> None:
    """And knows the nearest name."""
    first, second = refused(tmp_path, settings("well", allow=("docs.find", "docs.gett")))

    assert str(first) == (
        f"{WHERE}: the server does not list the tool 'docs.find' (it lists 'docs.get',"
        " 'docs.search'); check `allow` and `probe`, or the server's version"
    )
    assert second.remedy == "write 'docs.get'"


def test_a_server_without_tools_is_refused(tmp_path: Path) -> None:
    """The CLI calls it connected."""
    problems = refused(tmp_path, settings("lists-nothing"))

    assert ["(it lists nothing)" in problem.what for problem in problems] == [True, True]


def test_a_probe_of_a_tool_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    [problem] = refused(tmp_path, settings("well", probe=ToolCall(tool="gate.status")))

    assert "does not list the tool 'gate.status'" in problem.what


def test_a_probe_may_use_a_tool_that_no_arm_may_call(tmp_path: Path) -> None:
    """Such as one that tells whether the index is fresh."""
    declared = settings("lists-more", probe=ToolCall(tool="docs.annotate"))

    assert probe(tmp_path, declared).servers("docs-mcp", "handbook")


def answer(tool: str, matches: str) -> AnswerFreshness:
    return AnswerFreshness(kind="answer", tool=tool, matches=matches)


def test_an_answer_that_matches_is_fresh(tmp_path: Path) -> None:
    declared = settings("well", freshness=answer("docs.get", r"install\.md:\d"))

    assert probe(tmp_path, declared).probed


@pytest.mark.parametrize(
    ("behaviour", "freshness", "says"),
    [
        ("well", answer("docs.get", "at the pin"), "does not match 'at the pin'"),
        ("well", answer("gate.status", "fresh"), "does not list the tool 'gate.status'"),
        ("errs-late", answer("docs.get", "index"), "'docs.get' came to an error"),
    ],
    ids=["another answer", "no such tool", "an error that matches"],
)
def test_refuses_an_answer_from_a_stale_index(
    tmp_path: Path, behaviour: str, freshness: AnswerFreshness, says: str
) -> None:
    """A server answers from the index of another commit without complaint."""
    [problem] = refused(tmp_path, settings(behaviour, freshness=freshness))

    assert says in problem.what


def index(tmp_path: Path, text: str) -> McpServerSettings:
    """A server whose index holds this text, and a rule that makes `{"pin": 1}` of it."""
    made = tmp_path / "handbook" / "index.json"
    made.parent.mkdir(exist_ok=True)
    made.write_text(text, encoding="ascii")
    script = "import sys; open(sys.argv[1] + '/index.json', 'w').write('{\"pin\": 1}')"
    rule = IndexFreshness(
        kind="index", path="index.json", command=("{python}", "-S", "-c", script, "{scratch}")
    )
    return settings("reads-an-index", str(made), freshness=rule)


def test_an_index_made_again_is_compared(tmp_path: Path) -> None:
    """The probe call alone is answered from either."""
    [probed] = probe(tmp_path, index(tmp_path, '{"pin":1}')).probed
    [problem] = refused(tmp_path, index(tmp_path, '{"pin":2}'))

    assert probed.index_ms is not None
    assert "the index 'index.json' is stale" in problem.what


def test_an_index_is_not_made_again_for_a_server_that_is_not_fit(tmp_path: Path) -> None:
    """It may take minutes."""
    declared = index(tmp_path, '{"pin":2}')
    problems = refused(tmp_path, settings("errs-always", freshness=declared.freshness))

    assert len(problems) == 1


def by_checkout(tmp_path: Path) -> McpServerSettings:
    """A server that lists one more tool in the checkout `guide`."""
    for name, behaviour in (("handbook", "well"), ("guide", "lists-more")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "behaviour").write_text(behaviour, encoding="ascii")
    start, script, _ = command("well")[0], command("well")[2], None
    run = "import runpy, sys; sys.argv[1] = open(sys.argv[1] + '/behaviour').read();"
    run += f" runpy.run_path({script!r}, run_name='__main__')"
    return McpServerSettings(
        command=(start, "-S", "-c", run, "{checkout}"), allow=ALLOW, probe=PROBE
    )


def test_the_deny_list_is_the_union_over_checkouts(tmp_path: Path) -> None:
    """A tool of one checkout only must be denied in attempts on every other, alike in all."""
    probes = probe(tmp_path, by_checkout(tmp_path), "handbook", "guide")

    assert probes.denied("docs-mcp") == (
        "mcp__docs__docs_annotate", "mcp__docs__memory_promoteDraft",
    )  # fmt: skip


def test_lists_that_differ_are_refused_where_the_study_says_so(tmp_path: Path) -> None:
    declared = by_checkout(tmp_path)
    [problem] = refused(tmp_path, declared, "handbook", "guide", tool_lists="identical")

    assert str(problem) == (
        f"{WHERE}: its tools are not those for checkout 'guide': only one has 'docs.annotate',"
        " 'memory.promoteDraft'; make the lists equal, or write `tool_lists = \"union\"`"
    )


def test_every_server_of_every_checkout_is_looked_at_before_refusing(tmp_path: Path) -> None:
    problems = refused(tmp_path, settings("exits-at-start"), "handbook", "guide")

    assert [problem.where.rpartition(" ")[2] for problem in problems] == ["'guide'", "'handbook'"]


def test_a_tool_named_like_one_of_the_transports_own_is_refused(tmp_path: Path) -> None:
    problems = refused(tmp_path, settings("well"), taken=["docs_get"])

    assert ["a name that the transport uses itself" in p.what for p in problems] == [True]


def test_a_problem_of_the_command_is_told_with_the_others(tmp_path: Path) -> None:
    declared = settings("well", environment=("DOCS_HOME",))

    assert "DOCS_HOME is not set" in refused(tmp_path, declared)[0].what
