"""Lays layers over each other: tables are merged, everything else is replaced.

A null removes what the layers below have set.
"""

import copy


def merge(layers):
    """Return the values of layers, later ones over earlier ones."""
    merged = {}
    for layer in layers:
        merged = overlay(merged, layer.values)
    return merged


def overlay(below, above):
    """Return a table laid over another; neither of them is changed."""
    result = copy.deepcopy(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = overlay(result[key], value)
        else:
            result[key] = _without_nulls(value)
    return result


def _without_nulls(value):
    """Return a copy of a value; the nulls of tables, which remove nothing here, are left out."""
    if not isinstance(value, dict):
        return copy.deepcopy(value)
    return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
