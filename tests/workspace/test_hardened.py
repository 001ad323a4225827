"""A checkout is read without running anything that it names."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

import repositories
from agent_trials.errors import WorkspaceError
from agent_trials.study.settings import CorpusFilter
from agent_trials.workspace import blobs, checkouts, export, git, hardened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {"README.md": "one\n", "docs/a.md": "two\n"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    repositories.commit(folder, FILES)
    return folder


class Trap:
    """A program that leaves a mark where it was run."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "canary"
        self.program = folder / "trap.sh"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\n", encoding="utf-8")
        self.program.chmod(0o755)

    def was_sprung(self) -> bool:
        """Tell whether the program ran since the last call."""
        sprung = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return sprung


def configure(checkout: Path, *pairs: str) -> None:
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        repositories.git(checkout, "config", "--local", name, value)


def monitor(checkout: Path, trap: Trap) -> None:
    configure(checkout, "core.fsmonitor", str(trap.program))


def hook(checkout: Path, trap: Trap) -> None:
    configure(checkout, "core.hooksPath", str(trap.program.parent))
    shutil.copy(trap.program, trap.program.parent / "post-index-change")


def filter_of(kind: str) -> Callable[[Path, Trap], None]:
    def set_up(checkout: Path, trap: Trap) -> None:
        configure(checkout, f"filter.evil.v1.{kind}", str(trap.program))
        (checkout / ".git/info").mkdir(exist_ok=True)
        repositories.write(checkout, {".git/info/attributes": "* filter=evil.v1\n"})

    return set_up


def included_filter(checkout: Path, trap: Trap) -> None:
    filter_of("clean")(checkout, trap)
    config = checkout / ".git/config"
    (checkout / ".git/more").write_bytes(config.read_bytes())
    config.write_text("[include]\n\tpath = more\n", encoding="utf-8")


def committed_filter(checkout: Path, trap: Trap) -> None:
    repositories.commit(checkout, {".gitattributes": "*.md filter=evil\n"})
    configure(checkout, "filter.evil.clean", str(trap.program))


def submodule(checkout: Path, trap: Trap) -> None:
    inner = checkout / "inner"
    repositories.commit(inner, FILES)
    repositories.commit(checkout, {})
    monitor(inner, trap)


def lazy_fetch(checkout: Path, trap: Trap) -> None:
    """Make a partial clone whose missing blob is to come from a command."""
    configure(
        checkout,
        *("core.repositoryFormatVersion", "1", "extensions.partialClone", "origin"),
        *("remote.origin.url", f"ext::{trap.program}", "remote.origin.promisor", "true"),
        *("protocol.ext.allow", "always", "protocol.allow", "always"),
    )
    blob = repositories.git(checkout, "rev-parse", "HEAD:README.md")
    (checkout / ".git/objects" / blob[:2] / blob[2:]).unlink()


def lazy_fetch_over_ssh(checkout: Path, trap: Trap) -> None:
    lazy_fetch(checkout, trap)
    configure(
        checkout,
        *("core.sshCommand", str(trap.program), "remote.origin.url", "ssh://127.0.0.1/x"),
        *("protocol.ssh.allow", "always"),
    )


def lazy_fetch_from_a_folder(checkout: Path, trap: Trap) -> None:
    lazy_fetch(checkout, trap)
    configure(
        checkout,
        *("remote.origin.url", str(checkout), "remote.origin.uploadpack", str(trap.program)),
        *("protocol.file.allow", "always"),
    )


ATTACKS: dict[str, tuple[Callable[[Path, Trap], None], tuple[str, ...]]] = {
    "monitor": (monitor, ("status",)),
    "hook": (hook, ("status",)),
    "clean-filter": (filter_of("clean"), ("status",)),
    "filter-process": (filter_of("process"), ("status",)),
    "smudge-filter": (filter_of("smudge"), ("checkout", "--force", "HEAD", "--", ".")),
    "included-filter": (included_filter, ("status",)),
    "committed-attributes": (committed_filter, ("status",)),
    "submodule": (submodule, ("status",)),
    "lazy-fetch": (lazy_fetch, ("cat-file", "-p", "HEAD:README.md")),
    "lazy-fetch-over-ssh": (lazy_fetch_over_ssh, ("cat-file", "-p", "HEAD:README.md")),
    "lazy-fetch-from-a-folder": (lazy_fetch_from_a_folder, ("cat-file", "-p", "HEAD:README.md")),
}


def touch(checkout: Path) -> None:
    """Have git look into the files again."""
    for name in FILES:
        if (checkout / name).exists():
            os.utime(checkout / name, (1, 1))


