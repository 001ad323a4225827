from __future__ import annotations

from typing import Any

from agent_trials.rehearsal.coder import CoderScript, coder
from agent_trials.rehearsal.replies import Reply, say

SCRIPT = CoderScript(
    request="Add a.py",
    first={"a.py": "one\n", "b.py": "two", "c.py": None},
    feedback={"a.py": "three\n"},
    new=frozenset({"a.py"}),
)
OTHER = say("something else")


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": ""}]}
ASKED = user("<system-reminder>today</system-reminder>", "Add a.py\nDo it well.")


def answer(*messages: dict[str, Any]) -> Reply:
    found = coder([SCRIPT], lambda _: OTHER)({"messages": list(messages)})
    assert isinstance(found, Reply)
    return found


def test_new_files_go_through_write_and_others_through_bash() -> None:
    blocks = answer(ASKED).content

    assert [block["name"] for block in blocks] == ["Write", "Bash", "Bash"]
    assert blocks[0]["input"] == {"file_path": "a.py", "content": "one\n"}
    assert blocks[1]["input"]["command"] == "cat > b.py <<'END-OF-FILE'\ntwo\nEND-OF-FILE"
    assert blocks[2]["input"]["command"] == "rm -f c.py"


def test_after_the_results_it_is_done() -> None:
    assert answer(ASKED, RESULT).stop_reason == "end_turn"


def test_feedback_of_a_hook_is_heeded_where_the_script_says_so() -> None:
    """A file that exists is not written by Write, which wants to have read it."""
    told = user("Stop hook feedback:\nThe request is not met yet.")

    (block,) = answer(ASKED, RESULT, told).content

    assert (block["name"], "three" in block["input"]["command"]) == ("Bash", True)
    assert answer(ASKED, RESULT, told, RESULT).stop_reason == "end_turn"


def test_a_further_turn_without_edits_changes_nothing() -> None:
    found = answer(ASKED, RESULT, user("The result does not meet the request; re-read it."))

    assert [block["type"] for block in found.content] == ["text"]


def test_what_is_no_request_of_a_script_is_left_to_another_model() -> None:
    assert answer(user("Hello")) is OTHER
    assert answer() is OTHER
