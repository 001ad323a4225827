"""Fills in references: ``${server.host}`` stands for the value at that path.

A text that is one reference and nothing else takes the value as it is, whatever its type; inside of a
longer text the value is written out. Two dollar signs are one.
"""

import json
import re

from layercfg import paths
from layercfg.errors import ConfigError

_REFERENCE = re.compile(r"\$\$|\$\{([^${}]+)\}")
_MISSING = object()


def interpolate(tree):
    """Return a copy of the values with every reference filled in."""
    return _Filler(tree).fill(tree, ())


class _Filler:
    def __init__(self, tree):
        self._tree = tree

    def fill(self, value, open_paths):
        if isinstance(value, dict):
            return {key: self.fill(inner, open_paths) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, open_paths) for inner in value]
        if isinstance(value, str):
            return self._text(value, open_paths)
        return value

    def _text(self, text, open_paths):
        whole = _REFERENCE.fullmatch(text)
        if whole and whole[1]:
            return self._value(whole[1], open_paths)
        return _REFERENCE.sub(lambda found: self._written(found, open_paths), text)

    def _written(self, found, open_paths):
        if found[1] is None:
            return "$"
        value = self._value(found[1], open_paths)
        return value if isinstance(value, str) else json.dumps(value)

    def _value(self, path, open_paths):
        if path in open_paths:
            circle = " -> ".join((*open_paths, path))
            raise ConfigError("references go round in a circle: " + circle)
        value = paths.get(self._tree, path, _MISSING)
        if value is _MISSING:
            raise ConfigError("${" + path + "} refers to nothing")
        return self.fill(value, (*open_paths, path))
