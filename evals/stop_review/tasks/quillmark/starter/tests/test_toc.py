import unittest

from quillmark.blocks import parse
from quillmark.slug import Slugs, slug
from quillmark.toc import as_text, entries

TEXT = "# A\n\n## B\n\n### C\n\n## B\n\n# D\n"


class TocTest(unittest.TestCase):
    def test_headings_nest(self):
        roots = entries(parse(TEXT))
        self.assertEqual([root.text for root in roots], ["A", "D"])
        self.assertEqual([entry.name for entry in roots[0].children], ["b", "b-2"])

    def test_depth(self):
        self.assertEqual(
            as_text(entries(parse(TEXT), depth=2)),
            ["- A (#a)", "  - B (#b)", "  - B (#b-2)", "- D (#d)"],
        )

    def test_names_do_not_depend_on_the_depth(self):
        found = entries(parse("### X\n\n# X\n"), depth=1)
        self.assertEqual([entry.name for entry in found], ["x-2"])

    def test_markup_is_left_out(self):
        self.assertEqual(entries(parse("# `a` **b**"))[0].text, "a b")

    def test_a_document_may_begin_with_a_deep_heading(self):
        self.assertEqual([entry.level for entry in entries(parse("### C\n\n# A\n"))], [3, 1])


class SlugTest(unittest.TestCase):
    def test_letters_and_digits(self):
        self.assertEqual(slug("Hello, World 2!"), "hello-world-2")

    def test_accents_go(self):
        self.assertEqual(slug("Über Café"), "uber-cafe")

    def test_nothing_left_is_a_section(self):
        self.assertEqual(slug("???"), "section")

    def test_each_name_once(self):
        slugs = Slugs()
        self.assertEqual([slugs.name("A") for _ in range(3)], ["a", "a-2", "a-3"])


if __name__ == "__main__":
    unittest.main()
