from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from agent_trials import canonical
from agent_trials.agents import claude_cli
from agent_trials.agents.cli_environment import (
    CREDENTIALS,
    LOGIN,
    SWITCHES,
    SYSTEM,
    environment,
    shown,
)
from agent_trials.errors import AgentError
from agent_trials.records import (
    AttemptRequest,
    Launch,
    McpServer,
    SealedCorpus,
    Secret,
    Surroundings,
)
from agent_trials.study.settings import CliSettings
from recordings import PRICES

KEY = "sk-dummy-0123456789"
OPERATOR = {
    "HOME": "/home/operator",
    "USER": "operator",
    "LOGNAME": "operator",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C",
    "SHELL": "/bin/zsh",
    "TMPDIR": "/tmp/operator",  # noqa: S108 - it must not come through
    "ANTHROPIC_API_KEY": KEY,
    "ANTHROPIC_AUTH_TOKEN": KEY,
    "ANTHROPIC_BASE_URL": "http://proxy.example",
    "CLAUDE_CONFIG_DIR": "/home/operator/.other",
    "CLAUDE_CODE_MAX_TURNS": "1",
    "HTTPS_PROXY": "http://proxy.example",
    "NODE_OPTIONS": "--require /home/operator/x.js",
    "PYTEST_CURRENT_TEST": "test (call)",
}
LOGIN_STUDY = CliSettings(version="2.1.296", prices=PRICES)
KEY_STUDY = replace(LOGIN_STUDY, credential="api-key")
PAID = AttemptRequest(
    transport="cli",
    transport_settings=LOGIN_STUDY,
    model="claude-haiku-5-5",
    prompt="Where?",
    limit_usd=Decimal("0.10"),
    corpus=SealedCorpus("handbook", "0" * 40, Path("/srv/corpus"), "sha256:0", ()),
    mcp_servers=(),
)
WITH_KEY = replace(PAID, secrets={"ANTHROPIC_API_KEY": Secret(KEY)})
REHEARSAL = replace(PAID, rehearsal=True, base_url="http://127.0.0.1:8921")
OWN = {"TMPDIR", "CLAUDE_CODE_TMPDIR"}
SERVER = McpServer("docs", ("/opt/docs",), ("search",), ("search",))


def test_a_login_gets_the_operators_home_and_no_key(tmp_path: Path) -> None:
    """The CLI finds its login under HOME; a key beside it would be used instead, and leak."""
    made = environment(LOGIN_STUDY, WITH_KEY, OPERATOR, tmp_path)

    assert set(made) == {*SYSTEM, *LOGIN, *SWITCHES, *OWN}
    assert made["HOME"] == "/home/operator"
    assert KEY not in "".join(made.values())


def test_a_key_goes_alone_with_a_fresh_home(tmp_path: Path) -> None:
    made = environment(KEY_STUDY, WITH_KEY, OPERATOR, tmp_path)

    assert set(made) == {*SYSTEM, *SWITCHES, *OWN, "HOME", "ANTHROPIC_API_KEY"}
    assert made["ANTHROPIC_API_KEY"] == KEY
    assert Path(made["HOME"]).is_relative_to(tmp_path)
    assert list(Path(made["HOME"]).iterdir()) == []


@pytest.mark.parametrize("settings", [LOGIN_STUDY, KEY_STUDY], ids=["login", "api-key"])
def test_a_rehearsal_gets_nothing_of_the_users(settings: CliSettings, tmp_path: Path) -> None:
    made = environment(settings, replace(REHEARSAL, secrets=WITH_KEY.secrets), OPERATOR, tmp_path)

    assert set(made) == {
        *SYSTEM, *SWITCHES, *OWN, "HOME", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
    }  # fmt: skip
    assert made["ANTHROPIC_AUTH_TOKEN"] == "rehearsal"
    assert made["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8921"
    assert Path(made["HOME"]).is_relative_to(tmp_path)
    assert KEY not in "".join(made.values())


@pytest.mark.parametrize("url", [None, "https://api.example", "http://10.0.0.1:80"], ids=str)
def test_a_rehearsal_never_leaves_this_machine(url: str | None, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="loopback"):
        environment(LOGIN_STUDY, replace(REHEARSAL, base_url=url), OPERATOR, tmp_path)


def test_what_the_operator_has_not_set_is_not_made_up(tmp_path: Path) -> None:
    made = environment(LOGIN_STUDY, PAID, {"PATH": "/bin"}, tmp_path)

    assert set(made) == {"PATH", *SWITCHES, *OWN}


def test_temporary_files_go_to_a_folder_of_the_attempts_own(tmp_path: Path) -> None:
    made = environment(LOGIN_STUDY, PAID, OPERATOR, tmp_path)

    assert made["TMPDIR"] == made["CLAUDE_CODE_TMPDIR"]
    assert Path(made["TMPDIR"]).is_dir()
    assert Path(made["TMPDIR"]).is_relative_to(tmp_path)


def test_no_retries_and_no_side_traffic_are_switched_on() -> None:
    assert SWITCHES == {
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
        "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MCP_ALLOWLIST_ENV": "1",
    }


def test_a_study_may_set_variables_of_its_own(tmp_path: Path) -> None:
    settings = replace(
        LOGIN_STUDY, environment={"CLAUDE_CODE_MAX_RETRIES": "2", "MCP_TIMEOUT": "5000"}
    )

    made = environment(settings, PAID, OPERATOR, tmp_path)

    assert made["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert made["MCP_TIMEOUT"] == "5000"


@pytest.mark.parametrize(
    "name", [*CREDENTIALS, *LOGIN, *SYSTEM, "ANTHROPIC_BASE_URL", "TMPDIR", "CLAUDE_CODE_TMPDIR"]
)
def test_a_study_cannot_set_what_the_harness_decides_on(name: str, tmp_path: Path) -> None:
    settings = replace(LOGIN_STUDY, environment={name: "x"})

    with pytest.raises(AgentError, match=name):
        environment(settings, PAID, OPERATOR, tmp_path)
    assert [name in problem.where for problem in claude_cli.problems(settings)] == [True]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "MY_KEY"])