def use_everything(checkout: Path, folder: Path) -> None:
    """Do all that the package does with a checkout."""
    pin = git.head(checkout) or ""
    rules = CorpusFilter()
    checkouts.check_checkout(
        "x", checkout, pin=pin, generated_paths=(), sources=["README.md"], rules=rules
    )
    try:
        git.is_dirty(checkout)
        tuple(blobs.read(checkout, [e for e in blobs.tree(checkout, pin) if e.size is not None]))
        export.seal("x", checkout, pin=pin, rules=rules, into=folder / "sealed")
    except WorkspaceError:
        return  # an incomplete repository is refused


@pytest.mark.parametrize("attack", ATTACKS)
def test_runs_nothing_that_a_checkout_names(checkout: Path, tmp_path: Path, attack: str) -> None:
    """Whoever wrote the corpus would otherwise run programs as the operator."""
    set_up, bait = ATTACKS[attack]
    trap = Trap(tmp_path)
    set_up(checkout, trap)
    touch(checkout)
    use_everything(checkout, tmp_path)

    assert not trap.was_sprung()
    touch(checkout)
    repositories.git(checkout, *bait)
    assert trap.was_sprung(), "the attack does not work against plain git, so it proves nothing"


def test_speaks_with_no_remote(checkout: Path, tmp_path: Path) -> None:
    """The protocols are closed for a fetch that is asked for, too."""
    trap = Trap(tmp_path)
    lazy_fetch(checkout, trap)
    with pytest.raises(WorkspaceError, match="transport 'ext' not allowed"):
        hardened.run(checkout, "fetch", "origin")

    assert not trap.was_sprung()


def test_reads_no_configuration_of_the_operator(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It differs between machines, and so would what counts as clean."""
    trap = Trap(tmp_path)
    (tmp_path / ".gitconfig").write_text(
        f"[core]\n\tfsmonitor = {trap.program}\n\tpager = {trap.program}\n", encoding="utf-8"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={trap.program}'")
    use_everything(checkout, tmp_path)

    assert not trap.was_sprung()
    repositories.git(checkout, "status", GIT_CONFIG_GLOBAL=str(tmp_path / ".gitconfig"))
    assert trap.was_sprung()


def test_is_not_led_astray_by_variables_of_git(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test run started from a git hook has GIT_DIR and GIT_INDEX_FILE set."""
    other = tmp_path / "other"
    repositories.commit(other, {"x.md": "x"})
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(other / ".git"))

    assert git.head(checkout) == repositories.git(checkout, "rev-parse", "HEAD")
    assert git.changes(checkout) == ()


def test_gives_git_no_variable_that_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    monkeypatch.setenv("LC_MESSAGES", "de_DE.UTF-8")
    variables = hardened.environment()

    assert variables["GIT_NO_LAZY_FETCH"] == "1"
    assert variables["GIT_CONFIG_GLOBAL"] == os.devnull
    assert {name for name in variables if not name.startswith("GIT_")} <= {
        *("PATH", "HOME", "LC_ALL", "DEVELOPER_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    }


def test_never_starts_a_git_that_lies_in_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder on PATH would be looked up inside the repository."""
    trap = Trap(tmp_path)
    shutil.copy(trap.program, checkout / "git")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    monkeypatch.chdir(checkout)

    assert git.changes(checkout) == ("git",)
    assert not trap.was_sprung()


def test_says_that_git_is_missing(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(WorkspaceError, match="git is not on PATH; install it"):
        git.changes(checkout)


def test_says_what_git_says(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(WorkspaceError, match=r"git ls-tree failed in .*: fatal: not a git repo"):
        hardened.run(tmp_path, "ls-tree", "HEAD")


def test_refuses_a_driver_that_it_cannot_switch_off(checkout: Path) -> None:
    """``-c name=value`` ends the name at the first equals sign."""
    configure(checkout, "filter.a=b.clean", "true")
    with pytest.raises(WorkspaceError, match=r"'a=b\.clean', which cannot be switched off; remove"):
        git.changes(checkout)


def test_reads_a_checkout_of_another_owner(checkout: Path) -> None:
    """Containers and CI often run as another user than the one who cloned."""
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    for path in (checkout, checkout / ".git"):
        os.chown(path, 12345, 12345)

    assert git.changes(checkout) == ()
    assert repositories.git(checkout, "status", "--porcelain=v2", "--branch") == ""


def test_writes_nothing_into_a_checkout(checkout: Path) -> None:
    """A dry run writes nothing; plain ``git status`` refreshes the index."""
    touch(checkout)
    before = (checkout / ".git/index").read_bytes()

    assert git.changes(checkout) == ()
    assert (checkout / ".git/index").read_bytes() == before
    repositories.git(checkout, "status")
    assert (checkout / ".git/index").read_bytes() != before
