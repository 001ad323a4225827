"""A checkout is one commit at a place that says nothing, set up by its arm; a patch remains."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING

import pytest

import repositories
from agent_trials.errors import WorkspaceError
from agent_trials.records import ArmSetup, Registration, Rules, SealedCheckout
from agent_trials.workspace import checkout, hardened, single_commit

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"src/app.py": "x = 1\n", "README.md": "one\n", ".gitignore": "*.log\n"}
SERVER = {"command": sys.executable, "args": ["{home}/server.py"], "env": {"MODE": "quiet"}}
INSTALL = """\
import json, os, pathlib, sys
home, here = pathlib.Path(os.environ["HOME"]), pathlib.Path.cwd()
entry = json.loads(sys.argv[1].replace("HOME_FOLDER", str(home)))
(home / ".claude.json").write_text(json.dumps({"mcpServers": {"tool": entry}}))
(here / "RULES.md").write_text("Ask the tool first.\\n")
(here / "README.md").write_text("one, and the tool's line\\n")
print("installed in", home)
"""


@pytest.fixture
def sealed(tmp_path: Path) -> SealedCheckout:
    """Return a sealed commit of a repository that has a later one."""
    folder = tmp_path / "upstream"
    pin = repositories.commit(folder, FILES)
    repositories.commit(folder, {"src/app.py": "x = 2  # the mend\n"})
    tree = single_commit.seal(folder / ".git", pin, tmp_path / "sealed")
    return SealedCheckout("app-1", tmp_path / "sealed", pin, tree, 10_000)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder for workspaces."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def installing(**changes: object) -> ArmSetup:
    """Return the set-up of an arm whose product registers a server and leaves rules."""
    entry = json.dumps({**SERVER, "args": ["HOME_FOLDER/server.py"], **changes})
    command = (sys.executable, "-c", INSTALL, entry)
    return ArmSetup(
        (command,), 60, Registration("tool", "{home}/.claude.json", ("look",), ("look",))
    )


def test_both_arms_have_the_same_commit_at_paths_of_one_length(
    sealed: SealedCheckout, place: Path
) -> None:
    """The path and the commit's id are told to the model."""
    seen = []
    for set_up in (ArmSetup(), installing()):
        with checkout.checkout(sealed, set_up, home=None, programs={}, parent=place) as made:
            head = repositories.git(made.folder, "rev-parse", "HEAD")
            seen.append((head, len(str(made.folder)), len(str(made.surroundings.home))))
            assert "app" not in str(made.folder.relative_to(place))
            assert repositories.git(made.folder, "log", "--all", "--format=%s") == "initial"
            assert repositories.git(made.folder, "remote") + repositories.git(
                made.folder, "reflog"
            ) in ("", head[:7])
            objects = repositories.git(
                made.folder, "cat-file", "--batch-all-objects", "--batch-check"
            )
            assert (objects.count(" commit "), objects.count(" blob ")) == (1, len(FILES))

    assert seen[0] == seen[1]
    assert [*place.iterdir()] == []


def test_the_set_up_runs_in_a_home_of_the_attempts_own_and_is_left_out_of_the_patch(
    sealed: SealedCheckout, place: Path
) -> None:
    """What the arm's product wrote is no work of the agent's."""
    with checkout.checkout(sealed, installing(), home=None, programs={}, parent=place) as made:
        assert str(made.surroundings.home) in made.setup[0].output
        assert stat.S_IMODE(made.surroundings.home.stat().st_mode) == 0o700
        assert made.patch().content == b""
        (made.folder / "src" / "app.py").write_text("x = 2\n", encoding="utf-8")
        found = made.patch()

    assert (found.files, found.left_out) == (1, 2)
    assert b"+x = 2" in found.content
    assert b"tool" not in found.content


