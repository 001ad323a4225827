"""Draws the report's plots with matplotlib: the one file that imports it, when a plot is wanted.

A plot is SVG that is the same for the same figures: fixed salt for ids, glyphs as paths, no date,
no metadata, no DOCTYPE, and nothing of a matplotlibrc. What it shows is made in ``figures``.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from agent_trials.results.figures import Differences, Distributions, Outcomes, Plot, Spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 5.8
COLOURS = ("#33669a", "#c4652d", "#4d8a57", "#8a5a9e", "#9a8433", "#56808a")
OUTCOMES = {
    "correct": "#2f7d5b",
    "partial": "#8cbf8a",
    "incorrect": "#b5482f",
    "incomplete": "#d9915b",
    "pending": "#9db4cc",
    "completed": "#9db4cc",
    "blocked": "#b9bdc4",
}
OTHER = "#7a6f86"
MOST_POINTS = 200
MOST_LABELS = 40
MOST_TICKS = 5

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "agent-trials",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6673",
    "axes.axisbelow": True,
    "grid.color": "#e2e6eb",
    "path.simplify": False,
    "text.parse_math": False,
}
_PROLOGUE = re.compile(r"^<\?xml.*?\?>\s*|<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*", re.DOTALL)


def draw(what: Plot) -> bytes:
    """Return the plot as SVG."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only a plot needs it

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        return _svg(_figure_of(what))


def _figure_of(what: Plot) -> Figure:
    match what:
        case Differences():
            return _differences(what)
        case Distributions():
            return _distributions(what)
        case Spend():
            return _spend(what)
        case Outcomes():
            return _outcomes(what)


def _differences(of: Differences) -> Figure:
    """Draw an endpoint's mean difference in each task, and their mean."""
    shown = len(of.tasks) <= MOST_LABELS
    height = 0.9 + (0.21 * len(of.tasks) if shown else 3.2)
    figure, [axes] = _figure(height=height)
    places = range(len(of.tasks))
    colours = [COLOURS[0] if amount < 0 else COLOURS[1] for amount in of.amounts]
    axes.hlines(places, 0, of.amounts, colors=colours, linewidth=1.4 if shown else 0.6)
    axes.scatter(of.amounts, places, c=colours, s=16 if shown else 3, zorder=3)
    axes.axvline(0, color="#16202c", linewidth=0.8)
    if of.lower is not None and of.upper is not None:
        axes.axvspan(of.lower, of.upper, color="#16202c", alpha=0.08, linewidth=0)
    axes.axvline(of.mean, color="#16202c", linewidth=1, linestyle="--")
    axes.set_yticks(list(places) if shown else [], list(of.tasks) if shown else [])
    axes.invert_yaxis()
    axes.set_xlabel(f"{of.treatment} minus {of.control}, {of.unit}")
    axes.locator_params(axis="x", nbins=MOST_TICKS)
    axes.grid(visible=True, axis="x")
    return figure


def _distributions(of: Distributions) -> Figure:
    """Draw an endpoint's values, a line of dots (or a box) for each arm."""
    figure, [axes] = _figure(height=0.8 + 0.55 * len(of.arms))
    for place, values in enumerate(of.values):
        colour = COLOURS[place % len(COLOURS)]
        if not values:
            axes.text(
                0.01, place, "nothing measured", color="#5b6673", va="center", fontsize=8,
                transform=axes.get_yaxis_transform(), in_layout=False,
            )  # fmt: skip
        elif len(values) <= MOST_POINTS:
            heights = [place + 0.26 * (index % 5 - 2) / 2 for index in range(len(values))]
            axes.scatter(values, heights, s=14, color=colour, alpha=0.6, linewidths=0)
        else:
            axes.boxplot(
                [values], positions=[place], orientation="horizontal", widths=0.5,
                showfliers=False, manage_ticks=False, medianprops={"color": colour},
            )  # fmt: skip
    for place, median in enumerate(of.medians):
        if median is not None:
            axes.plot(
                [median, median], [place - 0.36, place + 0.36], color="#16202c", linewidth=1.6
            )
    axes.set_yticks(range(len(of.arms)), of.arms)
    axes.set_ylim(len(of.arms) - 0.4, -0.6)
    axes.set_xlabel(of.unit)
    axes.locator_params(axis="x", nbins=MOST_TICKS)
    axes.grid(visible=True, axis="x")
    return figure


def _spend(of: Spend) -> Figure:
    """Draw money over time: spent, reserved and held on top, under the cap."""
    figure, panels = _figure(height=2.6, panels=len(of.runs))
    for axes, run in zip(panels, of.runs, strict=True):
        axes.fill_between(
            run.minutes, run.spent, run.set_aside, step="post", color=COLOURS[1], alpha=0.35,
            linewidth=0, label="reserved and held",
        )  # fmt: skip
        axes.plot(run.minutes, run.spent, drawstyle="steps-post", color=COLOURS[0], label="spent")
        axes.axhline(run.cap, color="#b5482f", linewidth=1, linestyle="--", label="cap")
        axes.set_title(f"run {run.number}", fontsize=9)
        axes.set_xlabel("minutes")
        axes.grid(visible=True)
    panels[0].set_ylabel("USD, prior ledgers included")
    panels[0].set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _outcomes(of: Outcomes) -> Figure:
    """Draw how many attempts of each task and arm came to what."""
    few = len(of.tasks) <= MOST_LABELS
    height = 1.2 + (0.24 * len(of.tasks) if few else 3.4)
    figure, panels = _figure(height=height, panels=len(of.arms))
    places = list(range(len(of.tasks)))
    for axes, arm, counts in zip(panels, of.arms, of.counts, strict=True):
        lefts = [0] * len(places)
        for name, numbers in counts.items():
            rights = [left + number for left, number in zip(lefts, numbers, strict=True)]
            colour = OUTCOMES.get(name, OTHER)
            if few:
                axes.barh(places, numbers, left=lefts, height=0.72, color=colour, label=name)
            else:
                axes.fill_betweenx(places, lefts, rights, color=colour, label=name, linewidth=0)
            lefts = rights
        axes.set_title(arm, fontsize=9)
        axes.set_xlabel("attempts")
        axes.locator_params(axis="x", integer=True)
    panels[0].set_yticks(places if few else [], of.tasks if few else [])
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def _figure(*, height: float, panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, and only a plot needs it

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(1, panels, sharey=True, squeeze=False)[0])


def _svg(figure: Figure) -> bytes:
    written = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(written, format="svg", metadata=nothing)
    lines = _PROLOGUE.sub("", written.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip().encode("utf-8") + b"\n"
