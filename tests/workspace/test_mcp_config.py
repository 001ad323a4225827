"""From a study's words to a command that starts the same server from any folder."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.errors import ProblemsError
from agent_trials.study.settings import (
    AnswerFreshness,
    IndexFreshness,
    McpServerSettings,
    ToolCall,
)
from agent_trials.workspace.mcp_command import McpProblem, Place
from agent_trials.workspace.mcp_config import ProgramFile, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.workspace.mcp_config import ResolvedServer

PLACE = Place("docs-mcp", "docs", "handbook")
EXPECTED = "arm 'docs-mcp', MCP server 'docs', checkout 'handbook'"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    return folder


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A program that the operator names."""
    folder = tmp_path / "engine"
    folder.mkdir()
    program = folder / "serve"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)
    return program


def settings(*command: str, **more: Any) -> McpServerSettings:  # noqa: ANN401 - as the settings
    return McpServerSettings(
        command=command, allow=("docs.search", "docs.get"), probe=ToolCall(tool="docs.get"), **more
    )


def made(checkout: Path, declared: McpServerSettings, **more: Any) -> ResolvedServer:  # noqa: ANN401 - as resolve
    given = {"parameters": {}, "environ": {"PATH": os.defpath}} | more
    return resolve(declared, place=PLACE, checkout=checkout, **given)


def refused(checkout: Path, declared: McpServerSettings, **more: Any) -> list[str]:  # noqa: ANN401 - as resolve
    with pytest.raises(ProblemsError) as caught:
        made(checkout, declared, **more)
    assert {problem.where for problem in caught.value.problems} == {EXPECTED}
    return [f"{problem.what}; {problem.remedy}" for problem in caught.value.problems]


def test_fills_in_the_words_and_keeps_every_other_brace(checkout: Path) -> None:
    """JSON in an argument is no placeholder."""
    resolved = made(checkout, settings("{python}", "--at={checkout}/x", '{"a":1}', "{B}", "{}"))

    assert resolved.server.command == (
        sys.executable, f"--at={checkout}/x", '{"a":1}', "{B}", "{}",
    )  # fmt: skip


def test_what_is_resolved_travels_to_a_worker_and_shows_no_value(checkout: Path) -> None:
    """Values of variables and parameters are in no representation: pytest prints those."""
    declared = settings("{python}", "{engine}", environment=("TOKEN",))
    environ = {"PATH": os.defpath, "TOKEN": "s3cret", "OTHER": "x"}
    resolved = made(checkout, declared, environ=environ, parameters={"engine": "pr1vate"})

    assert pickle.loads(pickle.dumps(resolved)) == resolved  # noqa: S301 - our own
    assert resolved.server.environment == {"TOKEN": "s3cret"}
    assert "s3cret" not in repr(resolved)
    assert resolved.server.allow == ("docs.get", "docs.search")
    assert resolved.server.tools == ()


def test_a_program_is_found_on_the_operators_path(checkout: Path, engine: Path) -> None:
    """A server starts in the export, and with a PATH of its own."""
    environ = {"PATH": str(engine.parent)}

    assert made(checkout, settings("serve"), environ=environ).server.command == (str(engine),)
    assert refused(checkout, settings("serve")) == [
        "the program 'serve' is not on PATH; install it, or name its path"
    ]


def test_a_program_on_a_relative_path_entry_becomes_absolute(
    checkout: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(engine.parent)

    assert made(checkout, settings("serve"), environ={"PATH": "."}).server.command == (str(engine),)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("bin/serve", "'bin/serve' is a relative path, and a server starts in the export"),
        ("{engine}/gone", "'{engine}/gone' is not here, or may not be executed"),
        ("{engine}", "'{engine}' is not here, or may not be executed"),
        ("{engin}", "`{engin}` in the command has no value; write `{engine}`"),
        ("{scratch}", "`{scratch}` in the command has no value"),
    ],
    ids=["relative", "missing", "a folder", "misspelt", "only for the index"],
)
def test_refuses_a_program_that_cannot_be_started(
    checkout: Path, engine: Path, command: str, says: str
) -> None:
    """The operator's path is in no message."""
    parameters = {"engine": str(engine.parent)}
    [problem] = refused(checkout, settings(command), parameters=parameters)

    assert says in problem
    assert str(engine.parent) not in problem


def test_a_program_that_may_not_be_executed_is_refused(checkout: Path, engine: Path) -> None:
    engine.chmod(0o644)

    assert "may not be executed" in refused(checkout, settings(str(engine)))[0]


@pytest.mark.parametrize("given", [{}, {"engine": ""}], ids=["not given", "empty"])
def test_a_parameter_without_a_value_is_refused(checkout: Path, given: dict[str, str]) -> None:
    [problem] = refused(checkout, settings("{python}", "{engine}"), parameters=given)

    assert "`{engine}` in the command has no value" in problem
    assert "`--param engine=VALUE`" in problem


