import tempfile
import unittest
from pathlib import Path

from layercfg.errors import BadLayer
from layercfg.sources import from_environment, parse_scalar, read_file


class FileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def layer(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return read_file(path)

    def test_json(self):
        layer = self.layer("a.json", '{"x": {"y": 1}}')
        self.assertEqual((layer.name, layer.values), ("a.json", {"x": {"y": 1}}))

    def test_toml(self):
        self.assertEqual(self.layer("a.toml", "[x]\ny = [1, 2]\n").values, {"x": {"y": [1, 2]}})

    def test_ini(self):
        text = "[x]\ny = 1\nName = some text\n[x.z]\non = true\n"
        self.assertEqual(
            self.layer("a.ini", text).values, {"x": {"y": 1, "Name": "some text", "z": {"on": True}}}
        )

    def test_another_ending(self):
        with self.assertRaisesRegex(BadLayer, "none of .cfg, .ini, .json, .toml"):
            self.layer("a.yaml", "")

    def test_what_cannot_be_read(self):
        for name, text in (("a.json", "{"), ("a.toml", "x ="), ("a.ini", "x")):
            with self.subTest(name=name), self.assertRaisesRegex(BadLayer, name):
                self.layer(name, text)

    def test_no_table(self):
        with self.assertRaisesRegex(BadLayer, "holds no table"):
            self.layer("a.json", "[1]")

    def test_no_file(self):
        with self.assertRaisesRegex(BadLayer, "No such file"):
            read_file(self.folder / "b.json")


class EnvironmentTest(unittest.TestCase):
    def test_names_are_paths(self):
        layer = from_environment(
            {"APP_SERVER__PORT": "80", "APP_DEBUG": "true", "APP_NAME": "x y", "OTHER": "1"}, "APP"
        )
        self.assertEqual(layer.name, "environment")
        self.assertEqual(layer.values, {"server": {"port": 80}, "debug": True, "name": "x y"})

    def test_the_prefix_alone_is_nothing(self):
        self.assertEqual(from_environment({"APP_": "1", "APP": "2", "APPLE_X": "3"}, "APP").values, {})

    def test_scalars(self):
        self.assertEqual(parse_scalar("1.5"), 1.5)
        self.assertEqual(parse_scalar("[1]"), [1])
        self.assertIsNone(parse_scalar("null"))
        self.assertEqual(parse_scalar("hello"), "hello")


if __name__ == "__main__":
    unittest.main()
