"""What sealing a corpus costs, and what its exports cost compared with the first one.

    python benchmarks/export.py [--files N] [--bytes N] [--runs N]

The first export of a corpus is its sealing (git objects read, filtered, hashed) and one layout;
every later one is a layout alone. Printed are medians, and ratios to the first.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.study.settings import CorpusFilter
from agent_trials.workspace import export, git
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from agent_trials.records import SealedCorpus


def make_checkout(folder: Path, files: int, size: int) -> str:
    """Commit a corpus of so many files of so many bytes, and return its pin."""
    for number in range(files):
        path = folder / "corpus" / f"part{number % 40}" / f"page{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number} ".ljust(size, "x"), encoding="utf-8")
    return git.commit_folder(folder / "corpus", folder / "checkout")


def seal(folder: Path, pin: str, number: int) -> tuple[SealedCorpus, float]:
    """Seal into a new folder; return how many seconds it took."""
    started = time.perf_counter()
    corpus = export.seal(
        "corpus", folder / "checkout", pin=pin, rules=CorpusFilter(), into=folder / f"s{number}"
    )
    return corpus, time.perf_counter() - started


def lay_out(corpus: SealedCorpus, *, writable: bool) -> float:
    """Lay out and remove an export; return how many seconds it took."""
    started = time.perf_counter()
    with export.export(corpus, writable_arm=writable):
        pass
    return time.perf_counter() - started


def main() -> None:
    """Measure turn about, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=8000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    arms = {"read-only arm": False, "writable arm": True}
    sealing: list[float] = []
    layouts: dict[str, list[float]] = {arm: [] for arm in arms}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pin = make_checkout(folder, options.files, options.bytes)
        for number in range(options.runs):
            corpus, taken = seal(folder, pin, number)
            sealing.append(taken)
            for arm, writable in arms.items():
                layouts[arm].append(lay_out(corpus, writable=writable))
            remove(corpus.folder)
    sealed = statistics.median(sealing)
    print(f"{options.files} files of {options.bytes} bytes")
    print(f"sealing        {sealed * 1000:8.1f} ms")
    for arm in arms:
        later = statistics.median(layouts[arm])
        print(
            f"{arm:14} {later * 1000:8.1f} ms, {later / (sealed + later):.2f} of its first export"
        )


if __name__ == "__main__":
    main()
