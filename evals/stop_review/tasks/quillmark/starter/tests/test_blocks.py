import unittest

from quillmark.blocks import parse
from quillmark.nodes import Code, Heading, ListBlock, Paragraph, Quote, Rule, walk


class HeadingTest(unittest.TestCase):
    def test_levels(self):
        found = parse("# One\n\n###### Six\n")
        self.assertEqual([(block.level, block.text) for block in found], [(1, "One"), (6, "Six")])

    def test_seven_marks_are_text(self):
        self.assertIsInstance(parse("####### Seven")[0], Paragraph)

    def test_a_blank_is_needed(self):
        self.assertIsInstance(parse("#One")[0], Paragraph)

    def test_marks_at_the_end_go(self):
        self.assertEqual(parse("## Two ##")[0].text, "Two")

    def test_lines_are_counted_from_one(self):
        found = parse("text\n\n# One\n")
        self.assertEqual([block.line for block in found], [1, 3])


class ParagraphTest(unittest.TestCase):
    def test_a_blank_line_ends_it(self):
        self.assertEqual([block.text for block in parse("a\nb\n\nc\n")], ["a\nb", "c"])

    def test_a_heading_ends_it(self):
        kinds = [type(block) for block in parse("a\n# b\nc")]
        self.assertEqual(kinds, [Paragraph, Heading, Paragraph])

    def test_windows_line_ends(self):
        self.assertEqual([block.text for block in parse("a\r\n\r\nb\r\n")], ["a", "b"])

    def test_nothing_is_no_block(self):
        self.assertEqual(parse("\n  \n"), [])


class CodeTest(unittest.TestCase):
    def test_a_fence_with_a_language(self):
        (block,) = parse("```python\nx = 1\n\ny = 2\n```\n")
        self.assertEqual((block.language, block.lines), ("python", ["x = 1", "", "y = 2"]))

    def test_markup_inside_is_code(self):
        (block,) = parse("~~~\n# no heading\n- no list\n~~~")
        self.assertEqual(block.lines, ["# no heading", "- no list"])

    def test_a_longer_fence_holds_a_shorter_one(self):
        (block,) = parse("````\n```\n````")
        self.assertEqual(block.lines, ["```"])

    def test_an_open_fence_goes_to_the_end(self):
        found = parse("```\na\n")
        self.assertEqual(len(found), 1)
        self.assertIsInstance(found[0], Code)


class RuleTest(unittest.TestCase):
    def test_three_kinds(self):
        found = parse("---\n\n***\n\n____")
        self.assertTrue(all(isinstance(block, Rule) for block in found))
        self.assertEqual(len(found), 3)

    def test_two_are_too_few(self):
        self.assertIsInstance(parse("--")[0], Paragraph)


class QuoteTest(unittest.TestCase):
    def test_it_holds_blocks(self):
        (block,) = parse("> # Title\n>\n> text\n")
        self.assertIsInstance(block, Quote)
        self.assertEqual([type(child) for child in block.children], [Heading, Paragraph])

    def test_quotes_nest(self):
        (block,) = parse("> > deep")
        self.assertIsInstance(block.children[0], Quote)


class ListTest(unittest.TestCase):
    def test_items_without_order(self):
        (block,) = parse("- a\n- b\n* c\n")
        self.assertFalse(block.ordered)
        self.assertEqual([item.text for item in block.items], ["a", "b", "c"])

    def test_items_in_order_keep_their_start(self):
        (block,) = parse("3. a\n4. b\n")
        self.assertTrue(block.ordered)
        self.assertEqual(block.start, 3)

    def test_the_other_kind_begins_a_new_list(self):
        self.assertEqual([block.ordered for block in parse("- a\n1. b\n")], [False, True])

    def test_a_list_in_a_list(self):
        (block,) = parse("- a\n  - b\n  - c\n- d\n")
        inner = block.items[0].children[0]
        self.assertIsInstance(inner, ListBlock)
        self.assertEqual([item.text for item in inner.items], ["b", "c"])
        self.assertEqual(block.items[1].text, "d")

    def test_an_item_goes_on_below(self):
        (block,) = parse("- a\n  more\n- b\n")
        self.assertEqual(block.items[0].text, "a\nmore")

    def test_a_paragraph_in_an_item(self):
        (block,) = parse("- a\n\n  second\n")
        self.assertEqual(block.items[0].children[0].text, "second")


class WalkTest(unittest.TestCase):
    def test_it_goes_into_quotes_and_lists(self):
        found = [type(block).__name__ for block in walk(parse("> a\n\n- b\n\n  c\n"))]
        self.assertEqual(found, ["Quote", "Paragraph", "ListBlock", "Paragraph"])


if __name__ == "__main__":
    unittest.main()
