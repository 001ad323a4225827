"""The report as one HTML page: no script, nothing loaded, every value escaped."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from agent_trials.results import evaluation_tables, figures, flow, plots, review_tables
from agent_trials.results.flow import ArmFlow
from agent_trials.results.provider_tables import tables
from agent_trials.results.rows_from_ledger import grades_of
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.results.record import Record

FURTHER = ("providers", "reviews", "evaluation")
"""Sections that only some studies have."""
TEMPLATES = Path(__file__).parent / "templates"
CONTENTS = (
    ("primary", "Primary endpoints"),
    ("secondary", "Secondary endpoints"),
    ("exploratory", "Exploratory figures"),
    ("arms", "Arms"),
    ("providers", "Provider commands"),
    ("reviews", review_tables.HEADING),
    ("evaluation", evaluation_tables.HEADING),
    ("flow", "Flow of attempts"),
    ("money", "Spend over time"),
    ("grading", "Grading"),
    ("pairs", "Pairs"),
    ("attempts", "Attempts"),
    ("runs", "Runs"),
    ("deviations", "Deviations and amendments"),
    ("isolation", "Isolation"),
    ("preparation", "Preparation"),
    ("prices", "Prices"),
    ("limits", "Limits and threats"),
    ("digests", "Digests"),
)
STANDINGS = (
    ("primary", "Primary endpoints", "Registered before the first attempt."),
    (
        "secondary",
        "Secondary endpoints",
        "Registered before the first attempt; p-values are corrected by Holm over all of them.",
    ),
    ("exploratory", "Exploratory figures", "Not registered. They suggest, and decide nothing."),
)


class Pages:
    """Makes pages of the templates, with the style and the policy that allows just that style."""

    def __init__(self) -> None:
        css = (TEMPLATES / "report.css").read_text("utf-8")
        if "<" in css:
            raise RuntimeError("a style with a tag in it")
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=True,
        )
        # Not escaped, so that its bytes are those of the digest; a quotation mark would not be.
        style = Markup(css)  # noqa: S704 - our own file, checked above
        self._shared = {"css": style, "policy": policy(css), "counted": counted}

    def page(self, template: str, **values: object) -> bytes:
        """Return a page of a template."""
        text = self._environment.get_template(template).render(**self._shared, **values)
        # Half a surrogate pair can come out of an answer; no UTF-8 holds it.
        return text.encode("utf-8", "backslashreplace")


def policy(css: str) -> str:
    """Return the page's content security policy."""
    digest = base64.b64encode(hashlib.sha256(css.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"


def render(
    record: Record, document: Mapping[str, Any], links: Mapping[int, str] | None = None
) -> bytes:
    """Return the report.

    Args:
        record: what the document was made of.
        document: the report as JSON has it.
        links: by position, where an attempt has a page of its own.
    """
    registered = (document["study"]["endpoints"] or {}).get("pValues", False)
    shown = figures.outcomes(record, document["attempts"])
    money = figures.spend(record)
    return Pages().page(
        "report.html",
        title=document["study"]["title"] or f"Report of {document['study']['id']}",
        rehearsal=document["rehearsal"],
        d=document,
        contents=[each for each in CONTENTS if each[0] not in FURTHER or document[each[0]]],
        further=[
            ("providers", "Provider commands", tables(document["providers"])),
            ("reviews", review_tables.HEADING, review_tables.tables(document["reviews"])),
            (
                "evaluation",
                evaluation_tables.HEADING,
                evaluation_tables.tables(document["evaluation"]),
            ),
        ],
        standings=STANDINGS,
        p_values=registered,
        figures=_of_endpoints(record, document),
        outcomes=_figure(plots.draw(shown), shown.alternative, "Outcomes by task and arm."),
        spend=_figure(plots.draw(money), money.alternative, "Money set aside and spent."),
        flow=_flow(document),
        links=links,
    )


def _of_endpoints(
    record: Record, document: Mapping[str, Any]
) -> dict[str, dict[str, list[dict[str, str]]]]:
    graded = grades_of(record)
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for comparison in document["comparisons"]:
        of = found.setdefault(comparison["treatment"], {})
        for endpoint in comparison["endpoints"]:
            drawn = of.setdefault(endpoint["endpoint"], [])
            if endpoint["standing"] == "exploratory":
                continue
            difference = figures.differences(comparison, endpoint)
            if difference:
                caption = "Mean difference of each task; dashed: their mean, grey: its interval."
                drawn.append(_figure(plots.draw(difference), difference.alternative, caption))
            spread = figures.distributions(record, graded, endpoint)
            if any(spread.values):
                caption = "Every measured attempt; the bar is the median."
                drawn.append(_figure(plots.draw(spread), spread.alternative, caption))
    return found


def _flow(document: Mapping[str, Any]) -> dict[str, str] | None:
    arms = [ArmFlow(one["arm"], one["counts"], one["losses"]) for one in document["flow"]]
    if not arms:
        return None
    alternative = "; ".join(one["says"] for one in document["flow"])
    return _figure(flow.svg(arms).encode("utf-8"), alternative, "From plan to analysis, by arm.")


def _figure(svg: bytes, alternative: str, caption: str) -> dict[str, str]:
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"
    return {"source": source, "alternative": alternative, "caption": caption}
