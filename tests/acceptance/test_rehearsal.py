"""A rehearsal is the whole run against a scripted model, and says so everywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab import Lab


@pytest.fixture
def http(lab: Lab) -> Lab:
    """A study that answers over the Messages API."""
    lab.study(transport="http")
    return lab


def rehearse(lab: Lab, *arguments: str, **environment: str) -> str:
    """Run the pilot and return what a person read."""
    shown = lab.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", *arguments, **environment
    )
    assert shown.code == 0, shown.text
    return shown.out


def test_runs_a_pair_to_its_ledger(http: Lab) -> None:
    rehearse(http)

    (ledger,) = http.rehearsals()
    shown = http.show(ledger)
    assert shown["run"]["mode"] == "rehearsal"
    assert [(o["arm"], o["status"]) for o in shown["observations"]] == [
        ("repository-only", "completed"),
        ("docs-mcp", "completed"),
    ]
    assert shown["blocked"] == []
    assert shown["refused"] == []


def test_the_treatment_really_used_its_server(http: Lab) -> None:
    rehearse(http)

    (ledger,) = http.rehearsals()
    control, treatment = http.show(ledger)["observations"]
    assert control["mcpToolCalls"] in {0, None}
    assert treatment["mcpToolCalls"] > 0


def test_says_rehearsal_in_header_lines_and_summary(http: Lab) -> None:
    out = rehearse(http)

    header, _, rest = out.partition("collected")
    assert "REHEARSAL" in header
    line = next(line for line in rest.splitlines() if line.startswith("pilot/install-command/"))
    assert "REHEARSAL" in line
    assert "spent" in line
    assert "cap 0.2 USD" in line
    assert "agent-trials: REHEARSAL" in rest.partition("= agent-trials")[0] + rest


def test_the_ledgers_path_is_the_last_line_of_the_summary(http: Lab) -> None:
    out = rehearse(http)

    (ledger,) = http.rehearsals()
    lines = [line for line in out.splitlines() if line.strip()]
    assert lines[-2] == str(ledger)
    assert f"head {http.show(ledger)['head']}" in lines


def test_its_ledger_verifies(http: Lab) -> None:
    rehearse(http)

    (ledger,) = http.rehearsals()
    shown = http.command("agent-trials", "verify", str(ledger))
    assert shown.code == 0, shown.text


def test_extrapolates_from_a_whole_pilot_and_calls_it_no_bound(http: Lab) -> None:
    http.study(requires='requires = "pilot"')

    out = rehearse(http)

    assert "extrapolation: full has 4 attempts, this times 2" in out
    assert "no bound" in out


def test_reads_and_passes_on_no_credential(http: Lab) -> None:
    """Whatever keys the operator has, none is needed, sent, recorded or shown."""
    out = rehearse(http, "-o", "log_level=DEBUG", ANTHROPIC_API_KEY="sk-operators-own-key-1234")

    (ledger,) = http.rehearsals()
    private = b"".join(
        path.read_bytes() for path in ledger.with_name(f"{ledger.name}.private").rglob("*.*")
    )
    assert "sk-operators-own-key" not in out
    assert b"sk-operators-own-key" not in ledger.read_bytes()
    assert b"sk-operators-own-key" not in private


def test_shows_no_prompt_and_no_answer(http: Lab) -> None:
    out = rehearse(http, "-v", "-rA")

    assert "How does the install-command work?" not in out
    assert "docs/install.md:" not in out


def test_junit_and_node_ids_hold_nothing_private(http: Lab) -> None:
    xml = http.outside / "junit.xml"

    rehearse(http, f"--junit-xml={xml}")

    text = xml.read_text(encoding="utf-8")
    assert "How does" not in text
    assert str(http.checkout) not in text


def test_a_study_that_lacks_a_checkout_is_skipped_with_the_reason(http: Lab) -> None:
    shown = http.pytest("evals", "-m", "pilot")

    assert shown.code == 0, shown.text
    assert "2 skipped" in shown.out
    assert "== agent-trials: NOT REHEARSED ==" in shown.out
    assert "/pilot: no checkout of handbook (--root handbook=DIR;" in shown.out
    assert http.rehearsals() == []


def test_needs_neither_freeze_nor_requirement(http: Lab) -> None:
    http.study(requires='requires = "pilot"')

    shown = http.pytest("evals", "-m", "full", "--root", f"handbook={http.checkout}")

    assert shown.code == 0, shown.text
    (ledger,) = http.rehearsals()
    opened = json.loads(ledger.read_text(encoding="utf-8").splitlines()[0])
    assert opened["frozen"] is False


def test_goes_on_with_a_study_that_changed_since_its_freeze_and_says_so(http: Lab) -> None:
    """A paid run refuses it, and what a rehearsal calls frozen must be what was frozen."""
    http.freeze()
    path = http.folder / "study.toml"
    path.write_text(path.read_text("utf-8").replace("are data.", "are law."), encoding="utf-8")

    dry = http.pytest("evals", "-m", "pilot", "--collect-only")
    shown = http.pytest("evals", "-m", "pilot", "--root", f"handbook={http.checkout}")

    for outcome in (dry, shown):
        assert outcome.code == 0, outcome.text
        assert "(frozen, CHANGED SINCE)" in outcome.out
        assert "changed since the freeze: study.toml: instructions" in outcome.out
    assert b'"frozen":false' in http.rehearsals()[-1].read_bytes()


def test_takes_a_ledger_for_one_phase_of_one_study_only(http: Lab) -> None:
    shown = http.pytest(
        "evals", "-m", "pilot or full", "--root", f"handbook={http.checkout}",
        "--ledger", str(http.ledger),
    )  # fmt: skip

    assert shown.code == 4
    assert "one ledger holds one phase of one study" in shown.text
    assert not http.ledger.exists()


def test_runs_several_phases_into_ledgers_of_their_own(http: Lab) -> None:
    shown = http.pytest("evals", "-m", "pilot or full", "--root", f"handbook={http.checkout}")

    assert shown.code == 0, shown.text
    assert len(http.rehearsals()) == 2


@pytest.mark.parametrize(
    "plugins",
    [("-p", "no:xdist"), ("-p", "no:timeout"), ("-p", "no:cacheprovider")],
    ids=["without xdist", "without timeout", "without cache"],
)
def test_runs_without_plugins_that_others_have(http: Lab, plugins: tuple[str, ...]) -> None:
    rehearse(http, *plugins)

    assert len(http.rehearsals()) == 1


def test_a_sequential_study_refuses_workers_with_a_sentence(http: Lab) -> None:
    shown = http.pytest("evals", "-m", "pilot", "-n", "2", "--root", f"handbook={http.checkout}")

    assert shown.code == 4
    assert "-n 2: study sample allows 1 process" in shown.text
    assert http.rehearsals() == []


def test_a_study_without_its_module_is_refused_and_no_ledger_is_opened(http: Lab) -> None:
    """No attempt would be found in it, and the run would end with everything blocked."""
    (http.folder / "test_sample.py").unlink()

    shown = http.pytest("evals", "-m", "pilot", "--root", f"handbook={http.checkout}")

    assert shown.code == 4, shown.text
    assert "test_sample.py: it is not there, so pytest would find none" in shown.text
    assert http.rehearsals() == []
