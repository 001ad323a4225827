"""Checks what layercfg adds to lists, hides, and takes from the command line."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

from checklib import Checker

check = Checker("layercfg")

PLUGINS = {"plugins": ["a", "b"]}


def merged(*values: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON values
    layer = check.module("sources").Layer
    return check.module("merge").merge([layer(str(at), each) for at, each in enumerate(values)])


def run(*words: str, **files: Any) -> tuple[int, str, str]:  # noqa: ANN401 - JSON values
    for name, value in files.items():
        check.write(f"{name}.json", json.dumps(value))
    return check.run(*words)


@check.group("r01")
def a_plus_adds_to_the_list_below() -> None:
    found = merged(PLUGINS, {"plugins+": ["c"]}, {"plugins+": ["d"]})
    assert found == {"plugins": ["a", "b", "c", "d"]}, found
    found = merged({"x": {"y": [1]}}, {"x": {"y+": [2]}})
    assert found == {"x": {"y": [1, 2]}}, found


@check.group("r02")
def a_plus_over_nothing_sets_the_list() -> None:
    assert merged({"plugins+": ["c"]}) == {"plugins": ["c"]}
    assert merged({}, {"new": {"list+": [1]}}) == {"new": {"list": [1]}}


@check.group("r03")
def a_plus_over_what_is_no_list_is_refused() -> None:
    said = check.refusal("ConfigError", merged, {"plugins": "a"}, {"plugins+": ["c"]})
    assert "plugins is no list" in said, said


@check.group("r04")
def show_hides_secrets_by_their_names() -> None:
    values = {
        "db": {"password": "p1", "user": "u"},
        "API_TOKEN": "p2",
        "session_secret": "p3",
        "tokens": 5,
    }
    code, out, _ = run("show", "base.json", base=values)
    assert code == 0
    assert not any(hidden in out for hidden in ("p1", "p2", "p3")), out
    assert 'db.password = "********"' in out, out
    assert 'db.user = "u"' in out, out
    assert "tokens = 5" in out, out


@check.group("r05")
def a_secret_is_hidden_as_a_whole() -> None:
    values = {"secret": {"a": "p1"}, "token": ["p2", "p3"]}
    out = run("show", "base.json", base=values)[1]
    assert out.splitlines() == ['secret = "********"', 'token = "********"'], out


@check.group("r06")
def reveal_shows_secrets() -> None:
    code, out, _ = run("show", "base.json", "--reveal", base={"password": "p1"})
    assert (code, out) == (0, 'password = "p1"\n'), (code, out)


@check.group("r07")
def set_is_the_topmost_layer() -> None:
    os.environ["XCFG_PORT"] = "1"  # of the group's own process
    words = ("base.json", "--env-prefix", "XCFG", "--set", "port=2", "--set", "name=a=b")
    code, out, err = run("show", *words, base={"port": 0})
    assert (code, out) == (0, 'name = "a=b"\nport = 2\n'), (code, out, err)
    assert run("get", "port", "base.json", "--set", "port=true")[1] == "true\n"


@check.group("r08")
def explain_shows_what_is_added() -> None:
    words = ("explain", "base.json", "local.json", "--path", "plugins")
    code, out, _ = run(*words, base=PLUGINS, local={"plugins+": ["c"]})
    assert code == 0
    assert out.splitlines() == ['base.json: ["a", "b"]', 'local.json: + ["c"]'], out


@check.group("r09")
def a_set_without_a_value_is_refused() -> None:
    code, out, err = run("show", "base.json", "--set", "port", base=PLUGINS)
    assert (code, out) == (2, ""), (code, out)
    assert "--set takes PATH=VALUE, not 'port'" in err, err


@check.group("r10")
def what_was_there_is_as_it_was() -> None:
    parameters = list(inspect.signature(check.module("merge").overlay).parameters)
    assert parameters[:2] == ["below", "above"], parameters
    check.unmodified(
        {
            "tests/test_explain_schema_diff.py": "f4f34577dd565c1a64dcc45449060415",
            "tests/test_merge.py": "328894135f0c40830dc5e41a405cfbc9",
        }
    )


@check.group("r12")
def the_documents_say_so() -> None:
    assert '"plugins+"' in check.section("README.md", "## Layers")
    assert "--reveal" in check.section("README.md", "## Secrets")
    changes = check.section("CHANGELOG.md", "## Unreleased").casefold()
    assert "--set" in changes
    assert "secret" in changes


check.new_tests(
    "r11",
    "tests/test_adding_and_secrets.py",
    {
        "test_a_plus_adds_to_the_list_below": "r01",
        "test_secrets_are_hidden_by_their_names": "r04",
        "test_set_is_the_topmost_layer": "r07",
    },
)
check.main()