def test_a_parameter_that_is_a_path_becomes_absolute(
    checkout: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator stands elsewhere than the server; other text stays as it is."""
    monkeypatch.chdir(engine.parent.parent)
    declared = settings("{python}", "{engine}", "{mode}", "{model}", "{home}")
    given = {"engine": "engine/serve", "mode": "engine", "model": "a/b", "home": "~nobody-here/x"}

    words = made(checkout, declared, parameters=given).server.command[1:]

    assert words == (str(engine), "engine", "a/b", "~nobody-here/x")


def test_the_files_of_a_command_are_digested(checkout: Path, engine: Path) -> None:
    """What ran is on record, whatever it was called and however it was named."""
    link = engine.parent / "link"
    link.symlink_to(engine)
    command = (str(link), f"--config={engine}", str(engine.parent), "serve")
    digest = "sha256:" + hashlib.sha256(b"#!/bin/sh\n").hexdigest()

    assert made(checkout, settings(*command)).files == (
        ProgramFile(0, digest), ProgramFile(1, digest),
    )  # fmt: skip


CANDIDATES = ("docs.config.ts", "docs.config.json")


def config(checkout: Path, **more: Any) -> str | None:  # noqa: ANN401 - as the settings
    declared = settings("{python}", "{config}", config_candidates=CANDIDATES, **more)
    resolved = made(checkout, declared)
    assert resolved.server.command[1] == str(checkout / (resolved.config or ""))
    return resolved.config


def test_the_configuration_is_the_first_candidate_that_is_there(checkout: Path) -> None:
    """The order is the server's own order of discovery."""
    (checkout / "docs.config.json").touch()
    (checkout / "package.json").write_text('{"docs": {}}', encoding="ascii")
    assert config(checkout, config_key="docs") == "docs.config.json"

    (checkout / "docs.config.ts").touch()
    assert config(checkout, config_key="docs") == "docs.config.ts"


def test_the_configuration_may_be_a_key_of_package_json(checkout: Path) -> None:
    (checkout / "package.json").write_text(json.dumps({"docs": {}}), encoding="ascii")

    assert config(checkout, config_key="docs") == "package.json"


@pytest.mark.parametrize(
    "package",
    ['{"name": "handbook"}', '["docs"]', "no json", "[" * 100_000, None],
    ids=["without the key", "no object", "no JSON", "nested too deeply", "missing"],
)
def test_a_missing_configuration_is_refused_once(checkout: Path, package: str | None) -> None:
    """Also by the name of what was looked for, in its order."""
    if package is not None:
        (checkout / "package.json").write_text(package, encoding="ascii")
    declared = settings("{python}", "{config}", config_candidates=CANDIDATES, config_key="docs")

    [problem] = refused(checkout, declared)

    assert problem == (
        "the checkout has no configuration file (looked for: docs.config.ts, docs.config.json,"
        " package.json with the key 'docs'); check the pin, or name the file in"
        " `config_candidates`"
    )


@pytest.mark.parametrize("candidate", ["../outside.json", "link.json"], ids=["above", "a link"])
def test_a_configuration_outside_the_checkout_is_none(checkout: Path, candidate: str) -> None:
    """It would be at no pin."""
    (checkout.parent / "outside.json").touch()
    (checkout / "link.json").symlink_to(checkout.parent / "outside.json")

    assert refused(checkout, settings("{python}", "{config}", config_candidates=(candidate,)))


def test_a_configuration_that_no_command_names_is_not_looked_for(checkout: Path) -> None:
    assert made(checkout, settings("{python}", config_candidates=CANDIDATES)).config is None


def test_a_variable_that_is_not_set_is_refused(checkout: Path) -> None:
    [problem] = refused(checkout, settings("{python}", environment=("DOCS_HOME",)))

    assert problem == "the variable DOCS_HOME is not set; set it, or take it out of `environment`"


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "PYTEST_CURRENT_TEST"],
)
def test_no_credential_of_the_agents_is_passed_on(checkout: Path, name: str) -> None:
    """A study that names one is refused, whether it is set or not."""
    declared = settings("{python}", environment=(name,))
    environ = {"PATH": os.defpath, name: "s3cret"}

    assert refused(checkout, declared, environ=environ) == refused(checkout, declared)
    assert "s3cret" not in refused(checkout, declared, environ=environ)[0]


def test_every_problem_is_told_at_once(checkout: Path) -> None:
    declared = settings(
        "serve", "{config}", environment=("DOCS_HOME",),
        freshness=AnswerFreshness(kind="answer", tool="docs.get", matches="(", arguments={}),
    )  # fmt: skip

    assert len(refused(checkout, declared)) == 4


def index(*command: str) -> IndexFreshness:
    return IndexFreshness(kind="index", command=command, path="index.json")


def test_an_index_is_never_made_in_the_checkout_itself(checkout: Path) -> None:
    """It would be compared with itself."""
    declared = settings("{python}", freshness=index("{python}", "{checkout}"))

    assert "`{checkout}` in the command has no value" in refused(checkout, declared)[0]


def test_the_program_that_makes_an_index_is_found_beforehand(checkout: Path, engine: Path) -> None:
    declared = settings("{python}", freshness=index("serve", "{scratch}"))
    found = made(checkout, declared, environ={"PATH": str(engine.parent)})

    assert found.index_program == str(engine)
    assert "'serve' is not on PATH" in refused(checkout, declared)[0]


def test_the_program_that_makes_an_index_may_be_in_the_scratch_copy(checkout: Path) -> None:
    declared = settings("{python}", freshness=index("{scratch}/bin/index"))

    assert made(checkout, declared).index_program is None


def test_a_problem_keeps_what_is_private_to_itself() -> None:
    problem = McpProblem("here", "wrong", "mend it", private_detail="/home/operator")

    assert "/home" not in f"{problem} {problem!r}"
    assert pickle.loads(pickle.dumps(problem)).private_detail == "/home/operator"  # noqa: S301 - our own
