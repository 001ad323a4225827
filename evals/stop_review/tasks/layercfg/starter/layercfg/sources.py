"""Where layers come from: JSON, TOML and INI files, and variables of the environment."""

import configparser
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from layercfg import paths
from layercfg.errors import BadLayer


@dataclass(frozen=True)
class Layer:
    """One set of values and where it comes from."""

    name: str
    values: dict = field(default_factory=dict)


def read_file(path):
    """Return the layer of a file; its ending tells what it is written in."""
    path = Path(path)
    readers = {".json": _json, ".toml": _toml, ".ini": _ini, ".cfg": _ini}
    reader = readers.get(path.suffix)
    if reader is None:
        endings = ", ".join(sorted(readers))
        raise BadLayer(path, "its ending is none of " + endings)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadLayer(path, error.strerror or str(error)) from error
    try:
        values = reader(text)
    except (ValueError, configparser.Error) as error:
        raise BadLayer(path, str(error)) from error
    if not isinstance(values, dict):
        raise BadLayer(path, "holds no table")
    return Layer(path.name, values)


def from_environment(environment, prefix):
    """Return the layer of the variables with a prefix.

    ``APP_SERVER__PORT=80`` sets ``server.port`` to the number 80: two underscores go one table
    deeper, and what reads as JSON is taken as JSON.
    """
    values = {}
    for name in sorted(environment):
        if not name.startswith(prefix + "_") or name == prefix + "_":
            continue
        path = name[len(prefix) + 1 :].lower().replace("__", ".")
        paths.put(values, path, parse_scalar(environment[name]))
    return Layer("environment", values)


def parse_scalar(text):
    """Return a text as the JSON value that it reads as, else as itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(text):
    return json.loads(text)


def _toml(text):
    return tomllib.loads(text)


def _ini(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(text)
    values = {}
    for section in parser.sections():
        for key, value in parser.items(section):
            paths.put(values, section + "." + key, parse_scalar(value))
    return values
