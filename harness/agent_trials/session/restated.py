"""Flags that restate what a study froze, or give what it leaves to the operator.

Rules:
    a flag may repeat a frozen value, never change it
    where the manifest says "operator", a paid run needs the flag
    a rehearsal needs none: it costs nothing, so a stand-in does
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agent_trials import money
from agent_trials.errors import MoneyError, Problem
from agent_trials.session.options import INPUT_RATE, OUTPUT_RATE
from agent_trials.study.settings import OPERATOR, CliSettings, HttpSettings, ProviderSettings

if TYPE_CHECKING:
    from decimal import Decimal

    from agent_trials.session.options import Options

T = TypeVar("T")
Block = HttpSettings | CliSettings | ProviderSettings

STAND_IN_ATTEMPT = money.parse("0.10")
STAND_IN_INPUT = money.parse("0.50")
STAND_IN_OUTPUT = money.parse("2.50")


@dataclasses.dataclass(frozen=True)
class Value(Generic[T]):
    """A value of the manifest beside the flag that may restate it."""

    flag: str
    path: str
    frozen: T | str
    given: str | None


class Restated:
    """Fills in a study's values from the operator's flags.

    Args:
        study: the study's id, for sentences.
        options: what the operator gave.
        problems: where refusals are added.
    """

    def __init__(self, study: str, options: Options, problems: list[Problem]) -> None:
        self._study = study
        self._options = options
        self._problems = problems

    def attempt_usd(self, frozen: Decimal | str) -> Decimal | None:
        """Return what one attempt may cost, USD; None where it was refused."""
        value = Value(
            "--attempt-budget-usd", "budget.attempt_usd", frozen, self._options.attempt_usd
        )
        return self._amount(value, STAND_IN_ATTEMPT)

    def settings(self, block: Block) -> Block | None:
        """Return the transport's block with every value filled in; None where it was refused."""
        if isinstance(block, ProviderSettings):
            return block
        if isinstance(block, CliSettings):
            value: Value[str] = Value(
                "--cli-version", "transports.cli.version", block.version, self._options.cli_version
            )
            version = self._chosen(value, self._options.cli_version, block.version)
            return dataclasses.replace(block, version=version) if version else None
        rates = (
            self._amount(
                Value(
                    f"--input-usd-per-million (or {INPUT_RATE})",
                    "transports.http.input_usd_per_million",
                    block.input_usd_per_million,
                    self._options.input_rate,
                ),
                STAND_IN_INPUT,
            ),
            self._amount(
                Value(
                    f"--output-usd-per-million (or {OUTPUT_RATE})",
                    "transports.http.output_usd_per_million",
                    block.output_usd_per_million,
                    self._options.output_rate,
                ),
                STAND_IN_OUTPUT,
            ),
        )
        if rates[0] is None or rates[1] is None:
            return None
        return dataclasses.replace(
            block, input_usd_per_million=rates[0], output_usd_per_million=rates[1]
        )

    def _amount(self, value: Value[Decimal], stand_in: Decimal) -> Decimal | None:
        given = None
        if value.given is not None:
            try:
                given = money.parse_positive(value.given)
            except MoneyError as error:
                self._refuse(f"{value.flag}", str(error), "give a positive decimal amount")
                return None
        amount: Decimal | None = self._chosen(value, given, stand_in)
        return amount

    def _chosen(self, value: Value[Any], given: Any, stand_in: Any) -> Any:  # noqa: ANN401 - T
        if value.frozen == OPERATOR:
            if given is None and self._options.approve_budget:
                what = f"study {self._study} leaves {value.path} to the operator"
                self._refuse(value.flag, what, f"give {value.flag}")
                return None
            return stand_in if given is None else given
        if given is not None and given != value.frozen:
            shown = value.frozen if isinstance(value.frozen, str) else money.text(value.frozen)
            what = f"study {self._study} fixes {value.path} = {shown}"
            remedy = "leave it out, or amend the study"
            self._refuse(f"{value.flag} {value.given}", what, remedy)
            return None
        return value.frozen

    def _refuse(self, where: str, what: str, remedy: str) -> None:
        self._problems.append(Problem(where, what, remedy))
