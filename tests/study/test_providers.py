"""The file of provider commands: its shape, its refusals, a digest as JavaScript makes it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.cli import main
from agent_trials.errors import ProvidersError
from agent_trials.study import providers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

ENTRY = {
    "modelId": "reference-model",
    "scenarioIds": ["repository-only"],
    "command": "answer",
    "providerNetwork": True,
    "maxInputBytes": 1000,
    "maxOutputBytes": 1000,
}
FILE = {"type": "study-provider-cli-config", "schemaVersion": 1, "providers": [ENTRY]}


def written(folder: Path, document: dict[str, Any]) -> Path:
    """Write a document and return its path."""
    path = folder / "providers.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def fresh(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the hash that belongs to it when nothing is left to default."""
    filled = {
        "configVersion": 1,
        "contentHashAlgo": providers.ALGORITHM,
        **document,
        "providers": [{"args": [], "envAllowlist": [], **each} for each in document["providers"]],
    }
    return {**document, "contentHash": providers.normalized_digest(filled)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"n": 1.0}, '{"n":1}'),
        ({"n": 0.00001}, '{"n":0.00001}'),
        ({"n": 1e-7}, '{"n":1e-7}'),
        ({"n": -0.0}, '{"n":0}'),
        ({"n": 1e21}, '{"n":1e+21}'),
        ({"n": 333333333.33333329}, '{"n":333333333.3333333}'),
        ({"10": 1, "9": 2, "a": 3}, '{"10":1,"9":2,"a":3}'),
        ({"\uff61": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\uff61":1}'),
        ({"b": {"d": "\u20ac\n", "c": None}}, '{"b":{"c":null,"d":"\u20ac\\n"}}'),
        ({"a": 1, "contentHash": "old"}, '{"a":1}'),
    ],
    ids=[
        "one as a float", "five places", "an exponent", "negative zero", "a large number",
        "the shortest digits", "keys that look like numbers", "keys outside the basic plane",
        "nested", "without the hash",
    ],
)  # fmt: skip
def test_the_digest_is_that_of_the_text_that_javascript_writes(
    value: dict[str, Any], text: str
) -> None:
    assert providers.normalized_digest(value) == hashlib.sha256(text.encode()).hexdigest()


@given(st.permutations(sorted(ENTRY)))
def test_the_digest_depends_on_no_order_of_keys(order: list[str]) -> None:
    shuffled = {key: ENTRY[key] for key in order}
    document = {**FILE, "providers": [shuffled]}

    assert providers.normalized_digest(document) == providers.normalized_digest(FILE)


def test_defaults_are_filled_in_before_hashing(tmp_path: Path) -> None:
    bare = providers.load(written(tmp_path, fresh(FILE)))
    spelled = {**ENTRY, "args": [], "envAllowlist": []}

    full = providers.load(written(tmp_path, fresh({**FILE, "providers": [spelled]})))

    assert bare.digest == full.digest
    assert bare.digest.startswith("sha256-normalized-v1:")


def test_what_is_written_is_fresh(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)

    providers.write(path, providers.load(path, must_be_fresh=False))

    assert json.loads(path.read_text(encoding="utf-8"))["providers"][0]["args"] == []
    assert providers.load(path).contentHash == providers.load(path).content_hash


def changed(**fields: object) -> Callable[[], dict[str, Any]]:
    """Return a document whose entry differs in these fields."""
    return lambda: fresh({**FILE, "providers": [{**ENTRY, **fields}]})


BREAKAGES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "no hash": (lambda: FILE, "contentHash: is missing"),
    "a stale hash": (lambda: {**FILE, "contentHash": "0" * 64}, "contentHash: is stale"),
    "another algorithm": (
        lambda: {**fresh(FILE), "contentHashAlgo": "sha256"},
        "contentHashAlgo: 'sha256' is not known",
    ),
    "an unknown key": (lambda: {**fresh(FILE), "provider": []}, "provider: unknown key"),
    "one model twice in a scenario": (
        lambda: fresh({**FILE, "providers": [ENTRY, ENTRY]}),
        "providers[1].scenarioIds[0]: reference-model in repository-only has a command already",
    ),
    "no provider": (lambda: {**FILE, "providers": []}, "providers: holds too little"),
    "seventeen": (
        lambda: {**FILE, "providers": [{**ENTRY, "modelId": f"m{n}"} for n in range(17)]},
        "providers: holds 17 entries, which is too many; write at most 16",
    ),
    "no scenario": (changed(scenarioIds=[]), "scenarioIds: holds too little"),
    "a scenario in capitals": (changed(scenarioIds=["Only"]), "'Only' does not fit"),
    "a command with a line break": (changed(command="a\nb"), "command holds a NUL or a line break"),
    "no command": (changed(command=""), "command: holds too little"),
    "a long command": (changed(command="a" * 513), "is too long; write at most 512"),
    "an argument with a NUL": (changed(args=["a\0"]), "args[0]: the argument holds a NUL"),
    "a long argument": (changed(args=["a" * 2049]), "is too long"),
    "65 arguments": (changed(args=["a"] * 65), "args: holds 65 entries, which is too many"),
    "a variable in small letters": (changed(envAllowlist=["key"]), "'key' is no safe variable"),
    "a variable with a sign": (changed(envAllowlist=["A=B"]), "'A=B' is no safe variable"),
    "a loader's variable": (changed(envAllowlist=["LD_PRELOAD"]), "LD_PRELOAD is unsafe"),
    "an interpreter's variable": (changed(envAllowlist=["PYTHONPATH"]), "PYTHONPATH is unsafe"),
    "what tells of the study": (changed(envAllowlist=["PYTEST_CURRENT_TEST"]), "is unsafe"),
    "a runtime's variable": (changed(envAllowlist=["_JAVA_OPTIONS"]), "_JAVA_OPTIONS is unsafe"),
    "a helper of git": (changed(envAllowlist=["GIT_ASKPASS"]), "GIT_ASKPASS is unsafe"),
    "what a shell runs": (changed(envAllowlist=["PROMPT_COMMAND"]), "PROMPT_COMMAND is unsafe"),
    "a version that is a truth value": (
        lambda: {**fresh(FILE), "schemaVersion": True},
        "schemaVersion: a truth value is no number",
    ),
    "a variable twice": (changed(envAllowlist=["A_KEY", "A_KEY"]), "A_KEY stands twice"),
    "a variable that is given": (changed(envAllowlist=["HOME"]), "HOME is given to every command"),
    "too much input": (changed(maxInputBytes=8_000_001), "is too large; write at most 8,000,000"),
    "too much output": (changed(maxOutputBytes=256_001), "is too large; write at most 256,000"),
    "an output of a float": (changed(maxOutputBytes=1.5), "maxOutputBytes"),
    "no word on the network": (changed(providerNetwork="yes"), "providerNetwork"),
    "a negative rate": (
        changed(
            pricing={
                "currency": "USD",
                "inputPerMillionUsd": -1,
                "cachedInputPerMillionUsd": 0,
                "outputPerMillionUsd": 0,
            }
        ),
        "inputPerMillionUsd: -1 is too small",
    ),
    "another currency": (
        changed(
            pricing={
                "currency": "EUR",
                "inputPerMillionUsd": 1,
                "cachedInputPerMillionUsd": 0,
                "outputPerMillionUsd": 0,
            }
        ),
        "currency: 'EUR' is not known",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), BREAKAGES.values(), ids=BREAKAGES.keys())
