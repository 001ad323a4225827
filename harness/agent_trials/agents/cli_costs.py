"""What an attempt of the Claude CLI cost: reported, priced, and whether the two can be believed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.agents import cli_prices, cli_usage
from agent_trials.agents.cli_checks import shown
from agent_trials.agents.cli_rules import Finding
from agent_trials.money import ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from decimal import Decimal

    from agent_trials.agents.cli_prices import Computed, RequestUsage, Tokens
    from agent_trials.agents.cli_rules import Expected
    from agent_trials.agents.cli_stream import Event, Stream
    from agent_trials.agents.cli_usage import ModelUsage, SessionTotals


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The money and counts of one process, USD; None where the stream does not tell.

    ``seen`` is what the requests in the stream cost at least, ``others`` what further results
    report. ``session`` is what the next process of the session starts from, ``session_usd`` what
    all processes of it cost together, None where the record of an earlier one was lost.
    """

    shown: Mapping[str, RequestUsage] = field(default_factory=dict)
    seen: Decimal = ZERO
    others: tuple[Decimal, ...] = ()
    reported: Decimal | None = None
    tokens: Tokens | None = None
    computed: Computed | None = None
    session: SessionTotals | None = None
    session_usd: Decimal | None = None

    @property
    def measured(self) -> Decimal | None:
        """Return the larger of the two costs, if both are there and agree."""
        if self.reported is None or self.computed is None or not self.computed.agrees:
            return None
        return max(self.reported, self.computed.charged)

    @property
    def lower_bound(self) -> Decimal:
        """Return the largest cost for which there is any valid evidence."""
        found = [self.seen, *self.others, self.reported or ZERO]
        if self.computed is not None:
            found.append(self.computed.charged)
            if not self.computed.agrees:
                found += [self.computed.per_request, self.computed.whole_attempt]
        return max(found)


def of_stream(stream: Stream, expected: Expected, is_model: Callable[[str], bool]) -> Costs:
    """Return the costs of a process from its output; the last result event is the one read."""
    shown_requests = cli_usage.requests(stream, is_model)
    seen = _priced_at_least(shown_requests, expected)
    if not stream.results:
        return Costs(shown=shown_requests, seen=seen)
    result = stream.results[-1]
    counted = cli_usage.model_usage(result, is_model)
    total = cli_usage.reported_cost(result)
    prior = _prior(result, counted, shown_requests, expected)
    expected = replace(expected, prior=prior)
    tokens, reported, carried = _own_part(result, counted, total, expected)
    return Costs(
        shown=shown_requests,
        seen=seen,
        others=tuple(_earlier_results(stream, expected if carried else None)),
        reported=reported,
        tokens=tokens,
        computed=_computed(tokens, shown_requests, reported, expected),
        session=None if total is None else cli_usage.SessionTotals(total, counted.tokens),
        session_usd=total if carried or prior is None else None,
    )


def _prior(
    result: Event, counted: ModelUsage, requests: Mapping[str, RequestUsage], expected: Expected
) -> SessionTotals | None:
    """Return what the session had cost before; where nobody saw it, as this result tells it.

    A process that was killed prints no result, and the next one's totals include it all the same.
    What it used is what the session used beyond this process, priced by the table: of its possible
    prices the one that is nearest to what the total holds beyond this process.
    """
    prior = expected.prior
    if prior is None or prior.cost_usd is not None:
        return prior
    process = cli_usage.usage(result.data.get("usage"))
    before = cli_usage.earlier(counted.tokens, process) if counted.tokens else None
    if before is None:
        return replace(prior, cost_usd=ZERO)
    rates = (expected.prices, expected.web_search_usd)
    own = cli_prices.per_request(process, list(requests.values()), *rates).high if process else ZERO
    total = cli_usage.reported_cost(result) or ZERO
    cost = cli_prices.per_request(before, [], *rates).nearest(total - own)
    if result.data.get("subtype") == "error_max_budget_usd":
        # This process's usage lacks its last response, so that what came before looks larger.
        cost = min(cost, prior.charged_usd)
        return replace(prior, cost_usd=cost)
    return replace(prior, cost_usd=cost, tokens=before)


def findings(stream: Stream, costs: Costs, is_model: Callable[[str], bool]) -> Iterator[Finding]:
    """Find why the costs of an attempt with a result cannot be believed."""
    result = stream.results[-1]
    counted = cli_usage.model_usage(result, is_model)
    if costs.reported is None:
        yield Finding("reported-cost-invalid", shown(result.data.get("total_cost_usd")))
    if not counted.models:
        yield Finding("model-usage-missing", shown(result.data.get("modelUsage")))
    elif (set(counted.foreign) != set(counted.models) and counted.tokens is None) or (
        cli_usage.usage(result.data.get("usage")) is None
    ):
        yield Finding("counts-invalid", shown([result.data.get("modelUsage")]))
    named = [name for name in cli_usage.model_names(stream) if not is_model(name)]
    if named or counted.foreign:
        yield Finding("foreign-model", shown(sorted({*named, *counted.foreign})))
    if any(basis != "list" for basis in counted.bases):
        yield Finding("cost-basis-not-list", shown(counted.bases))
    if costs.reported is not None and costs.computed is not None and not costs.computed.agrees:
        yield Finding("costs-disagree", _comparison(costs.reported, costs.computed))


def _own_part(
    result: Event, counted: ModelUsage, total: Decimal | None, expected: Expected
) -> tuple[Tokens | None, Decimal | None, bool]:
    if counted.tokens is None or total is None:
        return counted.tokens, total, False
    process = cli_usage.usage(result.data.get("usage"))
    tokens, cost, carried = cli_usage.in_this_process(
        counted.tokens, process, total, expected.prior
    )
    counts_known = expected.prior is not None and expected.prior.tokens is not None
    if carried and not counts_known and result.data.get("subtype") == "error_max_budget_usd":
        # The process's usage lacks the response over the limit, and the session's growth is not
        # known: there is nothing to price.
        return None, cost, carried
    return tokens, cost, carried


def _earlier_results(stream: Stream, carrying: Expected | None) -> Iterator[Decimal]:
    """Return what the results before the last one report; none of them is passed over in charge."""
    prior = (carrying.prior.cost_usd if carrying and carrying.prior else None) or ZERO
    for result in stream.results[:-1]:
        total = cli_usage.reported_cost(result)
        if total is not None:
            yield max(total - prior, ZERO)


def _priced_at_least(requests: Mapping[str, RequestUsage], expected: Expected) -> Decimal:
    return cli_prices.per_request(
        cli_usage.lower_bound(requests),
        list(requests.values()),
        expected.prices,
        expected.web_search_usd,
    ).low


def _computed(
    tokens: Tokens | None,
    requests: Mapping[str, RequestUsage],
    reported: Decimal | None,
    expected: Expected,
) -> Computed | None:
    if tokens is None:
        return None
    return cli_prices.compute(
        tokens,
        list(requests.values()),
        reported,
        expected.prices,
        rule=expected.tier_rule,
        web_search_usd=expected.web_search_usd,
    )


def _comparison(reported: Decimal, computed: Computed) -> str:
    figures = (reported, computed.per_request, computed.whole_attempt)
    return "reported {}, per request {}, whole attempt {}".format(*map(money.text, figures))
