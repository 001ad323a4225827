"""What is wrong gets one clear sentence with the way out and exit code 4; nothing is left behind.

Each row breaks one thing of a paid run that lacks nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import fake_cli

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fake_cli import FakeCli
    from lab import Lab


@pytest.fixture
def fake(lab: Lab) -> FakeCli:
    """The CLI of the pinned version."""
    return fake_cli.install(lab.root / "bin")


def refused(
    lab: Lab, fake: FakeCli, arguments: Sequence[str], environment: dict[str, str], sentence: str
) -> None:
    """Run it and hold that nothing at all came of it but the sentence."""
    before = files(lab)

    outcome = lab.pytest(*arguments, **environment)

    assert outcome.code == 4, outcome.text
    assert sentence in " ".join(outcome.text.split()), outcome.text
    assert "Traceback" not in outcome.text
    assert fake.starts == []
    assert files(lab) == before


def files(lab: Lab) -> list[Path]:
    """Return every file of the lab but byte code and the double's own records."""
    own = ("__pycache__", ".pytest_cache")
    return sorted(p for p in lab.root.rglob("*") if not any(word in str(p) for word in own))


def changed(arguments: list[str], flag: str, value: str | None) -> list[str]:
    """Return the arguments with a flag's value replaced, or the flag taken out."""
    at = arguments.index(flag)
    middle = [] if value is None else [flag, value]
    return [*arguments[:at], *middle, *arguments[at + 2 :]]


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("STUDY_MODEL", "", "STUDY_MODEL: a paid run names its model"),
        ("STUDY_MODEL", "claude-other", "STUDY_MODEL=claude-other: the study asks"),
        ("STUDY_BUDGET_USD", "nan", "STUDY_BUDGET_USD=nan"),
        ("STUDY_BUDGET_USD", "0", "STUDY_BUDGET_USD=0"),
        ("STUDY_BUDGET_USD", "-1", "STUDY_BUDGET_USD=-1"),
        ("STUDY_BUDGET_USD", "1e400", "STUDY_BUDGET_USD=1e400"),
        ("STUDY_BUDGET_USD", "inf", "STUDY_BUDGET_USD=inf"),
        ("STUDY_BUDGET_USD", "1,5", "STUDY_BUDGET_USD=1,5"),
    ],
)
def test_a_wrong_variable(
    lab: Lab, fake: FakeCli, variable: str, value: str, sentence: str
) -> None:
    lab.freeze()
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]

    refused(lab, fake, arguments, lab.paid_environment | {variable: value}, sentence)


def test_what_is_missing_is_listed_all_at_once(lab: Lab, fake: FakeCli) -> None:
    outcome = lab.pytest("evals/sample", "-m", "pilot", "--approve-budget")

    assert outcome.code == 4
    for word in ("STUDY_MODEL", "STUDY_BUDGET_USD", "--root handbook", "--ledger", "not frozen"):
        assert word in outcome.text
    assert fake.starts == []


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["-k", "install"], "-k: a paid run is all of a phase"),
        (["--lf"], "--lf: a paid run"),
        (["--ff"], "--ff: a paid run"),
        (["--sw"], "--sw: a paid run"),
        (["--deselect", "evals/sample/test_sample.py::x"], "--deselect: a paid run"),
        (["-n", "2"], "-n 2: study sample allows 1 process"),
        (["--timeout-method", "thread"], "timeout_method = thread"),
        (
            ["-o", "faulthandler_timeout=9", "-o", "faulthandler_exit_on_timeout=true"],
            "faulthandler_exit_on_timeout = true",
        ),
        (["--setup-only"], "--setup-only: it runs no attempt"),
        (["--setup-plan"], "--setup-plan: it runs no attempt"),
        (["--transport", "http"], "ANTHROPIC_API_KEY"),
        (["--transport", "smoke-signals"], "--transport smoke-signals: study sample has no"),
        (["--root", "nowhere=/"], "--root nowhere"),
        (["--root", "handbook"], "--root 'handbook' is not NAME=VALUE"),
        (["--param", "engine=x"], "--param engine"),
        (["--attempt-budget-usd", "0.2"], "fixes budget.attempt_usd = 0.1"),
        (["--attempt-budget-usd", "free"], "'free' is no amount"),
        (["--cli-version", "2.1.297"], "fixes transports.cli.version = 2.1.296"),
        (["--prior-ledger", "nowhere.jsonl"], "--prior-ledger"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_flag_that_a_paid_run_cannot_have(
    lab: Lab, fake: FakeCli, flags: list[str], sentence: str
) -> None:
    lab.freeze()
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path), *flags]

    refused(lab, fake, arguments, lab.paid_environment, sentence)


