"""Dotted paths into nested tables: ``server.ports.0``."""

from layercfg.errors import ConfigError


def split(path):
    """Return the parts of a path; none of them is empty."""
    parts = path.split(".")
    if not all(parts):
        raise ConfigError("a path is like server.port, not " + repr(path))
    return parts


def join(parts):
    """Return parts as a path."""
    return ".".join(str(part) for part in parts)


def get(tree, path, default=None):
    """Return what stands at a path, or the default."""
    found = tree
    for part in split(path):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return default
    return found


def put(tree, path, value):
    """Set what stands at a path, making tables on the way."""
    *above, last = split(path)
    at = tree
    for part in above:
        at = at.setdefault(part, {})
        if not isinstance(at, dict):
            raise ConfigError("{} is no table, so {} cannot be set".format(part, path))
    at[last] = value


def leaves(tree, above=()):
    """Yield the path of every value that is no table, with the value, in order of the keys."""
    for key in sorted(tree):
        value = tree[key]
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield join((*above, key)), value
