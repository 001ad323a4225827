import unittest

from quillmark.blocks import parse
from quillmark.links import broken, links

TEXT = """# One

See [two](#two) and ![it](a.png).

## Two

- [gone](#gone)

> [out](https://a.example "title")

`[no](#code)`
"""


class LinksTest(unittest.TestCase):
    def test_all_in_order_with_their_lines(self):
        self.assertEqual(
            [(link.line, link.address) for link in links(parse(TEXT))],
            [(3, "#two"), (3, "a.png"), (7, "#gone"), (9, "https://a.example")],
        )

    def test_a_name_that_no_heading_has_is_broken(self):
        self.assertEqual([link.address for link in broken(parse(TEXT))], ["#gone"])

    def test_numbered_names_count(self):
        self.assertEqual(broken(parse("# A\n\n# A\n\n[x](#a-2)")), [])


if __name__ == "__main__":
    unittest.main()
