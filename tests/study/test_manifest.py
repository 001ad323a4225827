"""Loading whole studies: what a caller gets, and what is said about several at once."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import manifest

INDEX = """kind = "index"
command = ["{python}", "{engine}", "index", "{scratch}"]
path = ".index/index.json"
ignore_keys = ["generatedAt"]"""


def test_a_json_manifest_of_the_same_shape_is_the_same_study(folder: Path) -> None:
    from_toml = manifest.load(folder)
    for name in ("study", "key"):
        document = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
        (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
        (folder / f"{name}.toml").unlink()

    assert manifest.load(folder) == from_toml


def test_two_manifests_in_one_folder_are_refused(folder: Path) -> None:
    """Which of them was frozen would be anybody's guess."""
    (folder / "study.json").write_text("{}")

    with pytest.raises(StudyError, match=r"study\.json: stands beside study\.toml; keep one"):
        manifest.load(folder)


def test_a_study_without_a_key_may_not_register_correctness(folder: Path) -> None:
    (folder / "key.toml").unlink()

    with pytest.raises(StudyError, match="correctness is registered and the study has no answer"):
        manifest.load(folder)


def test_a_study_without_a_key_that_registers_no_correctness_has_none(folder: Path) -> None:
    (folder / "key.toml").unlink()
    text = (folder / "study.toml").read_text("utf-8")
    (folder / "study.toml").write_text(text.replace('"correctness", ', ""), "utf-8")

    assert manifest.load(folder).key is None


def test_a_broken_key_is_not_called_a_missing_one(folder: Path) -> None:
    (folder / "key.toml").write_text("x")

    with pytest.raises(StudyError) as raised:
        manifest.load(folder)
    assert len(raised.value.problems) == 1


def test_a_folder_without_a_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"there is no study\.toml or study\.json in it"):
        manifest.load(tmp_path)


def test_a_prompt_may_have_exactly_8_kib(folder: Path) -> None:
    """The bound counts UTF-8 bytes of question, newline and instructions."""
    text = (folder / "study.toml").read_text("utf-8")
    rest = len("\nCite path:line. Do not change anything.")
    for size, fits in ((8192 - rest, True), (8193 - rest, False)):
        question = "ü" * (size // 2) + "x" * (size % 2)
        longer = text.replace("Which command installs the tool?", question)
        (folder / "study.toml").write_text(longer, "utf-8")
        if fits:
            manifest.load(folder)
            continue
        with pytest.raises(StudyError) as raised:
            manifest.load(folder)
        assert str(raised.value.problems[0]).endswith("has 8,193 bytes; shorten it to 8,192")


def test_no_message_shows_a_prompt_or_an_answer(folder: Path) -> None:
    text = (folder / "study.toml").read_text("utf-8")
    (folder / "study.toml").write_text(
        text.replace('instructions = "', 'instruction = "').replace(
            'question = "Where do the settings stand?"', "question = 12345"
        ),
        "utf-8",
    )
    key = (folder / "key.toml").read_text("utf-8")
    (folder / "key.toml").write_text(key.replace('text = "pip', 'txt = "pip'), "utf-8")

    with pytest.raises(StudyError) as raised:
        manifest.load(folder)
    said = str(raised.value)
    assert "this number is no text" in said
    assert "12345" not in said
    assert "pip install" not in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('arm_order = "alternate"', 'arm_order = "random"\nseed = 0'),
        ('[transports.cli]\nversion = "2.1.296"', None),
        (
            INDEX,
            'kind = "answer"\ntool = "docs.search"\nmatches = "install"',
        ),
        ('config_candidates = ["handbook.toml"]\n', ""),
        ('config_key = "handbook"\n', ""),
        ('tasks = ["install-command"]\n', ""),
        ('attempt_usd = "0.10"', 'attempt_usd = "operator"'),
        ('url = "../handbook"', 'url = "https://example.org/handbook.git"'),
    ],
    ids=[
        "a random order with its seed",
        "http alone",
        "a fresh answer",
        "a configuration key alone",
        "candidates alone",
        "all tasks in every phase",
        "a budget left to the operator",
        "a repository elsewhere",
    ],
)
def test_lets_other_sound_studies_pass(folder: Path, old: str, new: str | None) -> None:
    """A rule that refuses too much is as wrong as one that refuses too little."""
    text = (folder / "study.toml").read_text("utf-8")
    assert old in text
    changed = text[: text.index(old)] if new is None else text.replace(old, new, 1)
    (folder / "study.toml").write_text(changed, "utf-8")

    assert manifest.load(folder).manifest.id == "valid-study"


def test_repositories_and_tasks_of_a_phase(folder: Path) -> None:
    study = manifest.load(folder)

    assert [task.id for task in manifest.phase_tasks(study.manifest, "pilot")] == [
        "install-command"
    ]
    assert manifest.phase_repetitions(study.manifest, "pilot") == 1
    assert manifest.phase_repetitions(study.manifest, "full") == 3
    assert list(manifest.needed_repositories(study, "pilot")) == ["handbook"]
    assert manifest.local_corpus(study, "handbook") == Path("handbook").resolve()


def test_a_repository_elsewhere_has_no_folder_here(folder: Path) -> None:
    text = (folder / "study.toml").read_text("utf-8")
    remote = text.replace('url = "../handbook"', 'url = "https://example.org/handbook.git"')
    (folder / "study.toml").write_text(remote, "utf-8")

    assert manifest.local_corpus(manifest.load(folder), "handbook") is None


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("https://example.org/x.git", True),
        ("git@example.org:x/y.git", True),
        ("file:///x", True),
        ("../corpus", False),
        ("/corpus", False),
    ],
)
def test_tells_a_folder_from_a_remote_place(url: str, remote: bool) -> None:  # noqa: FBT001 - a row
    assert manifest.is_remote(url) is remote