@pytest.mark.parametrize("where", ["project", "checkout", "exists", "no folder", "open to others"])
def test_a_place_where_no_ledger_may_lie(lab: Lab, fake: FakeCli, where: str) -> None:
    lab.freeze()
    shared = lab.root / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    there = lab.outside / "there.jsonl"
    there.write_text("", encoding="utf-8")
    places = {
        "project": lab.project / "l.jsonl",
        "checkout": lab.checkout / "l.jsonl",
        "exists": there,
        "no folder": lab.outside / "none" / "l.jsonl",
        "open to others": shared / "l.jsonl",
    }
    arguments = [
        *changed(lab.paid_arguments(), "--ledger", str(places[where])),
        "--claude-bin", str(fake.path),
    ]  # fmt: skip

    refused(lab, fake, arguments, lab.paid_environment, f"--ledger {places[where]}")


def test_a_ledger_that_a_link_leads_into_the_project(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    link = lab.root / "link"
    link.symlink_to(lab.project)
    arguments = [
        *changed(lab.paid_arguments(), "--ledger", str(link / "l.jsonl")),
        "--claude-bin", str(fake.path),
    ]  # fmt: skip

    refused(lab, fake, arguments, lab.paid_environment, "it lies inside")


def test_a_study_that_was_never_frozen(lab: Lab, fake: FakeCli) -> None:
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]

    refused(lab, fake, arguments, lab.paid_environment, "the study is not frozen")


def test_a_study_that_changed_since_its_freeze(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    path = lab.folder / "study.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("Sources are data.", "Sources are law."),
        encoding="utf-8",
    )
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]

    refused(lab, fake, arguments, lab.paid_environment, "instructions")


@pytest.mark.parametrize("trouble", ["other commit", "changed file", "no checkout", "no folder"])
def test_a_checkout_that_is_not_its_pin(lab: Lab, fake: FakeCli, trouble: str) -> None:
    lab.freeze()
    if trouble == "other commit":
        lab.corpus({"README.md": "# Another\n"})
    if trouble == "changed file":
        (lab.checkout / "docs/install.md").write_text("other\n", encoding="utf-8")
    root = {"no checkout": lab.home, "no folder": lab.root / "none"}.get(trouble, lab.checkout)
    arguments = [
        *changed(lab.paid_arguments(), "--root", f"handbook={root}"),
        "--claude-bin", str(fake.path),
    ]  # fmt: skip

    refused(lab, fake, arguments, lab.paid_environment, "handbook")


@pytest.mark.parametrize("binary", ["absent", "another version", "not executable", "no version"])
def test_a_cli_that_is_not_the_pinned_one(lab: Lab, fake: FakeCli, binary: str) -> None:
    lab.freeze()
    if binary == "another version":
        fake.behave(version="2.1.297 (Claude Code)")
    if binary == "no version":
        fake.behave(version="hello")
    if binary == "not executable":
        fake.path.chmod(0o644)
    path = lab.root / "none" / "claude" if binary == "absent" else fake.path
    arguments = [*lab.paid_arguments(), "--claude-bin", str(path)]

    refused(lab, fake, arguments, lab.paid_environment, "claude")


