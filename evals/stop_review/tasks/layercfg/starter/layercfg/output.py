"""Configurations as text: lines of paths, JSON, or TOML."""

import json

from layercfg import paths

FORMATS = ("lines", "json", "toml")


def render(tree, form="lines"):
    """Return a configuration in one of the formats, ending with a line break unless it is empty."""
    if form == "lines":
        return "".join("{} = {}\n".format(path, scalar(value)) for path, value in paths.leaves(tree))
    if form == "json":
        return json.dumps(tree, indent=2, sort_keys=True) + "\n"
    if form == "toml":
        return "\n".join(_toml(tree, ())).strip("\n") + "\n"
    raise ValueError("no format " + repr(form) + "; there are " + ", ".join(FORMATS))


def scalar(value):
    """Return one value as JSON writes it."""
    return json.dumps(value, sort_keys=True)


def _toml(tree, above):
    own = [
        "{} = {}".format(_key(key), _toml_value(tree[key]))
        for key in sorted(tree)
        if not isinstance(tree[key], dict)
    ]
    lines = ["[" + ".".join(_key(part) for part in above) + "]", *own, ""] if above and own else own
    if own and not above:
        lines = [*own, ""]
    for key in sorted(tree):
        if isinstance(tree[key], dict):
            lines += _toml(tree[key], (*above, key))
    return lines


def _key(key):
    plain = key.replace("-", "").replace("_", "")
    return key if plain.isascii() and plain.isalnum() else json.dumps(key)


def _toml_value(value):
    if isinstance(value, dict):
        inner = ", ".join("{} = {}".format(_key(key), _toml_value(value[key])) for key in sorted(value))
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml_value(inner) for inner in value) + "]"
    return json.dumps(value)
