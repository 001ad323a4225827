import unittest

from quillmark.inline import plain, render


class InlineTest(unittest.TestCase):
    def check(self, text, expected):
        self.assertEqual(render(text), expected)

    def test_text_is_escaped(self):
        self.check("a < b & c", "a &lt; b &amp; c")

    def test_strong_and_emphasis(self):
        self.check("**a** and *b*", "<strong>a</strong> and <em>b</em>")
        self.check("__a__ and _b_", "<strong>a</strong> and <em>b</em>")

    def test_both(self):
        self.check("**a *b* c**", "<strong>a <em>b</em> c</strong>")

    def test_underscores_in_words_are_text(self):
        self.check("snake_case_name", "snake_case_name")

    def test_stars_with_blanks_are_text(self):
        self.check("2 * 3 * 4", "2 * 3 * 4")

    def test_strike(self):
        self.check("~~old~~", "<del>old</del>")

    def test_code_is_taken_as_it_is(self):
        self.check("`**a** <b>`", "<code>**a** &lt;b&gt;</code>")

    def test_code_with_a_backtick(self):
        self.check("`` a`b ``", "<code>a`b</code>")

    def test_a_link(self):
        self.check("[a *b*](x.html)", '<a href="x.html">a <em>b</em></a>')

    def test_a_link_with_a_title(self):
        self.check('[a](x.html "T")', '<a href="x.html" title="T">a</a>')

    def test_an_image(self):
        self.check("![a](x.png)", '<img src="x.png" alt="a">')

    def test_an_address_as_a_link(self):
        self.check("<https://a.example>", '<a href="https://a.example">https://a.example</a>')

    def test_scripts_are_no_addresses(self):
        self.check("[a](javascript:x)", '<a href="#">a</a>')
        self.check("[a](JavaScript:x)", '<a href="#">a</a>')

    def test_a_backslash_takes_meaning_away(self):
        self.check(r"\*a\* \[b\]", "*a* [b]")

    def test_line_breaks(self):
        self.check("a  \nb", "a<br>\nb")
        self.check("a\\\nb", "a<br>\nb")
        self.check("a\nb", "a\nb")


class PlainTest(unittest.TestCase):
    def test_markup_goes(self):
        self.assertEqual(plain("**a** `b` [c](d) *e* ~~f~~"), "a b c e f")

    def test_escapes_go(self):
        self.assertEqual(plain(r"\*a\*"), "*a*")


if __name__ == "__main__":
    unittest.main()
