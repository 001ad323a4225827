"""An attempt sees the public files of the pin, always the same ones, and harms nobody else's."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import repositories
from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.records import SealedCorpus, SealedFile
from agent_trials.study.settings import CorpusFilter
from agent_trials.workspace import blobs, export
from agent_trials.workspace.duplicates import MODIFIED_AT
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PUBLIC: dict[str, str] = {
    "README.md": "one\n",
    "docs/a/b.md": "two\n",
    "docs/a/c.json": "{}",
    "z.ts": "",
}
HIDDEN: dict[str, str | bytes] = {
    ".env": "x",
    ".claude/settings.json": "{}",
    "docs/.hidden/a.md": "x",
    "node_modules/x/README.md": "x",
    "package-lock.json": "{}",
    "credentials.md": "x",
    "logo.png": b"\x89PNG",
    "space in name.md": "x",
    "ümlaut.md": "x",
    "big.md": "x" * 200_001,
    "Makefile": "x",
}
RULES = CorpusFilter()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    repositories.write(folder, {**PUBLIC, **HIDDEN})
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "run.md").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "run.md").chmod(0o755)
    repositories.commit(folder / "sub.md", {"x.md": "x"})
    repositories.commit(folder, {})
    return folder


@pytest.fixture
def corpus(checkout: Path, tmp_path: Path) -> Iterator[SealedCorpus]:
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    sealed = export.seal("docs", checkout, pin=pin, rules=RULES, into=tmp_path / "sealed")
    yield sealed
    if sealed.folder.exists():
        remove(sealed.folder)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def as_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


def test_seals_the_public_files_of_the_pin_and_no_other(corpus: SealedCorpus) -> None:
    """Neither links out of the tree, nor submodules, nor what looks like a secret."""
    assert contents(corpus.folder) == as_bytes(PUBLIC)
    assert [file.path for file in corpus.files] == sorted(PUBLIC)


def test_seals_what_is_committed_and_not_what_lies_in_the_tree(
    checkout: Path, tmp_path: Path
) -> None:
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    repositories.write(checkout, {"README.md": "changed", "new.md": "new"})
    (checkout / "z.ts").unlink()
    sealed = export.seal("docs", checkout, pin=pin, rules=RULES, into=tmp_path / "sealed")

    assert contents(sealed.folder) == as_bytes(PUBLIC)
    remove(sealed.folder)


def test_the_digest_is_what_its_definition_says(corpus: SealedCorpus) -> None:
    """A stranger recomputes it from a clone at the pin."""

    def sha256(data: bytes) -> str:
        return "sha256:" + hashlib.sha256(data).hexdigest()

    rows = [[name, len(data), sha256(data)] for name, data in sorted(as_bytes(PUBLIC).items())]

    assert corpus.digest == sha256(json.dumps(rows, separators=(",", ":")).encode())
    assert [[file.path, file.size, file.digest] for file in corpus.files] == rows


@pytest.mark.parametrize(
    "files",
    [
        {**PUBLIC, "README.md": "One\n"},
        {**PUBLIC, "added.md": ""},
        {name: text for name, text in PUBLIC.items() if name != "z.ts"},
        {**{name: text for name, text in PUBLIC.items() if name != "z.ts"}, "y.ts": ""},
    ],
    ids=["a byte", "one more", "one less", "another name"],
)
def test_the_digest_covers_list_and_bytes(
    corpus: SealedCorpus, tmp_path: Path, files: dict[str, str]
) -> None:
    pin = repositories.commit(tmp_path / "other", files)
    other = export.seal(
        "docs", tmp_path / "other", pin=pin, rules=RULES, into=tmp_path / "other-sealed"
    )

    assert other.digest != corpus.digest
    remove(other.folder)


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_modes_and_times_do_not_depend_on_the_machine(
    checkout: Path, tmp_path: Path, place: Path, mask: int
) -> None:
    """Search tools list files by time; the arms must not differ in it."""
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    before = os.umask(mask)
    try:
        corpus = export.seal("docs", checkout, pin=pin, rules=RULES, into=tmp_path / "sealed")
        for writable in (False, True):
            with export.export(corpus, writable_arm=writable, parent=place) as folder:
                everything = [folder, *folder.rglob("*")]
                modes = {path: path.stat().st_mode & 0o7777 for path in everything}
                times = {path.stat().st_mtime for path in everything if path.is_file()}

            assert {mode for path, mode in modes.items() if path.suffix} == {0o444}
            assert {mode for path, mode in modes.items() if not path.suffix} == {0o555}
            assert times == {MODIFIED_AT}
    finally:
        os.umask(before)
    remove(corpus.folder)


def test_every_export_has_the_same_files_under_another_path_of_the_same_length(
    corpus: SealedCorpus, place: Path
) -> None:
    """The path reaches the model, so nothing in it may tell arm, task or study."""
    paths = []
    for writable in (False, True, False):
        with export.export(corpus, writable_arm=writable, parent=place) as folder:
            assert contents(folder) == as_bytes(PUBLIC)
            assert export.differences(corpus, folder) == ()
            paths.append(folder)

    assert len(set(paths)) == 3
    assert {len(str(path)) for path in paths} == {len(str(paths[0]))}
    assert all(re.fullmatch(r"workspace-[0-9a-f]{16}", path.name) for path in paths)
    assert list(place.iterdir()) == []


def test_the_modes_bind_whoever_is_not_root(unprivileged: Path) -> None:
    """The agent cannot write into its working folder, and the export goes all the same."""
    master = unprivileged / "sealed"
    repositories.write(master, PUBLIC)
    files = tuple(
        SealedFile(name, len(data), canonical.digest(data))
        for name, data in sorted(as_bytes(PUBLIC).items())
    )
    corpus = SealedCorpus("docs", "0" * 40, master, export.list_digest(files), files)
    with export.export(corpus, writable_arm=True, parent=unprivileged) as folder:
        for forbidden in (folder / "README.md", folder / "new.md", folder / "docs/new.md"):
            with pytest.raises(PermissionError):
                forbidden.write_text("x", encoding="utf-8")

    assert list(unprivileged.iterdir()) == [master]


def test_lays_out_in_the_temporary_folder_unless_told_otherwise(corpus: SealedCorpus) -> None:
    with export.export(corpus, writable_arm=False) as folder:
        assert folder.parent == Path(tempfile.gettempdir()).resolve()

    assert not folder.exists()


def test_refuses_to_lay_out_inside_a_checkout(corpus: SealedCorpus, checkout: Path) -> None:
    """The agent would find the repository, its history and its instructions above it."""
    (checkout / "tmp").mkdir()
    with (
        pytest.raises(WorkspaceError, match=r"lies in the git checkout .*; set TMPDIR"),
        export.export(corpus, writable_arm=False, parent=checkout / "tmp"),
    ):
        pytest.fail("it was laid out")

    assert list((checkout / "tmp").iterdir()) == []


def test_only_an_arm_that_cannot_write_shares_a_file(corpus: SealedCorpus, place: Path) -> None:
    """A write through a hard link would reach the master, and with it every later attempt."""
    master = (corpus.folder / "README.md").stat().st_ino
    with export.export(corpus, writable_arm=True, parent=place) as folder:
        assert (folder / "README.md").stat().st_ino != master
        assert (corpus.folder / "README.md").stat().st_nlink == 1


def spoil(file: Path) -> None:
    """Change one file against its modes, as an agent with a shell may."""
    file.parent.chmod(0o755)
    file.chmod(0o644)
    file.write_text("spoiled", encoding="utf-8")


def replace(file: Path) -> None:
    file.parent.chmod(0o755)
    file.unlink()
    file.write_text("spoiled", encoding="utf-8")


def take_away(file: Path) -> None:
    file.parent.chmod(0o755)
    file.unlink()


def link_away(file: Path) -> None:
    take_away(file)
    other = file.parent / "same"
    other.write_text(PUBLIC["docs/a/b.md"], encoding="utf-8")
    file.symlink_to(other)


CHANGES: list[Callable[[Path], None]] = [spoil, replace, take_away, link_away]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_a_read_only_arm_is_found_out(
    corpus: SealedCorpus, place: Path, change: Callable[[Path], None]
) -> None:
    """Modes do not bind root, so only looking afterwards tells."""
    with (
        pytest.raises(WorkspaceError, match=r"the export of docs changed: docs/a/b\.md; start"),
        export.export(corpus, writable_arm=False, parent=place) as folder,
    ):
        change(folder / "docs/a/b.md")

    assert list(place.iterdir()) == []


def test_a_change_through_a_shared_file_stops_every_later_attempt(
    corpus: SealedCorpus, place: Path
) -> None:
    """The export looks whole again, yet the master was written to."""

    def spoil_and_hide(folder: Path) -> None:
        file = folder / "docs/a/b.md"
        spoil(file)
        replace(file)
        file.write_text(PUBLIC["docs/a/b.md"], encoding="utf-8")

    shared = False
    try:
        with export.export(corpus, writable_arm=False, parent=place) as folder:
            shared = (folder / "README.md").stat().st_nlink > 1
            spoil_and_hide(folder)
    except WorkspaceError as error:
        assert "the sealed files of docs changed: docs/a/b.md" in str(error)  # noqa: PT017 - below
    else:
        assert not shared
    if shared:
        with (
            pytest.raises(WorkspaceError, match=r"the export of docs changed: docs/a/b\.md"),
            export.export(corpus, writable_arm=True, parent=place),
        ):
            pytest.fail("a spoiled master was handed out")


def test_reads_no_file_twice_that_two_folders_share(corpus: SealedCorpus, tmp_path: Path) -> None:
    """What is one file was compared when the other name of it was; what is not, is read."""
    seen = tmp_path / "seen"
    (seen / "docs/a").mkdir(parents=True)
    os.link(corpus.folder / "docs/a/b.md", seen / "docs/a/b.md")
    for name in ("docs/a/b.md", "README.md"):
        file = corpus.folder / name
        file.chmod(0o644)
        file.write_text("spoiled", encoding="utf-8")

    assert export.differences(corpus, corpus.folder) == ("README.md", "docs/a/b.md")
    assert export.differences(corpus, corpus.folder, seen=seen) == ("README.md",)


@pytest.mark.parametrize("change", CHANGES)
def test_a_writable_arm_changes_only_its_own_export(
    corpus: SealedCorpus, place: Path, change: Callable[[Path], None]
) -> None:
    with export.export(corpus, writable_arm=True, parent=place) as folder:
        change(folder / "docs/a/b.md")
        with export.export(corpus, writable_arm=True, parent=place) as other:
            assert contents(other) == as_bytes(PUBLIC)

    assert contents(corpus.folder) == as_bytes(PUBLIC)
    assert list(place.iterdir()) == []


def test_further_files_are_no_change_and_go_with_the_export(
    corpus: SealedCorpus, place: Path
) -> None:
    with export.export(corpus, writable_arm=False, parent=place) as folder:
        folder.chmod(0o755)
        repositories.write(folder, {"notes/deep/x": "x"})
        (folder / "notes").chmod(0)

    assert list(place.iterdir()) == []


def attempt(corpus: SealedCorpus, place: Path, deed: Callable[[Path], None]) -> None:
    with export.export(corpus, writable_arm=False, parent=place) as folder:
        deed(folder)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_goes_on_after_the_export_is_gone(
    corpus: SealedCorpus, place: Path, error: type[BaseException]
) -> None:
    """Also where the attempt changed the export: the first thing that went wrong is the cause."""

    def fail(folder: Path) -> None:
        spoil(folder / "README.md")
        raise error("first")

    with pytest.raises(error, match="first"):
        attempt(corpus, place, fail)

    assert list(place.iterdir()) == []


def test_an_export_that_was_moved_away_is_told_of(corpus: SealedCorpus, place: Path) -> None:
    moved: list[Path] = []

    def move(folder: Path) -> None:
        folder.rename(place / "elsewhere")
        folder.symlink_to(place / "elsewhere")
        moved.append(folder)

    with pytest.raises(WorkspaceError, match=r"cannot be removed: .*; remove it by hand"):
        attempt(corpus, place, move)

    assert contents(place / "elsewhere") == as_bytes(PUBLIC)
    moved[0].unlink()
    remove(place / "elsewhere")


def test_a_leftover_does_not_hide_the_error_before_it(corpus: SealedCorpus, place: Path) -> None:
    def move(folder: Path) -> None:
        folder.rename(place / "elsewhere")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        attempt(corpus, place, move)

    assert "cannot be removed" in "".join(raised.value.__notes__)
    remove(place / "elsewhere")


def test_says_when_nothing_passes_the_filter(checkout: Path, tmp_path: Path) -> None:
    rules = CorpusFilter(extensions=("rst",))
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    with pytest.raises(WorkspaceError, match=r"no file of docs at .* passes the corpus filter"):
        export.seal("docs", checkout, pin=pin, rules=rules, into=tmp_path / "sealed")

    assert not (tmp_path / "sealed").exists()


def test_seals_only_into_a_new_folder(checkout: Path, tmp_path: Path) -> None:
    """What lies there already would be exported, too."""
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    with pytest.raises(WorkspaceError, match="cannot be made: File exists"):
        export.seal("docs", checkout, pin=pin, rules=RULES, into=tmp_path)


def missing(object_file: Path) -> None:
    object_file.unlink()


def forged(object_file: Path) -> None:
    """Put another blob's bytes under this one's id, which git does not notice."""
    readme = repositories.git(object_file.parents[3], "rev-parse", "HEAD:README.md")
    object_file.chmod(0o644)
    object_file.write_bytes((object_file.parents[1] / readme[:2] / readme[2:]).read_bytes())


@pytest.mark.parametrize(
    ("damage", "says"),
    [(missing, "is not in the repository; fetch it whole"), (forged, "the repository is damaged")],
)
def test_a_damaged_repository_is_not_sealed(
    checkout: Path, tmp_path: Path, damage: Callable[[Path], None], says: str
) -> None:
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    blob = repositories.git(checkout, "rev-parse", "HEAD:docs/a/b.md")
    damage(checkout / ".git/objects" / blob[:2] / blob[2:])
    with pytest.raises(WorkspaceError, match=says):
        export.seal("docs", checkout, pin=pin, rules=RULES, into=tmp_path / "sealed")

    assert not (tmp_path / "sealed").exists()


def test_a_pin_that_is_not_there_names_the_way_out(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"git fetch origin 0{40}, not a partial clone"):
        export.seal("docs", checkout, pin="0" * 40, rules=RULES, into=tmp_path / "sealed")


def test_a_reader_that_stops_early_leaves_no_git_behind(checkout: Path) -> None:
    """An unread stream would keep the program waiting for ever; pytest turns that into an error."""
    entries = [e for e in blobs.tree(checkout, "HEAD") if e.size is not None]
    reader = blobs.read(checkout, entries * 500)
    next(reader)
    reader.close()  # type: ignore[attr-defined] # it is a generator


def test_a_writable_export_takes_changes_and_leaves_the_master_as_it_was(
    corpus: SealedCorpus, place: Path
) -> None:
    with export.export(corpus, writable_arm=True, parent=place) as folder:
        export.open_up(folder, corpus.files)
        for each in corpus.files:
            with (folder / each.path).open("a", encoding="utf-8") as file:
                file.write("changed")
        (folder / "new.txt").write_text("new", encoding="utf-8")

    export.verify(corpus, corpus.folder)
    assert not folder.exists()
