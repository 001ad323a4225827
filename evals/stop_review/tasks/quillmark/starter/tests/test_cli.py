import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from quillmark.cli import main

TEXT = "# Title\n\nSome *text*.\n\n## Part\n\n- a\n- b\n"


def run(*words, text=TEXT):
    """Run a command on a document; the word DOC stands for its path."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "doc.md"
        source.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(source) if word == "DOC" else word for word in words])
    return code, out.getvalue(), err.getvalue()


class CommandLineTest(unittest.TestCase):
    def test_html(self):
        code, out, err = run("html", "DOC")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith('<h1 id="title">Title</h1>\n<p>Some <em>text</em>.</p>\n'))

    def test_html_without_names(self):
        self.assertTrue(run("html", "DOC", "--no-names")[1].startswith("<h1>Title</h1>\n"))

    def test_a_page(self):
        out = run("html", "DOC", "--page", "--language", "de")[1]
        self.assertTrue(out.startswith("<!doctype html>"))
        self.assertIn('lang="de"', out)

    def test_toc(self):
        self.assertEqual(run("toc", "DOC")[1], "- Title (#title)\n  - Part (#part)\n")

    def test_toc_depth(self):
        self.assertEqual(run("toc", "DOC", "--depth", "1")[1], "- Title (#title)\n")

    def test_stats(self):
        self.assertEqual(
            run("stats", "DOC")[1],
            "headings: 2\nparagraphs: 1\ncode blocks: 0\nlists: 1\nquotes: 0\n",
        )

    def test_links(self):
        text = "# A\n\n[a](#a) [b](#b)\n"
        self.assertEqual(run("links", "DOC", text=text)[1], "3: #a\n3: #b\n")
        self.assertEqual(run("links", "DOC", "--broken", text=text)[1], "3: #b\n")

    def test_a_missing_file(self):
        code, out, err = run("html", "/nonexistent.md")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/nonexistent.md", err)

    def test_a_wrong_command_line(self):
        with self.assertRaises(SystemExit) as caught:
            run("pdf", "DOC")
        self.assertEqual(caught.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
