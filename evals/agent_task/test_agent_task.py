"""The study's items come from the plugin; what stands here are checks of its own.

They need neither a checkout nor a model nor money, so every pytest run makes them.
"""

from __future__ import annotations

from pathlib import Path

from agent_trials.study import manifest, rows, task_lock, task_source
from agent_trials.study.selection import select

HERE = Path(__file__).parent
LISTED = HERE.parents[1] / "fixtures" / "swebench" / "verified_instances.jsonl"


def test_the_fifteen_are_those_of_the_rule_in_its_order() -> None:
    lock = task_lock.load(HERE / "tasks.lock.json")
    chosen = select(rows.read(LISTED).instances, 15)
    study = manifest.load(HERE).manifest

    assert lock.instances == chosen
    assert study.phases["full"].tasks == tuple(task_source.task_id(i.instance_id) for i in chosen)


def test_the_smoke_phase_asks_nothing_of_the_fifteen() -> None:
    study = manifest.load(HERE).manifest

    smoke, full = ({*(study.phases[name].tasks or ())} for name in ("smoke", "full"))

    assert smoke
    assert not smoke & full


def test_the_smoke_phase_asks_as_the_others_are_asked() -> None:
    (smoke,) = [each for each in manifest.load(HERE).manifest.tasks if each.repository == "smoke"]

    assert smoke.question == (HERE / "PROMPT.md").read_text("utf-8").strip()
