"""What the repository must not hold, and what its map must name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from agent_trials.session import options

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "harness/agent_trials"

# Written so that no pattern matches its own text. Neutral names stand for people in fixtures.
FORBIDDEN = {
    "a package registry's host": re.compile(
        r"\b(?:registry|pypi|files|mirror|index)\.(?:[a-z0-9-]+\.)*(?:org|com|io|net|dev)\b"
    ),
    "a setting that names an index": re.compile(
        r"(?:extra[-_]|default[-_])?index[-_]url\s*[=:]|--find[-_]links\b|\bregistry\s*=\s*\S*//",
        re.IGNORECASE,
    ),
    "a path of the machine it was written on": re.compile(
        r"/(?:home|Users)/(?!(?:user|someone|operator|nobody|runner|you)\b)[A-Za-z][\w.-]*"
        r"|/(?:root)/[\w.]|/work/(?:main|shared)\b"
    ),
    "a conflict marker": re.compile(r"^(?:<{7}|>{7})(?: |$)", re.MULTILINE),
}
STUDY_LOCK = "study.lock.json"  # of a study: its addresses are those of the repositories it pins
LOCK_FILE = re.compile(r"(?:^|[-/.])(?:lock|shrinkwrap)(?:\.|$)|\.lock$", re.IGNORECASE)


def tracked(folder: Path = ROOT) -> list[str]:
    """Return what git tracks, and what it would track with the next commit."""
    listed = subprocess.run(
        [
            *("git", "-c", "safe.directory=*", "ls-files", "-z"),
            *("--cached", "--others", "--exclude-standard"),
        ],
        cwd=folder,
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8")
    return sorted({path for path in listed.split("\0") if path and (folder / path).is_file()})


def findings(path: str, text: str) -> list[str]:
    """Return what a file holds and should not, one line each."""
    found = [
        f"{path}:{text.count(chr(10), 0, hit.start()) + 1}: {what}: {hit.group()[:80]!r}"
        for what, pattern in FORBIDDEN.items()
        for hit in pattern.finditer(text)
    ]
    if LOCK_FILE.search(path) and not path.endswith(STUDY_LOCK) and re.search(r"https?://", text):
        found.append(f"{path}: a lock file with addresses, which are those of one machine's index")
    return found


def test_no_file_tells_where_it_was_written_or_fetched_from() -> None:
    """Such a line works on one machine, and tells the world about it."""
    found = [
        line
        for path in tracked()
        for line in findings(path, (ROOT / path).read_bytes().decode("utf-8", "replace"))
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "see registry" + ".example.org/six"),
        ("a.toml", "index" + "-url = 'somewhere'"),
        ("a.sh", "pip install --find" + "-links wheels"),
        (".npmrc", "registry=" + "http://127.0.0.1:4873/"),
        ("a.py", "open('/ho" + "me/alex/notes')"),
        ("a.py", "Path('/ro" + "ot/.cache')"),
        ("a.md", "<" * 7 + " HEAD"),
        ("package-lock.json", '"resolved": "https://127.0.0.1/x.tgz"'),
        ("uv.lock", 'url = "https://127.0.0.1/x.whl"'),
    ],
)
def test_the_check_finds_what_it_is_for(path: str, text: str) -> None:
    """A pattern with a slip would let everything through."""
    assert findings(path, text)


def test_the_check_lets_ordinary_text_through() -> None:
    text = "/home/user/notes index.ts registry.py study.lock.json files.md https://example.org/"

    assert findings("docs/a.md", text) == []
    assert findings("study.lock.json", '{"schema": 1}') == []


def test_files_that_are_not_yet_committed_are_looked_at(tmp_path: Path) -> None:
    """A finding after the commit is too late: history keeps it."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("hidden\n", "utf-8")
    (tmp_path / "new").touch()
    (tmp_path / "hidden").touch()

    assert tracked(tmp_path) == [".gitignore", "new"]


def mapped() -> set[str]:
    """Return the Python files that ARCHITECTURE.md's map names, relative to the package."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    block = text.split("```text\nharness/agent_trials/\n", 1)[1].split("```", 1)[0]
    names, folder = set(), ""
    for line in block.splitlines():
        name = line.split()[0]
        if name.endswith("/"):
            folder = name
        else:
            names.add(f"{folder}{name}" if line.startswith("    ") else name)
    return names


def test_the_map_names_every_module_and_no_other() -> None:
    """A map that lags sends its reader to files that are not there."""
    modules = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    }

    assert mapped() == modules


def test_the_table_of_options_names_every_option_of_the_plugin_and_no_other() -> None:
    """What is not in it would be found by nobody who reads about the project first."""
    parser = pytest.Parser(_ispytest=True)
    options.add_options(parser)
    found = [option for group in parser._groups for option in group.options]
    ours = {name for option in found for name in option.names()}
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Options", 1)[1]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `--")]

    assert {name for row in rows for name in re.findall(r"`(--[a-z-]+)", row)} == ours
    assert all(str(option.dest).startswith("trials_") for option in found)


def test_every_module_says_in_one_sentence_what_it_does() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if not path.read_text("utf-8").startswith('"""')
    ]

    assert not silent


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")

    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
