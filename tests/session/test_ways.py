"""Each arm and model goes its own way: its transport, its model, its rates, its reservation."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.records import Cell
from agent_trials.session.restated import Restated
from agent_trials.session.ways import Ways, find_ways, joined
from agent_trials.study import manifest
from agent_trials.study.settings import ArmSettings, HttpSettings, ModelSettings, PriceTier

if TYPE_CHECKING:
    from agent_trials.errors import Problem
    from agent_trials.study.settings import Manifest

VALID = Path(__file__).parents[2] / "fixtures" / "bad_manifests" / "valid_study"
TIER = PriceTier(
    above_prompt_tokens=0, input=Decimal(9), output=Decimal(9), cache_read=Decimal(9),
    cache_write_5m=Decimal(9), cache_write_1h=Decimal(9),
)  # fmt: skip


class Given:
    """What an operator gave: nothing but what a test says."""

    def __init__(self, *, paid: bool = False, rate: str | None = None) -> None:
        self.approve_budget = paid
        self.output_rate = rate
        self.attempt_usd = self.cli_version = self.input_rate = None


@pytest.fixture
def study(tmp_path: Path) -> Manifest:
    """The valid study; its output rate over http is the operator's."""
    import shutil  # noqa: PLC0415 - here alone

    shutil.copytree(VALID, tmp_path / "valid_study")
    (tmp_path / "handbook").mkdir()
    return manifest.load(tmp_path / "valid_study").manifest


def ways(
    study: Manifest, *, phase: str = "full", given: Given | None = None
) -> tuple[Ways | None, list[Problem]]:
    problems: list[Problem] = []
    options: Any = given or Given()
    return find_ways(study, phase, "http", Restated("s", options, problems)), problems


def test_most_studies_have_one_way(study: Manifest) -> None:
    found, _ = ways(study)

    assert found is not None
    assert len(found.by_arm) == 2
    (way,) = found.distinct
    assert (way.transport, way.model) == ("http", "claude-haiku-5-5")


def test_models_have_their_own_rates_and_reservations(study: Manifest) -> None:
    slots = (
        ModelSettings(id="low", model="claude-haiku-5-5", attempt_usd=Decimal("0.02")),
        ModelSettings(id="ref", model="large", input_usd_per_million=Decimal(7)),
    )
    several = replace(study, models=slots)

    found, _ = ways(several)

    assert found is not None
    low, ref = (found.by_arm["docs-mcp", slot] for slot in ("low", "ref"))
    assert (low.model, low.attempt_usd) == ("claude-haiku-5-5", Decimal("0.02"))
    assert (ref.model, ref.attempt_usd) == ("large", Decimal("0.10"))
    assert isinstance(low.settings, HttpSettings)
    assert isinstance(ref.settings, HttpSettings)
    assert low.settings.input_usd_per_million == Decimal("0.50")
    assert ref.settings.input_usd_per_million == Decimal(7)
    second = Cell("full", "install-command", "docs-mcp", 2)
    assert found.of(several, second) == ref
    assert found.total(several, [second, replace(second, repetition=1)]) == Decimal("0.12")


def test_a_phase_of_one_model_has_its_ways_alone(study: Manifest) -> None:
    slots = (ModelSettings(id="low", model="small"), ModelSettings(id="ref", model="large"))
    phases = {"full": replace(study.phases["full"], models=("ref",))}

    found, _ = ways(replace(study, models=slots, phases=phases))

    assert found is not None
    assert {way.model for way in found.distinct} == {"large"}


def test_arms_have_the_transport_and_the_rates_of_their_own(study: Manifest) -> None:
    arms = (
        ArmSettings(id="a", transport="http", input_usd_per_million=Decimal(3)),
        ArmSettings(id="b", transport="cli", prices=(TIER,)),
    )
    both = replace(study, arms=arms)

    found, _ = ways(both)

    assert found is not None
    assert (found.transport, joined(both, "http")) == ("cli+http", "cli+http")
    settings: Any = {arm: way.settings for (arm, _), way in found.by_arm.items()}
    assert settings["a"].input_usd_per_million == Decimal(3)
    assert settings["b"].prices == (TIER,)


def test_what_the_operator_must_give_is_asked_for_once(study: Manifest) -> None:
    slots = (ModelSettings(id="low", model="small"), ModelSettings(id="ref", model="large"))

    found, problems = ways(replace(study, models=slots), given=Given(paid=True))

    assert found is None
    assert [each.where for each in problems] == [
        "--output-usd-per-million (or STUDY_OUTPUT_USD_PER_MILLION)"
    ]
