"""A study that needs a model of its own to rehearse brings it."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.session.scripted import scripted_api

if TYPE_CHECKING:
    from pathlib import Path

OWN = """\
from agent_trials.rehearsal.replies import say

def respond(body):
    return say(f"own model, {len(body['messages'])} messages")
"""


def asked(base_url: str) -> str:
    """Return the text of an answer."""
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello?"}]}
    request = urllib.request.Request(
        f"{base_url}/v1/messages",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", "x-api-key": "rehearsal"},
    )
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["content"][0]["text"])


def test_a_studys_own_model_answers_in_its_rehearsals(tmp_path: Path) -> None:
    """An agent that writes has to be told what to write."""
    with scripted_api(tmp_path) as base_url:
        assert "own model" not in asked(base_url)
    (tmp_path / "rehearsal.py").write_text(OWN, encoding="utf-8")
    with scripted_api(tmp_path) as base_url:
        assert asked(base_url) == "own model, 1 messages"


def test_a_file_without_the_function_is_refused(tmp_path: Path) -> None:
    """It would rehearse with another model than the study means."""
    (tmp_path / "rehearsal.py").write_text("", encoding="utf-8")

    with pytest.raises(StudyError, match="write respond"), scripted_api(tmp_path):
        pass
