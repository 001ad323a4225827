import unittest

from quillmark import render
from quillmark.document import page, statistics


class RenderTest(unittest.TestCase):
    def check(self, text, expected):
        self.assertEqual(render(text), expected)

    def test_a_heading_has_a_name(self):
        self.check("# Hello, *world*", '<h1 id="hello-world">Hello, <em>world</em></h1>\n')

    def test_names_can_be_left_out(self):
        self.assertEqual(render("# A", names=False), "<h1>A</h1>\n")

    def test_the_second_of_a_name_is_numbered(self):
        self.check("# A\n# A", '<h1 id="a">A</h1>\n<h1 id="a-2">A</h1>\n')

    def test_a_paragraph(self):
        self.check("a\nb", "<p>a\nb</p>\n")

    def test_code(self):
        self.check(
            "```py\na < b\n```",
            '<pre><code class="language-py">a &lt; b\n</code></pre>\n',
        )

    def test_a_list(self):
        self.check("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n")

    def test_an_ordered_list(self):
        self.check("2. a", '<ol start="2">\n<li>a</li>\n</ol>\n')

    def test_a_nested_list(self):
        self.check("- a\n  - b", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n")

    def test_a_quote(self):
        self.check("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n")

    def test_a_rule(self):
        self.check("---", "<hr>\n")

    def test_html_is_text(self):
        self.check("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n")


class PageTest(unittest.TestCase):
    def test_the_title_is_the_first_heading(self):
        self.assertIn("<title>A &amp; b</title>", page("text\n\n# A & *b*"))

    def test_without_a_heading(self):
        self.assertIn("<title>Untitled</title>", page("text"))

    def test_the_language(self):
        self.assertIn('<html lang="de">', page("text", language="de"))


class StatisticsTest(unittest.TestCase):
    def test_blocks_are_counted_wherever_they_are(self):
        found = statistics("# A\n\ntext\n\n> quoted\n\n- a\n\n  - b\n\n```\nx\n```\n")
        self.assertEqual(
            found,
            {"headings": 1, "paragraphs": 2, "code blocks": 1, "lists": 2, "quotes": 1},
        )


if __name__ == "__main__":
    unittest.main()
