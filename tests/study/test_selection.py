"""The rule that selects a benchmark's tasks, and the lock that holds what it selected."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet_file
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.errors import StudyError
from agent_trials.study import rows, task_lock
from agent_trials.study.selection import Instance, select
from agent_trials.study.task_lock import WITH_NEWLINE, WITHOUT_NEWLINE, Pins, TaskLock

VERIFIED = Path(__file__).parents[2] / "fixtures" / "swebench" / "verified_instances.jsonl"
PUBLISHED = (
    "astropy__astropy-12907", "django__django-10097", "matplotlib__matplotlib-13989",
    "mwaskom__seaborn-3069", "pallets__flask-5014", "psf__requests-1142",
    "pydata__xarray-2905", "pylint-dev__pylint-4551", "pytest-dev__pytest-10051",
    "scikit-learn__scikit-learn-10297", "sphinx-doc__sphinx-10323", "sympy__sympy-11618",
    "astropy__astropy-13033", "django__django-10554", "matplotlib__matplotlib-14623",
)  # fmt: skip

names = st.text("ab-0189_", min_size=1, max_size=4)
lists = st.lists(
    st.tuples(names, st.sampled_from("xyz")), unique_by=lambda row: row[0], max_size=20
)


def made(pairs: list[tuple[str, str]]) -> list[Instance]:
    return [Instance(name, repository) for name, repository in pairs]


def lock(**changes: object) -> TaskLock:
    instance = Instance("a__b-1", "a/b", "0" * 40, None, 'Ünicode "quoted"\n', "1.0")
    one = TaskLock("some/dataset", "test", (instance,), Pins("rows.jsonl", "sha256:00"))
    return dataclasses.replace(one, **changes)  # type: ignore[arg-type] # a test's own


def test_gives_the_published_fifteen_of_the_real_list() -> None:
    taken = select(rows.read(VERIFIED).instances, 15)

    assert tuple(each.instance_id for each in taken) == PUBLISHED


def test_sorts_ids_as_text_and_not_by_their_numbers() -> None:
    taken = select(made([("r-7", "r"), ("r-12", "r")]), 1)

    assert [each.instance_id for each in taken] == ["r-12"]


@given(lists, st.integers(1, 25), st.randoms(use_true_random=False))
def test_the_order_of_the_list_changes_nothing(
    pairs: list[tuple[str, str]], n: int, random: object
) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis gives a Random

    assert select(made(pairs), n) == select(made(shuffled), n)


@given(lists, st.integers(1, 25))
def test_takes_each_once_and_no_repository_more_than_one_ahead(
    pairs: list[tuple[str, str]], n: int
) -> None:
    taken = select(made(pairs), n)
    names = [each.instance_id for each in taken]
    counts = {repo: sum(each.repo == repo for each in taken) for _, repo in pairs}
    there = {repo: sum(other == repo for _, other in pairs) for _, repo in pairs}
    unfinished = [counts[repo] for repo in counts if counts[repo] < there[repo]]

    assert len(set(names)) == len(names) == min(n, len(pairs))
    assert not unfinished or max(counts.values()) - min(unfinished) <= 1


def test_a_lock_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "tasks.lock.json"

    assert task_lock.write(path, lock()) is True
    assert task_lock.load(path) == lock()


def test_holds_both_digests_of_its_text_by_name() -> None:
    """Published locks are quoted by either, and without a name one checks the wrong text."""
    written = json.loads(lock().to_bytes())
    text = json.dumps(written["lock"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert "Ünicode" in text
    assert written["digests"] == {
        WITH_NEWLINE: "sha256:" + hashlib.sha256(f"{text}\n".encode()).hexdigest(),
        WITHOUT_NEWLINE: "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
    }


def test_is_never_made_again(tmp_path: Path) -> None:
    path = tmp_path / "tasks.lock.json"
    task_lock.write(path, lock())
    before = path.read_bytes()

    assert task_lock.write(path, lock()) is False
    with pytest.raises(StudyError, match="a lock is never made again"):
        task_lock.write(path, lock(split="train"))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"a/b"', '"a/c"', WITH_NEWLINE),
        ('"n": 1', '"n": 2', "no list of n instances"),
        ('"split"', '"part"', "lock needs exactly"),
        ('"repo"', '"repository"', "needs exactly the keys base_commit"),
        ('"pins"', '"needles"', "is no lock of tasks"),
        ('"rows_digest"', '"digest"', "pins needs exactly"),
    ],
)
def test_refuses_a_lock_that_was_changed(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "tasks.lock.json"
    path.write_text(lock().to_bytes().decode().replace(old, new), "utf-8")

    with pytest.raises(StudyError, match=says):
        task_lock.load(path)


def test_refuses_a_lock_that_names_an_instance_twice() -> None:
    raw = json.loads(lock(instances=lock().instances * 2).to_bytes())

    with pytest.raises(StudyError, match="holds a__b-1 twice"):
        task_lock.parse(raw, "tasks.lock.json")


ROWS = [
    {"instance_id": "a__b-1", "repo": "a/b", "base_commit": "c0", "FAIL_TO_PASS": "[]"},
    {"instance_id": "a__b-2", "repo": "a/b", "version": None},
]


def test_reads_the_same_rows_from_every_format(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(ROWS), "utf-8")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n", "utf-8")
    parquet_file.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    read = [rows.read(tmp_path / f"rows.{ending}") for ending in ("json", "jsonl", "parquet")]

    assert {each.instances for each in read} == {
        (Instance("a__b-1", "a/b", "c0"), Instance("a__b-2", "a/b"))
    }
    assert read[0].digest != read[1].digest


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rows.csv", "", "'.csv' names no format; use .json, .jsonl, .parquet"),
        ("rows.json", "{}", "it holds no list"),
        ("rows.jsonl", "{", "no valid jsonl file of rows"),
        ("rows.jsonl", "[]", "row 1: is no object"),
        ("rows.jsonl", '{"instance_id": "a"}', "row 1: repo is None"),
        ("rows.jsonl", '{"instance_id": "a", "repo": "b", "version": 1}', "version is 1"),
        ("rows.json", json.dumps(ROWS[:1] * 2), "row 2: a__b-1 stands there twice"),
        ("rows.parquet", "nothing", "no valid parquet file of rows"),
    ],
)
def test_says_what_is_wrong_with_rows(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")

    with pytest.raises(StudyError) as caught:
        rows.read(path)
    assert says in str(caught.value)


def test_says_that_a_file_of_rows_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"the rows cannot be used:\n.*cannot be read"):
        rows.read(tmp_path / "rows.jsonl")
