"""The quickstart's items: the plugin adds one ``test_attempt`` for every planned attempt.

What stands here are the study's own checks. They need neither a model nor money, so every pytest
run makes them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_trials.study import manifest
from agent_trials.workspace import git


@pytest.fixture(scope="module")
def study() -> manifest.Study:
    return manifest.load(Path(__file__).parent)


@pytest.fixture(scope="module")
def corpus(study: manifest.Study) -> Path:
    folder = manifest.local_corpus(study, "handbook")
    assert folder is not None
    return folder


def test_the_pin_is_the_commit_of_the_corpus(
    study: manifest.Study, corpus: Path, tmp_path: Path
) -> None:
    """A corpus that was edited is another corpus, and needs another pin."""
    pin = git.commit_folder(corpus, tmp_path / "handbook")

    assert study.manifest.repositories["handbook"].pin == pin


def test_every_source_of_the_key_is_in_the_corpus(study: manifest.Study, corpus: Path) -> None:
    """A grader is shown these files; an answer cannot be checked against one that is not there."""
    assert study.key is not None
    sources = {source for task in study.key.tasks.values() for source in task.sources}

    assert {source for source in sources if not (corpus / source).is_file()} == set()