def test_no_credential_of_the_agents_reaches_a_server(name: str, tmp_path: Path) -> None:
    server = replace(SERVER, environment={name: KEY})
    request = replace(PAID, mcp_servers=(server,), secrets={"MY_KEY": Secret(KEY)})

    with pytest.raises(AgentError, match=name) as refused:
        environment(KEY_STUDY, request, OPERATOR, tmp_path)

    assert KEY not in str(refused.value)


def test_a_key_study_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="api-key"):
        environment(KEY_STUDY, PAID, OPERATOR, tmp_path)


def _digest(settings: CliSettings, request: AttemptRequest, scratch: Path) -> str:
    scratch.mkdir()
    made = environment(settings, request, OPERATOR, scratch)
    return canonical.digest_of(shown(made, settings, request))


@pytest.mark.parametrize(
    ("settings", "request_"),
    [(LOGIN_STUDY, PAID), (KEY_STUDY, WITH_KEY), (LOGIN_STUDY, REHEARSAL)],
    ids=["login", "api-key", "rehearsal"],
)
def test_the_digest_is_equal_in_every_attempt_of_every_arm(
    settings: CliSettings, request_: AttemptRequest, tmp_path: Path
) -> None:
    treatment = replace(request_, mcp_servers=(SERVER,))
    moved = replace(treatment, base_url=treatment.base_url and "http://127.0.0.1:9000")

    digests = {
        _digest(settings, one, tmp_path / str(place))
        for place, one in enumerate((request_, treatment, moved))
    }

    assert len(digests) == 1


def test_the_digest_betrays_every_other_difference(tmp_path: Path) -> None:
    more = replace(LOGIN_STUDY, environment={"MCP_TIMEOUT": "5000"})
    other = replace(LOGIN_STUDY, environment={"MCP_TIMEOUT": "6000"})
    switched = replace(LOGIN_STUDY, environment={"CLAUDE_CODE_MAX_RETRIES": "1"})

    digests = [
        _digest(settings, PAID, tmp_path / str(place))
        for place, settings in enumerate((LOGIN_STUDY, more, other, switched))
    ]

    assert len(set(digests)) == len(digests)


def test_what_is_shown_holds_no_secret_and_does_not_tell_who_the_operator_is(
    tmp_path: Path,
) -> None:
    """A digest of short texts such as a name could be guessed, so they are not in it."""
    named = replace(PAID, secrets={"GATEWAY_TOKEN": Secret(KEY)})
    for settings, request in ((LOGIN_STUDY, PAID), (KEY_STUDY, WITH_KEY), (KEY_STUDY, named)):
        made = environment(settings, request, OPERATOR, tmp_path)
        told = shown(made, settings, request)

        assert set(told) == set(made)
        assert "operator" not in "".join(told.values())
        assert KEY not in "".join(told.values())
        assert str(tmp_path) not in "".join(told.values())


FOLDER_STUDY = replace(LOGIN_STUDY, credential="config-dir")


def around(tmp_path: Path) -> Surroundings:
    """Return the surroundings of a writable workspace."""
    return Surroundings(*(tmp_path / name for name in ("h", "c", "t", "bin", "s")))


def test_a_login_of_its_own_is_used_where_it_lies_with_a_fresh_home(tmp_path: Path) -> None:
    """Neither the operator's memory nor their global hooks come with it."""
    login = tmp_path / "login"
    request = replace(PAID, surroundings=around(tmp_path), config_dir=login)
    made = environment(FOLDER_STUDY, request, OPERATOR, tmp_path)

    assert made["CLAUDE_CONFIG_DIR"] == str(login)
    assert made["HOME"] == str(tmp_path / "h")
    assert made["PATH"] == f"{tmp_path / 'bin'}:{OPERATOR['PATH']}"
    assert KEY not in "".join(made.values())
    assert shown(made, FOLDER_STUDY, request)["CLAUDE_CONFIG_DIR"] == "withheld"


def test_a_rehearsal_never_comes_near_the_login(tmp_path: Path) -> None:
    """Not even where its folder is named."""
    request = replace(REHEARSAL, surroundings=around(tmp_path), config_dir=tmp_path / "login")
    made = environment(FOLDER_STUDY, request, OPERATOR, tmp_path)

    assert made["CLAUDE_CONFIG_DIR"] == str(tmp_path / "c")


def test_a_paid_attempt_without_the_folder_of_its_login_is_not_started(tmp_path: Path) -> None:
    """It would fall back on a login that somebody else uses, or on none."""
    with pytest.raises(AgentError, match="give --config-dir"):
        environment(FOLDER_STUDY, PAID, OPERATOR, tmp_path)


def test_an_arm_adds_and_takes_away_its_own_variables(tmp_path: Path) -> None:
    """Everything else is as in the other arm."""
    request = replace(REHEARSAL, surroundings=around(tmp_path))
    plain = environment(FOLDER_STUDY, request, {}, tmp_path)
    launch = Launch(environment={"REVIEW": "1"}, unset=("CLAUDE_CODE_MAX_RETRIES",))
    made = environment(FOLDER_STUDY, replace(request, launch=launch), {}, tmp_path)

    assert set(made) ^ set(plain) == {"REVIEW", "CLAUDE_CODE_MAX_RETRIES"}
