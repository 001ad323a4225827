"""What the code finds of citations, so that an adjudicator judges support and not existence."""

from __future__ import annotations

import pytest

from agent_trials.graders import citations
from agent_trials.graders.citations import Citation, Corpora, Finding

CORPUS = Corpora(
    {"docs/a.md": "\n".join(f"line {n} of the page" for n in range(1, 21)), "Makefile": "all:\n"}
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see docs/a.md:3", [Citation("docs/a.md", 3, 3)]),
        ("(docs/a.md:3-5).", [Citation("docs/a.md", 3, 5)]),
        ("docs/a.md#L3-L5", [Citation("docs/a.md", 3, 5)]),
        ("./docs/a.md:3", [Citation("docs/a.md", 3, 3)]),
        ("docs/a.md:3 and docs/a.md:3", [Citation("docs/a.md", 3, 3)]),
        ("gone.md:3", [Citation("gone.md", 3, 3)]),
        ("`docs/a.md`:3", [Citation("docs/a.md", 3, 3)]),
        ("docs/a.md:L3-L5", [Citation("docs/a.md", 3, 5)]),
        ("docs/a.md:3:7", [Citation("docs/a.md", 3, 3)]),
        ("docs/a.md:123456789", [Citation("docs/a.md", 123456789, 123456789)]),
        ("Makefile:1 and localhost:80", [Citation("Makefile", 1, 1)]),
        ("../docs/a.md:3", [Citation("../docs/a.md", 3, 3)]),
        ("docs/../docs/a.md:3", [Citation("docs/../docs/a.md", 3, 3)]),
        ("/etc/secret.md:1", [Citation("/etc/secret.md", 1, 1)]),
        ("and/or:3 at 10:30", []),
        ("https://example.com:443/x", []),
        ("example.com:443 at 10.30:15", []),
        ('"line 3 of the page" (docs/a.md:3)', [Citation("docs/a.md", 3, 3, "line 3 of the page")]),
        ('docs/a.md:3: "line 3 of the page"', [Citation("docs/a.md", 3, 3, "line 3 of the page")]),
    ],
)
def test_finds_places_in_their_usual_spellings(text: str, found: list[Citation]) -> None:
    assert list(citations.find(text, CORPUS)) == found


@pytest.mark.parametrize(
    ("citation", "finding"),
    [
        (Citation("docs/a.md", 1, 20), Finding.EXISTS),
        (Citation("docs/b.md", 1, 1), Finding.NO_FILE),
        (Citation("docs/../docs/a.md", 1, 1), Finding.NO_FILE),
        (Citation("../docs/a.md", 1, 1), Finding.NO_FILE),
        (Citation("/docs/a.md", 1, 1), Finding.NO_FILE),
        (Citation("docs/a.md", 1, 10**17), Finding.NO_LINES),
        (Citation("docs/a.md", 0, 0), Finding.NO_LINES),
        (Citation("docs/a.md", 20, 21), Finding.NO_LINES),
        (Citation("docs/a.md", 5, 4), Finding.NO_LINES),
        (Citation("docs/a.md", 3, 3, "Line 3  OF the page..."), Finding.EXISTS),
        (Citation("docs/a.md", 3, 3, "line 19 of the page"), Finding.NO_QUOTE),
    ],
)
def test_checks_file_lines_and_quotation(citation: Citation, finding: Finding) -> None:
    (checked,) = citations.check([citation], CORPUS)

    assert checked.finding is finding


def test_a_long_citation_is_cut_and_says_so() -> None:
    """An answer that cites a whole corpus would otherwise buy the largest packet."""
    long = Corpora({"a.md": "\n".join("x" for _ in range(500))})
    (checked,) = citations.check([Citation("a.md", 1, 500)], long)

    assert len(checked.text.splitlines()) == citations.MOST_LINES + 1
    assert "further lines are cited" in checked.text


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ('docs/a.md:3, "the text of the other" (docs/b.md:4)', [None, "the text of the other"]),
        ('docs/a.md:3: "text of one", docs/b.md:4: "of another"', ["text of one", "of another"]),
        ('docs/a.md:3, "nobody knows whose", docs/b.md:4', [None, None]),
        ('"text of one" (docs/a.md:3), "of another" (docs/b.md:4)', ["text of one", "of another"]),
    ],
    ids=["bracket", "colons", "undecided", "brackets"],
)  # fmt: skip
def test_a_quotation_belongs_to_one_citation(text: str, quotes: list[str | None]) -> None:
    """Held against the wrong file, an honest quotation would look made up."""
    assert [each.quote for each in citations.find(text, CORPUS)] == quotes


def test_ten_thousand_citations_in_one_line_are_found() -> None:
    """Each looks around itself, and not at the whole line."""
    line = ", ".join(f'docs/a.md:{n}: "line {n} of the page"' for n in range(1, 10_001))

    found = citations.find(line, CORPUS)

    assert len(found) == 10_000
    assert found[-1].quote == "line 10000 of the page"


def test_a_line_ends_where_the_tools_of_the_agents_say_so() -> None:
    """A form feed or U+2028 inside a line would shift every number after it."""
    corpus = Corpora({"a.md": "one\f\u2028 still one\r\ntwo\r\n"})
    (two,) = citations.check([Citation("a.md", 2, 2)], corpus)
    (three,) = citations.check([Citation("a.md", 3, 3)], corpus)

    assert two.text == "1: one\f\u2028 still one\n2: two"
    assert three.finding is Finding.NO_LINES
