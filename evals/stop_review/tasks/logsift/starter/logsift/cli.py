"""The command line.

Exit codes: 0 when it was done, 1 when a file cannot be read, 2 for a wrong command line.
"""

import argparse
import sys
from datetime import timedelta

from logsift import filters, output, parse, sessions, stats


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        predicates = _predicates(options)
    except filters.FilterError as error:
        print("logsift: " + str(error), file=sys.stderr)
        return 2
    try:
        reading = _read(options.log)
    except OSError as error:
        print("logsift: " + options.log + ": " + (error.strerror or str(error)), file=sys.stderr)
        return 1
    records = filters.select(reading.records, predicates)
    sys.stdout.write(options.run(options, records))
    return 0


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="logsift", description="Says what an access log holds.")
    commands = top.add_subparsers(dest="command", required=True)

    summary = _command(commands, "summary", "the whole log in a few numbers")
    summary.set_defaults(run=_summary)

    most = _command(commands, "top", "the most frequent values of a field", with_field=True)
    most.add_argument("--limit", type=int, default=10)
    most.set_defaults(run=_top)

    hours = _command(commands, "hours", "requests and errors by hour")
    hours.set_defaults(run=_hours)

    traffic = _command(commands, "traffic", "bytes by client")
    traffic.set_defaults(run=_traffic)

    visits = _command(commands, "sessions", "visits by client")
    visits.add_argument("--gap", type=int, default=30, help="minutes of pause that end a visit")
    visits.set_defaults(run=_sessions)
    return top


def _command(commands, name, text, with_field=False):
    command = commands.add_parser(name, help=text)
    if with_field:
        command.add_argument("field", choices=sorted(stats.FIELDS))
    command.add_argument("log", help="the log file, - for standard input")
    command.add_argument("--status", help="404, 4xx or several with commas")
    command.add_argument("--method", help="GET, or several with commas")
    command.add_argument("--path", help="a path without its query; * stands for anything")
    command.add_argument("--client", help="one client")
    command.add_argument("--since", help="a date or a date and time")
    command.add_argument("--until", help="a date or a date and time, itself not included")
    command.add_argument("--format", choices=output.FORMATS, default="text")
    return command


def _predicates(options):
    made = {
        "status": filters.by_status,
        "method": filters.by_method,
        "path": filters.by_path,
        "client": filters.by_client,
        "since": filters.since,
        "until": filters.until,
    }
    given = ((make, getattr(options, name)) for name, make in made.items())
    return [make(text) for make, text in given if text is not None]


def _read(name):
    if name == "-":
        return parse.read(sys.stdin)
    with open(name, encoding="utf-8", errors="replace") as file:
        return parse.read(file)


def _summary(options, records):
    found = stats.summarise(records)
    rows = [
        ("requests", found.requests),
        ("errors", found.errors),
        ("error share", None if found.error_share is None else str(found.error_share) + "%"),
        ("clients", found.clients),
        ("sent", output.human_size(found.bytes)),
        ("first", found.first),
        ("last", found.last),
        ("median ms", found.median),
        ("slowest ms", found.slowest),
    ]
    return output.render(["figure", "value"], rows, options.format)


def _top(options, records):
    return output.render(
        [options.field, "requests"],
        stats.top(records, options.field, options.limit),
        options.format,
    )


def _hours(options, records):
    return output.render(["hour", "requests", "errors"], stats.by_hour(records), options.format)


def _traffic(options, records):
    rows = stats.traffic(records)
    if options.format == "text":
        rows = [(client, output.human_size(size)) for client, size in rows]
    return output.render(["client", "bytes"], rows, options.format)


def _sessions(options, records):
    found = sessions.sessions(records, timedelta(minutes=options.gap))
    rows = [
        (
            session.client,
            session.start.isoformat(),
            output.human_duration(session.length),
            len(session.records),
            session.landing,
        )
        for session in found
    ]
    return output.render(["client", "start", "length", "requests", "landing"], rows, options.format)
