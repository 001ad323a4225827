"""Signed heads: the command that is printed verifies them, and nothing is spent on a bad key."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import grading
import reportable
from agent_trials import cli
from agent_trials.errors import SigningError
from agent_trials.publication import bundle, signing, verify_bundle
from agent_trials.publication.secret_shapes import Known
from agent_trials.publication.signing import Signer
from agent_trials.results.summary import verify
from agent_trials.study import freeze, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed here"
)


def keygen(path: Path, passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Return a key without a passphrase, in a folder whose name a shell would split."""
    folder = tmp_path / "the keys"
    folder.mkdir()
    return keygen(folder / "id")


def commands(text: str) -> list[str]:
    """Return the verifying commands in what was printed."""
    return [line[line.index("ssh-keygen") :] for line in text.splitlines() if "-Y verify" in line]


def works(command: str) -> bool:
    return subprocess.run(["sh", "-c", command], check=False, capture_output=True).returncode == 0


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.main, [str(each) for each in arguments])


def test_a_signature_is_of_one_head_by_one_key(tmp_path: Path, key: Path) -> None:
    head = "3:sha256:" + "0f" * 32
    signed = Signer.of(key).sign(tmp_path / "a.head", head)

    assert signed.path.read_text("ascii") == head + "\n"
    assert works(signed.command)
    signed.path.write_text(head.replace("3:", "4:", 1) + "\n", "ascii")
    assert not works(signed.command)
    signed.path.write_text(head + "\n", "ascii")
    other = Signer.of(keygen(tmp_path / "other"))
    signed.signers.write_text(f"operator {other.public_key}\n", "ascii")
    assert not works(signed.command)


def test_a_second_key_is_added_and_the_first_one_stays_good(tmp_path: Path, key: Path) -> None:
    """Another machine may close what this one opened."""
    first = Signer.of(key).sign(tmp_path / "a.head", "1:sha256:" + "0f" * 32)
    second = Signer.of(keygen(tmp_path / "other")).sign(
        tmp_path / "b.head", "2:sha256:" + "1f" * 32
    )

    assert works(first.command)
    assert works(second.command)
    assert len(first.signers.read_text("ascii").splitlines()) == 2


def test_a_key_in_an_agent_is_named_by_its_public_part(tmp_path: Path, key: Path) -> None:
    """Without the agent it cannot sign, and nobody is asked for anything."""
    public = key.with_name("id.pub").rename(tmp_path / "alone.pub")

    with pytest.raises(SigningError, match="cannot sign"):
        Signer.of(public, {"PATH": os.environ["PATH"]})


def bad_key(kind: str, folder: Path) -> Path:
    if kind == "passphrase":
        return keygen(folder / "locked", "a passphrase")
    if kind == "no key":
        (folder / "text").write_text("a key\n", "utf-8")
        return folder / "text"
    return folder / "missing"


@pytest.mark.parametrize("kind", ["missing", "passphrase", "no key"])
def test_a_key_that_cannot_sign_is_refused_in_a_sentence(tmp_path: Path, kind: str) -> None:
    with pytest.raises(SigningError, match=r"does not exist|add it to ssh-agent") as caught:
        Signer.of(bad_key(kind, tmp_path))

    assert "\n" not in str(caught.value)


def test_a_missing_program_is_refused_in_a_sentence(tmp_path: Path, key: Path) -> None:
    with pytest.raises(SigningError, match="ssh-keygen is not on PATH"):
        Signer.of(key, {"PATH": str(tmp_path)})


def test_freeze_signs_the_series_and_the_study_stays_frozen(tmp_path: Path, key: Path) -> None:
    """The files lie beside the lock, are committed with it, and count for nothing."""
    made = reportable.study(tmp_path / "made_up", reportable.Shape(tasks=1))
    before = freeze.state(made)
    signed = signing.sign_freeze(Signer.of(key), made.folder, before.series_id)

    assert works(signed.command)
    assert freeze.state(made) == before
    assert freeze.state(made).changed == ()