def test_refuses_what_does_not_fit(
    tmp_path: Path, make: Callable[[], dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(ProvidersError) as caught:
        providers.load(written(tmp_path, make()))

    assert sentence in str(caught.value)


def test_everything_that_is_wrong_with_an_entry_is_said_at_once(tmp_path: Path) -> None:
    wrong = {
        "modelId": "Bad Model", "command": "a\nb", "args": ["a\0"],
        "envAllowlist": ["LD_PRELOAD", "key", "HOME"], "maxOutputBytes": 256_001,
    }  # fmt: skip
    with pytest.raises(ProvidersError) as caught:
        providers.load(written(tmp_path, {**FILE, "providers": [{**ENTRY, **wrong}]}))

    at = "providers[0]."
    places = [str(each).split(at)[1].split(":")[0] for each in caught.value.problems]
    listed = [f"envAllowlist[{index}]" for index in range(3)]
    assert sorted(places) == ["args[0]", "command", *listed, "maxOutputBytes", "modelId"]


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b'{"a":NaN}', b'{"a":1,"a":2}'])
def test_refuses_what_is_no_object_of_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "providers.json"
    path.write_bytes(content)

    with pytest.raises(ProvidersError):
        providers.load(path)


def test_a_command_is_found_beside_the_file_or_on_the_path(tmp_path: Path) -> None:
    program = tmp_path / "answer"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    assert providers.locate("./answer", base=tmp_path, search="") is None  # not executable

    program.chmod(0o755)

    assert providers.locate("./answer", base=tmp_path, search="") == program
    assert providers.locate("answer", base=tmp_path / "x", search=str(tmp_path)) == program
    assert providers.locate("answer", base=tmp_path, search="") is None


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Run ``agent-trials providers``."""
    return lambda *arguments: CliRunner().invoke(main, ["providers", *map(str, arguments)])


def test_the_command_writes_an_example_that_it_accepts(
    tmp_path: Path, invoke: Callable[..., Result]
) -> None:
    path = tmp_path / "new.json"

    missing = invoke(path)
    made = invoke(path, "--write")

    assert missing.exit_code == 4
    assert f"{path}: it does not exist; name the file, or add --write for an example" in (
        missing.output
    )
    assert f"{path} is an example; name your own command in it" in made.output

    assert made.exit_code == 0, made.output
    assert "reference-model in repository-only: ./answer with 2 arguments" in made.output
    assert f"digest {providers.load(path).digest}" in made.output
    shown = invoke(path)
    assert shown.exit_code == 4
    assert "'./answer' is no executable" in shown.output


def test_the_command_says_what_is_stale_and_renews_it(
    tmp_path: Path, invoke: Callable[..., Result]
) -> None:
    path = written(tmp_path, {**FILE, "contentHash": "0" * 64})
    before = path.read_bytes()

    refused = invoke(path)

    assert refused.exit_code == 4
    assert "contentHash: is stale" in refused.output
    assert path.read_bytes() == before
    assert invoke(path, "--write").exit_code == 0
    assert providers.load(path)


def test_who_answers_does_not_grade(tmp_path: Path) -> None:
    """A provider that grades its own work would approve it."""
    rest = {key: value for key, value in ENTRY.items() if key != "scenarioIds"}
    adjudicator = {"id": "reviewer", **rest}
    path = written(tmp_path, {**FILE, "adjudicator": adjudicator})
    with pytest.raises(ProvidersError, match="no provider grades"):
        providers.load(path, must_be_fresh=False)

    path = written(tmp_path, {**FILE, "adjudicator": {**adjudicator, "args": ["--grade"]}})
    assert providers.load(path, must_be_fresh=False).adjudicator is not None
