"""The command line.

Exit codes: 0 when all is well, 1 when `diff` finds a difference or `check` a problem, 2 for what cannot
be read or filled in.
"""

import argparse
import os
import sys

from layercfg import diff, explain, interpolate, merge, output, paths, schema, sources
from layercfg.errors import ConfigError, Invalid, NoSuchKey


def main(argv=None, environment=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        return options.run(options, os.environ if environment is None else environment)
    except Invalid as error:
        for problem in error.problems:
            print(problem)
        return 1
    except ConfigError as error:
        print("layercfg: " + str(error), file=sys.stderr)
        return 2


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="layercfg", description="Merges layers of configuration.")
    commands = top.add_subparsers(dest="command", required=True)

    show = commands.add_parser("show", help="show the merged configuration")
    _layered(show)
    show.add_argument("--format", choices=output.FORMATS, default="lines")
    show.add_argument("--raw", action="store_true", help="leave references as they are")
    show.set_defaults(run=_show)

    get = commands.add_parser("get", help="show one value")
    get.add_argument("path")
    _layered(get)
    get.set_defaults(run=_get)

    why = commands.add_parser("explain", help="say which layers set a value, or all values")
    _layered(why)
    why.add_argument("--path")
    why.set_defaults(run=_explain)

    check = commands.add_parser("check", help="compare the configuration with a schema")
    check.add_argument("schema")
    _layered(check)
    check.set_defaults(run=_check)

    changes = commands.add_parser("diff", help="compare two files")
    changes.add_argument("old")
    changes.add_argument("new")
    changes.set_defaults(run=_diff)
    return top


def _layered(command):
    command.add_argument("files", nargs="+", help="layers, the lowest first")
    command.add_argument("--env-prefix", help="variables with this prefix are the topmost layer")


def _layers(options, environment):
    layers = [sources.read_file(name) for name in options.files]
    if options.env_prefix:
        layers.append(sources.from_environment(environment, options.env_prefix))
    return layers


def _show(options, environment):
    tree = merge.merge(_layers(options, environment))
    if not options.raw:
        tree = interpolate.interpolate(tree)
    sys.stdout.write(output.render(tree, options.format))
    return 0


def _get(options, environment):
    layers = _layers(options, environment)
    explain.history(layers, options.path)
    tree = interpolate.interpolate(merge.merge(layers))
    value = paths.get(tree, options.path)
    if value is None:
        raise NoSuchKey(options.path)
    print(value if isinstance(value, str) else output.scalar(value))
    return 0


def _explain(options, environment):
    layers = _layers(options, environment)
    if options.path is None:
        for path, name in explain.origins(layers).items():
            print("{}: {}".format(path, name))
        return 0
    for origin in explain.history(layers, options.path):
        said = "removed" if origin.removed else output.scalar(origin.value)
        print("{}: {}".format(origin.layer, said))
    return 0


def _check(options, environment):
    tree = interpolate.interpolate(merge.merge(_layers(options, environment)))
    schema.validate(tree, sources.read_file(options.schema).values)
    return 0


def _diff(options, environment):
    del environment
    old, new = (sources.read_file(name).values for name in (options.old, options.new))
    found = diff.diff(old, new)
    for change in found:
        if change.kind == "added":
            print("+ {} = {}".format(change.path, output.scalar(change.new)))
        elif change.kind == "removed":
            print("- {} = {}".format(change.path, output.scalar(change.old)))
        else:
            old_text, new_text = output.scalar(change.old), output.scalar(change.new)
            print("~ {} = {} -> {}".format(change.path, old_text, new_text))
    return 1 if found else 0
