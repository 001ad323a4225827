from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_trials.errors import WorkspaceError
from agent_trials.workspace import starter
from agent_trials.workspace.unified import applied

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"a.py": b"one\ntwo\nthree\n", "gone.txt": b"x\n", "kept": b"k"}
DIFF = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/sub/new.py b/sub/new.py
new file mode 100644
--- /dev/null
+++ b/sub/new.py
@@ -0,0 +1,2 @@
+first
+last
\\ No newline at end of file
"""


def test_a_diff_changes_makes_and_removes_files() -> None:
    assert applied(OLD, DIFF, "d.patch") == {
        "a.py": b"one\nTWO\nthree\n",
        "kept": b"k",
        "sub/new.py": b"first\nlast",
    }


@pytest.mark.parametrize(
    ("files", "diff", "said"),
    [
        ({**OLD, "a.py": b"one\nother\nthree\n"}, DIFF, "a.py: line 1 is not what the diff says"),
        ({**OLD, "a.py": b"zero\none\ntwo\nthree\n"}, DIFF, "line 1 is not what the diff says"),
        ({"a.py": OLD["a.py"]}, DIFF, "changes gone.txt, which is not there"),
        ({**OLD, "gone.txt": b"x\ny\n"}, DIFF, "removes gone.txt, and leaves lines of it"),
        (OLD, b"hello\n", "d.patch changes no file"),
    ],
    ids=["another line", "the place moved", "no such file", "more lines", "no diff"],
)
def test_a_diff_that_does_not_fit_is_refused(
    files: dict[str, bytes], diff: bytes, said: str
) -> None:
    """Applied elsewhere, a variant would drop something else than its requirement."""
    with pytest.raises(WorkspaceError, match=said):
        applied(files, diff, "d.patch")


def test_a_patch_stands_for_a_folder_over_a_starter(tmp_path: Path) -> None:
    (tmp_path / "d.patch").write_bytes(DIFF)
    below = {name: (data, name == "a.py") for name, data in OLD.items()}

    found = starter.overlaid(below, tmp_path / "d.patch")

    assert found["a.py"] == (b"one\nTWO\nthree\n", True)
    assert found["sub/new.py"] == (b"first\nlast", False)


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)


@settings(max_examples=15, deadline=None)
@given(before=LINES, after=LINES)
def test_what_git_wrote_is_applied_as_git_means_it(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    for side, text in (("a", before), ("b", after)):
        (folder / side).mkdir()
        (folder / side / "f").write_text(text, "utf-8")
    command = ["git", "diff", "--no-index", "--no-prefix", "a", "b"]
    diff = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout

    if b"+++" in diff:
        assert applied({"f": before.encode()}, diff, "d.patch") == {"f": after.encode()}