def test_no_command_of_the_set_up_is_given_a_key(
    sealed: SealedCheckout, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's process alone has it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-operator")
    script = "import os; print(sorted(os.environ))"
    set_up = ArmSetup(((sys.executable, "-c", script),))

    with checkout.checkout(sealed, set_up, home=None, programs={}, parent=place) as made:
        said = made.setup[0].output

    assert "HOME" in said
    assert "ANTHROPIC" not in said


def test_the_registered_server_is_taken_out_of_its_file(
    sealed: SealedCheckout, place: Path
) -> None:
    """The agent gets it as its explicit configuration, with this attempt's folders in it."""
    digests = set()
    for _ in range(2):
        with checkout.checkout(sealed, installing(), home=None, programs={}, parent=place) as made:
            assert made.server is not None
            assert made.server.command == (
                sys.executable, f"{made.surroundings.home}/server.py",
            )  # fmt: skip
            assert made.server.environment == {"MODE": "quiet"}
            assert made.server.allow == ("look",)
            digests.add(made.registration_digest)

    assert len(digests) == 1


@pytest.mark.parametrize(
    ("changes", "wanted", "says"),
    [
        ({}, Registration("tol", "{home}/.claude.json"), "no MCP server 'tol'.*there: tool"),
        ({}, Registration("tool", "{workspace}/.mcp.json"), "wrote no {workspace}/.mcp.json"),
        ({}, Registration("tool", "{workspace}/README.md"), "is no JSON"),
        ({}, Registration("tool", "{home}/../../x.json"), "lies neither in the workspace"),
        ({"type": "http", "command": None}, None, "no program that speaks over stdio"),
        ({"command": "gone-program"}, None, "'gone-program'.*is not there"),
        ({"env": {"ANTHROPIC_API_KEY": "x"}}, None, "asks for ANTHROPIC_API_KEY"),
        ({}, Registration("tool", "{home}/.claude.json", digest="sha256:0"), "otherwise than in"),
    ],
)
def test_a_registration_that_is_not_the_one_stops_the_attempt_before_its_agent(
    sealed: SealedCheckout,
    place: Path,
    changes: dict[str, object],
    wanted: Registration | None,
    says: str,
) -> None:
    """An agent without its server would be counted as one that had it."""
    found = installing(**changes)
    set_up = ArmSetup(found.commands, 60, wanted or found.registration)

    with (
        pytest.raises(WorkspaceError, match=says),
        checkout.checkout(sealed, set_up, home=None, programs={}, parent=place),
    ):
        pass

    assert [*place.iterdir()] == []


def test_a_registration_for_the_project_alone_is_found_too(
    sealed: SealedCheckout, place: Path
) -> None:
    """An installer that asks the agent's own CLI writes it under the project's path."""
    script = (
        "import json, os, pathlib; here = os.getcwd();"
        "entry = {'command': 'git', 'args': ['--version']};"
        "told = {'projects': {here: {'mcpServers': {'tool': entry}}}};"
        "pathlib.Path(os.environ['HOME'], '.claude.json').write_text(json.dumps(told))"
    )
    set_up = ArmSetup(
        ((sys.executable, "-c", script),), 60, Registration("tool", "{home}/.claude.json")
    )

    with checkout.checkout(sealed, set_up, home=None, programs={}, parent=place) as made:
        assert made.server is not None
        assert made.server.command[1:] == ("--version",)


def test_rules_of_the_study_become_a_file_that_no_patch_shows(
    sealed: SealedCheckout, place: Path
) -> None:
    """One that the agent was told by its arguments is no file at all."""
    own = Rules("rules.md", "project-file", "Ask the tool first.\n")
    appended = Rules("rules.md", "appended-system-prompt", "Ask the tool first.\n")

    with checkout.checkout(
        sealed, ArmSetup(rules=own), home=None, programs={}, parent=place
    ) as made:
        assert (made.folder / "CLAUDE.md").read_text("utf-8") == own.text
        assert made.patch().content == b""
        assert made.rules is not None
        assert made.rules.arguments == ()
    with checkout.checkout(
        sealed, ArmSetup(rules=appended), home=None, programs={}, parent=place
    ) as made:
        assert not (made.folder / "CLAUDE.md").exists()
        assert made.rules is not None
        assert made.rules.arguments == ("--append-system-prompt", "Ask the tool first.\n")


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (Rules("{workspace}/none.md", "project-file"), "none.md cannot be read"),
        (Rules("{workspace}/.gitignore", "project-file", digest="sha256:0"), "another"),
    ],
)
def test_rules_that_are_not_the_preflights_stop_the_attempt(
    sealed: SealedCheckout, place: Path, rules: Rules, says: str
) -> None:
    """Two attempts of an arm would have two treatments."""
    with (
        pytest.raises(WorkspaceError, match=says),
        checkout.checkout(sealed, ArmSetup(rules=rules), home=None, programs={}, parent=place),
    ):
        pass


def test_rules_do_not_replace_a_file_of_the_repository(tmp_path: Path, place: Path) -> None:
    """The other arm would keep it."""
    pin = repositories.commit(tmp_path / "upstream", {"CLAUDE.md": "theirs\n"})
    tree = single_commit.seal(tmp_path / "upstream" / ".git", pin, tmp_path / "sealed")
    sealed = SealedCheckout("app-1", tmp_path / "sealed", pin, tree, 10_000)
    set_up = ArmSetup(rules=Rules("rules.md", "project-file", "ours\n"))

    with (
        pytest.raises(WorkspaceError, match=r"has a CLAUDE\.md at its pin"),
        checkout.checkout(sealed, set_up, home=None, programs={}, parent=place),
    ):
        pass


def test_a_patch_that_is_too_large_says_so(sealed: SealedCheckout, place: Path) -> None:
    """It would stand in the record of a run for ever."""
    with checkout.checkout(sealed, ArmSetup(), home=None, programs={}, parent=place) as made:
        (made.folder / "big.txt").write_text("x\n" * 10_000, encoding="utf-8")
        with pytest.raises(WorkspaceError, match=r"workspace\.checkout\.patch_bytes"):
            made.patch()


def test_what_git_is_told_in_the_checkout_names_nobody(sealed: SealedCheckout, place: Path) -> None:
    """The operator's name would reach the model with the first commit."""
    with checkout.checkout(sealed, ArmSetup(), home=None, programs={}, parent=place) as made:
        said = hardened.run(made.folder, "config", "--list", "--local").decode()

    assert "user.name=dev\n" in said
    assert str(sealed.folder) not in said
