import json
import tomllib
import unittest

from tests.helpers import run


class ShowTest(unittest.TestCase):
    def test_lines(self):
        code, out, err = run("show", "base", "local")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            out.splitlines(),
            [
                "debug = true",
                'plugins = ["c"]',
                'server.host = "localhost"',
                "server.port = 9090",
                'server.url = "http://localhost:9090"',
            ],
        )

    def test_raw(self):
        self.assertIn("${server.host}", run("show", "base", "--raw")[1])

    def test_json(self):
        out = run("show", "base", "--format", "json")[1]
        self.assertEqual(json.loads(out)["plugins"], ["a", "b"])

    def test_toml_reads_back(self):
        files = {"odd": {"a b": 1, "t": {"x": [1, {"y": "z"}], "u": {"v": True}}}}
        out = run("show", "odd", "--format", "toml", **files)[1]
        self.assertEqual(tomllib.loads(out), files["odd"])

    def test_the_environment_is_the_topmost_layer(self):
        out = run("show", "base", "--env-prefix", "APP", environment={"APP_SERVER__PORT": "1"})[1]
        self.assertIn("server.port = 1\n", out)

    def test_a_file_that_is_not_there(self):
        code, out, err = run("show", "/nonexistent.json")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("layercfg: /nonexistent.json: No such file", err)

    def test_a_reference_to_nothing(self):
        code, _, err = run("show", "bad", bad={"a": "${b}"})
        self.assertEqual(code, 2)
        self.assertIn("${b} refers to nothing", err)


class GetTest(unittest.TestCase):
    def test_text_stands_without_quotes(self):
        self.assertEqual(run("get", "server.url", "base")[1], "http://localhost:8080\n")

    def test_other_values_are_json(self):
        self.assertEqual(run("get", "plugins", "base")[1], '["a", "b"]\n')

    def test_what_is_not_there(self):
        code, _, err = run("get", "server.prot", "base")
        self.assertEqual(code, 2)
        self.assertIn("nothing sets server.prot; there are server.host, server.port", err)

    def test_what_was_removed(self):
        self.assertEqual(run("get", "debug", "base", "off", off={"debug": None})[0], 2)


class ExplainTest(unittest.TestCase):
    def test_one_path(self):
        out = run("explain", "base", "local", "--path", "server.port")[1]
        self.assertEqual(out, "base.json: 8080\nlocal.json: 9090\n")

    def test_a_removal(self):
        out = run("explain", "base", "off", "--path", "debug", off={"debug": None})[1]
        self.assertEqual(out, "base.json: false\noff.json: removed\n")

    def test_all_paths(self):
        out = run("explain", "base", "local")[1]
        self.assertIn("server.host: base.json\nserver.port: local.json\n", out)


class CheckAndDiffTest(unittest.TestCase):
    def test_check(self):
        schema = {"debug": "flag", "plugins": "list", "server": {"host": "text", "port": "whole"}}
        code, out, _ = run("check", "schema", "base", schema=schema)
        self.assertEqual((code, out), (1, "server.url is not known\n"))
        schema["server"]["url"] = "text?"
        self.assertEqual(run("check", "schema", "base", schema=schema), (0, "", ""))

    def test_diff(self):
        code, out, _ = run("diff", "base", "other", other={"debug": True, "extra": 1})
        self.assertEqual(code, 1)
        self.assertEqual(out.splitlines()[:2], ["~ debug = false -> true", "+ extra = 1"])
        self.assertIn("- server.port = 8080", out)

    def test_no_difference(self):
        self.assertEqual(run("diff", "base", "base"), (0, "", ""))

    def test_ini_against_toml(self):
        files = {"one": (".ini", "[a]\nb = 1\n"), "two": (".toml", "[a]\nb = 1\n")}
        self.assertEqual(run("diff", "one", "two", **files)[0], 0)


if __name__ == "__main__":
    unittest.main()
