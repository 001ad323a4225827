"""What a configuration must look like.

A schema is a table of the same shape as the configuration. Each value is a type (``text``, ``number``,
``whole``, ``flag``, ``list``), with a question mark behind it where the key may be left out.
"""

from layercfg import paths
from layercfg.errors import ConfigError, Invalid

TYPES = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "whole": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
}


def validate(tree, schema):
    """Raise ``Invalid`` with everything that is wrong, unless nothing is."""
    problems = _missing(tree, schema) + _wrong(tree, schema)
    if problems:
        raise Invalid(problems)


def _missing(tree, schema):
    return [
        path + " is missing"
        for path, kind in paths.leaves(schema)
        if not _kind(path, kind)[1] and paths.get(tree, path) is None
    ]


def _wrong(tree, schema):
    kinds = dict(paths.leaves(schema))
    problems = []
    for path, value in paths.leaves(tree):
        kind = kinds.get(path)
        if kind is None:
            problems.append(path + " is not known")
            continue
        name, _ = _kind(path, kind)
        if not TYPES[name](value):
            problems.append("{} is no {}: {!r}".format(path, name, value))
    return problems


def _kind(path, kind):
    """Return the name of a type and whether its key may be left out."""
    optional = str(kind).endswith("?")
    name = str(kind).rstrip("?")
    if name not in TYPES:
        known = ", ".join(TYPES)
        raise ConfigError("the schema knows no type {!r} at {}; there are {}".format(name, path, known))
    return name, optional
