"""How each attempt of a plan goes to its model: transport, model, settings, reservation.

In most studies there is one way. There are several where the study has several models, or compares
arms that differ in model or transport: then each arm and model has its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.study import asked
from agent_trials.study.settings import CliSettings, HttpSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from agent_trials.records import Cell
    from agent_trials.session.restated import Block, Restated
    from agent_trials.study.settings import ArmSettings, Manifest, OwnRates


@dataclass(frozen=True)
class Way:
    """The way of one arm in one model slot.

    ``settings`` is the transport's block with amounts instead of "operator". ``side_usd`` is what
    the arm's product may spend by itself in a turn. Money in USD.
    """

    transport: str
    model: str
    settings: Block
    attempt_usd: Decimal
    side_usd: Decimal = money.ZERO

    @property
    def reserved_usd(self) -> Decimal:
        """Return what a turn reserves: the agent's limit, and what the arm's product may spend."""
        return money.total(money.limit(self.attempt_usd), self.side_usd)


@dataclass(frozen=True)
class Ways:
    """Every way of a plan, by arm and model slot (None where the study has no slots)."""

    by_arm: Mapping[tuple[str, str | None], Way]

    @property
    def distinct(self) -> tuple[Way, ...]:
        """Return the ways without repetitions, in the order of arms and slots."""
        found: list[Way] = []
        for way in self.by_arm.values():
            if way not in found:
                found.append(way)
        return tuple(found)

    @property
    def transport(self) -> str:
        """Return the transport; names joined with ``+`` where arms differ in it."""
        return "+".join(sorted({way.transport for way in self.by_arm.values()}))

    def of(self, manifest: Manifest, cell: Cell) -> Way:
        """Return the way of a cell."""
        _, slot = asked.placed(manifest, cell.repetition)
        return self.by_arm[cell.arm, slot]

    def total(self, manifest: Manifest, cells: Iterable[Cell]) -> Decimal:
        """Return what cells reserve in all, USD; further turns are not among them."""
        ways = [self.of(manifest, cell) for cell in cells]
        return money.total(*(money.total(way.attempt_usd, way.side_usd) for way in ways))


def joined(manifest: Manifest, transport: str) -> str:
    """Return the names of the transports of all arms, ``transport`` that of who names none."""
    return "+".join(sorted({arm.transport or transport for arm in manifest.arms}))


def find_ways(manifest: Manifest, phase: str, transport: str, restated: Restated) -> Ways | None:
    """Return the ways of a phase, None where a value of one of them was refused.

    Args:
        manifest: the study.
        phase: which of its phases.
        transport: what answers in every arm that names no other.
        restated: fills in what is left to the operator, and refuses.
    """
    blocks = manifest.transports.described
    filled: dict[str, Block | None] = {}
    for name in dict.fromkeys(arm.transport or transport for arm in manifest.arms):
        filled[name] = restated.settings(blocks[name])
    usd = restated.attempt_usd(manifest.budget.attempt_usd)
    found = {}
    for arm in manifest.arms:
        name = arm.transport or transport
        for slot in asked.phase_models(manifest, phase) or (None,):
            settings = filled[name]
            if settings is None or usd is None:
                return None
            for own in (slot, arm):
                settings = settings if own is None else _own(settings, own)
            own_usd = slot.attempt_usd if slot else None
            slot_id = slot.id if slot else None
            model = asked.model_of(manifest, arm, slot_id)
            side = _side(arm) if name == "cli" else money.ZERO
            found[arm.id, slot_id] = Way(name, model, settings, own_usd or usd, side)
    return Ways(found)


def _side(arm: ArmSettings) -> Decimal:
    """Return what a turn reserves for the arm's product, USD."""
    costs = arm.side_costs
    return money.ZERO if costs is None else costs.reserved_usd


def _own(settings: Block, own: OwnRates) -> Block:
    """Return the transport's block with an arm's or a model's own rates."""
    values: dict[str, Any] = {}
    if isinstance(settings, HttpSettings):
        values = {
            "input_usd_per_million": own.input_usd_per_million,
            "output_usd_per_million": own.output_usd_per_million,
        }
    elif isinstance(settings, CliSettings):
        values = {"prices": own.prices}
    named = {key: value for key, value in values.items() if value is not None}
    return dataclasses.replace(settings, **named) if named else settings