def test_the_command_freezes_and_prints_what_verifies(lab: Lab, key: Path) -> None:
    done = lab.command("agent-trials", "freeze", str(lab.folder), "--sign", str(key))

    assert done.code == 0, done.text
    series = freeze.state(manifest.load(lab.folder)).series_id
    assert (lab.folder / "study.lock.head").read_text("ascii") == f"0:{series}\n"
    (command,) = commands(done.out)
    assert works(command)


@pytest.mark.parametrize("kind", ["missing", "passphrase"])
def test_freeze_writes_no_lock_with_a_bad_key(lab: Lab, tmp_path: Path, kind: str) -> None:
    done = call("freeze", lab.folder, "--sign", bad_key(kind, tmp_path))

    assert done.exit_code == 4
    assert not (lab.folder / "study.lock.json").exists()


def test_a_run_is_signed_when_it_opens_and_closes_and_the_bundle_holds_it(
    lab: Lab, key: Path
) -> None:
    """Grading too: each run of the ledger has its heads, and all of them are heads of it."""
    grading.register(lab)
    arguments = ("--root", f"handbook={lab.checkout}", "--sign", str(key))
    done = lab.pytest("evals", "-m", "pilot", "--ledger", str(lab.ledger), *arguments)
    assert done.code == 0, done.text
    graded = lab.pytest("evals/sample", "-m", "adjudicate", "--ledger", str(lab.ledger), *arguments)
    assert graded.code == 0, graded.text

    printed = commands(done.out) + commands(graded.out)
    assert len(printed) == 4
    assert all(works(command) for command in printed)
    assert done.out.rstrip().splitlines()[-2] == str(lab.ledger)
    published = lab.root / "bundle"
    bundle.write(lab.ledger, published, known=Known({}))
    signed = {each.name for each in (published / "heads").glob("*.head")}
    assert signed == {
        f"run-{run}-{moment}.head" for run in (1, 2) for moment in ("opened", "closed")
    }
    for head in (published / "heads").glob("*.head"):
        assert verify(lab.ledger, head.read_text("ascii"))
        assert works(signing.Signed(head).command)
    assert verify_bundle.main([str(published)]) == 0


def test_a_re_chained_forgery_is_caught_by_the_signed_heads_of_its_bundle(
    lab: Lab, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = reportable.ledger(lab.root / "made", tasks=1)
    early = f"1:{verify_bundle.verify(path).heads[1]}"
    signing.sign_ledger(Signer.of(key), path, "run-1-opened", early)
    published = lab.root / "bundle"
    bundle.write(path, published, known=Known({}))
    other = reportable.ledger(lab.root / "other", tasks=1)
    shutil.copyfile(other, published / "ledger.jsonl")

    assert verify_bundle.main([str(published)]) == 1
    assert "line 1: a head published for it is" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["missing", "passphrase", "no program"])
def test_a_run_with_a_bad_key_is_refused_before_anything_is_written(
    lab: Lab, tmp_path: Path, key: Path, kind: str
) -> None:
    bad = key if kind == "no program" else bad_key(kind, tmp_path)
    environment = {}
    if kind == "no program":
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "git").symlink_to(str(shutil.which("git")))
        environment = {"PATH": str(tools)}
    done = lab.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", "--ledger", str(lab.ledger),
        "--sign", str(bad), **environment,
    )  # fmt: skip

    assert done.code == 4, done.text
    assert f"--sign {bad}" in done.text
    assert not list(lab.outside.iterdir())


def test_a_new_ledger_does_not_take_over_another_ones_heads(lab: Lab, key: Path) -> None:
    (lab.outside / "run.jsonl.heads").mkdir()
    done = lab.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", "--ledger", str(lab.ledger),
        "--sign", str(key),
    )  # fmt: skip

    assert done.code == 4, done.text
    assert "run.jsonl.heads exists" in done.text
    assert not lab.ledger.exists()
