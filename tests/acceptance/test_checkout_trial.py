"""A whole trial over checkouts: a plain arm and one with a tool, from mirrors, to patches."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agent_trials import cli
from checkout_lab import FIXED, CheckoutLab

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "CANARY-quince-marzipan"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[CheckoutLab, str]:
    """Return a lab in which two tasks were tried, their repositories taken from mirrors."""
    lab = CheckoutLab(tmp_path_factory.mktemp("trial"), questions=("one", "two"))
    lab.study(key_reaches_shell="false", scheme="file://")
    (lab.home / ".claude").mkdir()
    (lab.home / ".claude" / "CLAUDE.md").write_text(f"Say {CANARY}.", encoding="utf-8")
    lab.behave(edits={**FIXED, "new file.txt": "x\n"}, commands=["git commit -qam done"])
    done = CliRunner().invoke(cli.main, ["prepare", str(lab.folder), "--into", str(lab.mirrors)])
    assert done.exit_code == 0, done.output
    (lab.root / "upstream").rename(lab.root / "away")
    ended = lab.run("--mirrors", str(lab.mirrors))
    return lab, done.output + ended.stdout + ended.stderr


def test_every_attempt_leaves_the_same_patch_whatever_was_set_up(
    trial: tuple[CheckoutLab, str],
) -> None:
    """Commits of the agent's are in it, files of the set-up are not."""
    lab, said = trial
    found = lab.observations()

    assert {each["status"] for each in found.values()} == {"completed"}, said
    assert len(found) == 4
    assert {each["patch"]["digest"] for each in found.values()} == {
        found["one", "native"]["patch"]["digest"]
    }
    assert found["one", "native"]["patch"]["files"] == 2
    assert [found["one", arm]["patch"]["leftOut"] for arm in ("native", "tool")] == [0, 1]


def test_the_patch_is_private_and_committed_to(trial: tuple[CheckoutLab, str]) -> None:
    """The line holds its digest and size; the bytes stand beside the ledger."""
    lab, _ = trial
    line = lab.events("attempt-settled")[0]
    text = (lab.ledger.parent / f"{lab.ledger.name}.private" / "openings.jsonl").read_text("utf-8")
    opened = [json.loads(each) for each in text.splitlines()]
    (patch,) = [each for each in opened if (each["seq"], each["field"]) == (line["seq"], "patch")]
    data = _artifact(lab, patch)

    assert data.startswith(b"diff --git a/app.py b/app.py\n")
    assert len(data) == line["observation"]["patch"]["bytes"]
    assert b"diff --git" not in lab.ledger.read_bytes()
    assert "setup" in line["private"]


def _artifact(lab: CheckoutLab, opened: dict[str, Any]) -> bytes:
    folder = lab.ledger.parent / f"{lab.ledger.name}.private" / "artifacts"
    return gzip.decompress((folder / opened["artifact"]).read_bytes())


def test_the_arms_differ_in_what_was_set_up_alone(trial: tuple[CheckoutLab, str]) -> None:
    """The same array, the same environment, paths of one length; the server is explicit."""
    lab, _ = trial
    native, tool = [each for each in lab.records() if each["argv"][-1].startswith("answer()")][:2]

    places = [each["cwd"] for each in (native, tool)]
    assert len({len(each) for each in places}) == 1
    assert len({*places}) == 2
    assert [*native["environment"]] == [*tool["environment"]]
    differing = {
        option
        for option, ours, theirs in zip(
            native["argv"], native["argv"][1:], tool["argv"][1:], strict=False
        )
        if ours != theirs
    }
    assert differing == {"--allowedTools", "--disallowedTools", "--mcp-config"}


def test_nothing_of_the_operators_home_reaches_an_agent(trial: tuple[CheckoutLab, str]) -> None:
    lab, _ = trial

    assert not any(str(lab.home) in each["environment"]["HOME"] for each in lab.records())
    folder = lab.ledger.parent / f"{lab.ledger.name}.private"
    kept = [gzip.decompress(each.read_bytes()) for each in (folder / "artifacts").iterdir()]
    assert not any(CANARY.encode() in each for each in [*kept, lab.ledger.read_bytes()])
    assert not any(each.name.startswith(("work", "surr")) for each in lab.place.iterdir())


def test_the_ledger_says_what_was_set_up_and_who_can_read_the_key(
    trial: tuple[CheckoutLab, str],
) -> None:
    """By digests and names; no command, no path."""
    lab, _ = trial
    (opened,) = lab.events("run-opened")
    (passed,) = lab.events("preflight-passed")

    assert sorted(opened["checkouts"]) == ["one", "two"]
    assert (opened["shielded"], opened["keyReachesShell"]) == (False, True)
    assert [each["arm"] for each in passed["arms"]] == ["native", "tool"]
    seen = lab.observations()["two", "tool"]
    assert seen["registrationDigest"] == passed["arms"][1]["registration"]["digest"]
    assert seen["rulesDigest"] == passed["arms"][1]["rules"]["digest"]
    assert seen["exportDigest"] == opened["checkouts"]["two"]
    assert str(lab.root) not in lab.ledger.read_text("utf-8")


def test_a_paid_run_needs_mirrors_and_the_studys_word_about_its_key(
    tmp_path: Path,
) -> None:
    """Both before a ledger is there, with no process of the CLI's that has the operator's key."""
    lab = CheckoutLab(tmp_path / "lab")
    lab.study(key_reaches_shell="false")
    for command in (["freeze"], ["prepare", "--into", str(lab.mirrors)]):
        done = CliRunner().invoke(cli.main, [command[0], str(lab.folder), *command[1:]])
        assert done.exit_code == 0, done.output
    paid = {
        "STUDY_MODEL": "claude-haiku-5-5", "STUDY_BUDGET_USD": "1",
        "ANTHROPIC_API_KEY": "sk-ant-of-the-operator",
    }  # fmt: skip

    without = lab.run("--approve-budget", **paid)
    refused = lab.run("--approve-budget", "--mirrors", str(lab.mirrors), **paid)

    assert (without.returncode, refused.returncode) == (4, 4)
    assert "--mirrors: a paid run takes its checkouts from a cache" in without.stderr
    assert "workspace.checkout.key_reaches_shell: what the agent starts" in refused.stderr
    assert not lab.ledger.exists()
    given = {each["environment"]["ANTHROPIC_API_KEY"][:16] for each in lab.records()}
    assert given == {"sk-ant-foreseen-"}