@pytest.mark.parametrize("key", ["", "sk-with\nnewline-0123456789", "sk-with\rreturn-0123456789"])
def test_a_key_that_cannot_be_sent_and_is_never_shown(lab: Lab, key: str) -> None:
    lab.study(transport="http")
    lab.freeze()
    environment = lab.paid_environment | {"ANTHROPIC_API_KEY": key}

    outcome = lab.pytest(*lab.paid_arguments(), **environment)

    assert outcome.code == 4, outcome.text
    assert "ANTHROPIC_API_KEY" in outcome.text
    assert "0123456789" not in outcome.text
    assert not lab.ledger.exists()


@pytest.mark.parametrize("price", [None, "nan", "0", "-1", "1e400"])
def test_a_price_that_is_none(lab: Lab, fake: FakeCli, price: str | None) -> None:
    """Where the study leaves a rate to the operator, a paid run cannot do without a real one."""
    path = lab.folder / "study.toml"
    lab.study(transport="http")
    left = path.read_text("utf-8").replace('per_million = "2.50"', 'per_million = "operator"')
    path.write_text(left, encoding="utf-8")
    lab.freeze()
    key = {"ANTHROPIC_API_KEY": "sk-dummy-0123456789"}
    given = {} if price is None else {"STUDY_OUTPUT_USD_PER_MILLION": price}
    sentence = "leaves transports.http.output_usd_per_million" if price is None else f"'{price}' is"

    refused(lab, fake, lab.paid_arguments(), lab.paid_environment | key | given, sentence)


def test_a_key_that_leaks_into_the_corpus(lab: Lab, fake: FakeCli) -> None:
    """A proposition of the answer key in an exported file, over a line break and in capitals."""
    lab.corpus({
        "docs/leak.md": "# A\n\nThe queue is set up by one COMMAND\nof the packet tool named"
        " install-command\n"
    })  # fmt: skip
    lab.study()
    lab.freeze()
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]

    refused(lab, fake, arguments, lab.paid_environment, "docs/leak.md:3")


def test_a_server_that_does_not_answer_its_probe(lab: Lab, fake: FakeCli) -> None:
    path = lab.folder / "study.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('tool = "docs.search"', 'tool = "docs.serch"'),
        encoding="utf-8",
    )
    lab.freeze()
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]

    refused(lab, fake, arguments, lab.paid_environment, "docs.serch")


def test_two_phases_at_once(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    arguments = changed(lab.paid_arguments(), "-m", "pilot or full")

    refused(lab, fake, arguments, lab.paid_environment, "a paid run is one phase of one study")


def test_no_phase_at_all(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    arguments = changed(lab.paid_arguments(), "-m", None)

    refused(lab, fake, arguments, lab.paid_environment, "this command selects none")


def test_single_items(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    arguments = lab.paid_arguments()
    arguments[0] = "evals/sample/test_sample.py::test_attempt"

    refused(lab, fake, arguments, lab.paid_environment, "name the study's folder instead")


def test_a_plugin_that_drops_an_attempt_stops_the_run_before_it_spends(
    lab: Lab, fake: FakeCli
) -> None:
    """A conftest may deselect what it likes: the collected items are compared with the plan."""
    lab.freeze()
    (lab.project / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    del items[1:]\n", encoding="utf-8"
    )

    outcome = lab.pytest(
        *lab.paid_arguments(), "--claude-bin", str(fake.path), **lab.paid_environment
    )

    assert outcome.code == 4, outcome.text
    assert "pytest collected 1 of its 2 attempts" in outcome.text
    assert fake.starts == []


def test_path_is_searched_for_the_cli(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    path = f"{fake.path.parent}{os.pathsep}{lab.environ({})['PATH']}"

    outcome = lab.pytest(*lab.paid_arguments(), **lab.paid_environment, PATH=path)

    assert outcome.code == 0, outcome.text
    assert len(fake.starts) == 2
