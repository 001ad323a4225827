"""Where values come from."""

from dataclasses import dataclass

from layercfg import paths
from layercfg.errors import NoSuchKey
from layercfg.merge import merge

_MISSING = object()


@dataclass(frozen=True)
class Origin:
    """One layer's word on a path; ``removed`` is a null."""

    layer: str
    value: object = None
    removed: bool = False


def history(layers, path):
    """Return what each layer says of a path, the lowest first."""
    found = []
    for layer in layers:
        value = paths.get(layer.values, path, _MISSING)
        if value is not _MISSING:
            found.append(Origin(layer.name, value, removed=value is None))
    if not found:
        raise NoSuchKey(path, _near(layers, path))
    return found


def winner(layers, path):
    """Return the name of the layer that the value at a path comes from."""
    found = history(layers, path)
    return found[-1].layer


def origins(layers):
    """Return the name of the layer that each value comes from, by path."""
    merged = merge(layers)
    return {path: winner(layers, path) for path, _ in paths.leaves(merged)}


def _near(layers, path):
    """Return the paths that lie in the same table as one that is not there."""
    parent = path.rpartition(".")[0]
    every = {leaf for layer in layers for leaf, _ in paths.leaves(layer.values)}
    return sorted(leaf for leaf in every if leaf.rpartition(".")[0] == parent)[:5]
