"""The command line.

Exit codes: 0 when all is well, 1 when a plan has gaps or breaks rules, 2 for what cannot be read.
"""

import argparse
import sys

from rota import files, rules, week
from rota.errors import RotaError
from rota.plan import plan
from rota.shifts import parse_day


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        return options.run(options)
    except RotaError as error:
        print("rota: " + str(error), file=sys.stderr)
        return 2


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="rota", description="Plans who works which shift.")
    commands = top.add_subparsers(dest="command", required=True)

    planning = commands.add_parser("plan", help="fill the places of the shifts")
    planning.add_argument("task", help="the file with people and shifts")
    planning.add_argument("--into", help="write the assignments to this file")
    planning.set_defaults(run=_plan)

    check = commands.add_parser("check", help="say which rules a roster breaks")
    check.add_argument("task")
    check.add_argument("roster", help="a file of assignments")
    check.set_defaults(run=_check)

    show = commands.add_parser("week", help="show a week of a roster")
    show.add_argument("task")
    show.add_argument("roster")
    show.add_argument("day", help="any day of the week")
    show.set_defaults(run=_week)

    who = commands.add_parser("person", help="show what one person works")
    who.add_argument("task")
    who.add_argument("roster")
    who.add_argument("name")
    who.set_defaults(run=_person)
    return top


def _plan(options):
    task = files.read_task(options.task)
    roster = plan(task.people, task.shifts, task.fixed)
    for shift_id, names in files.roster_to_data(roster)["assignments"].items():
        print(shift_id + ": " + (", ".join(names) or "nobody"))
    if options.into:
        files.write_roster(roster, options.into)
    return _report_gaps(roster)


def _report_gaps(roster):
    unfilled = roster.unfilled()
    for shift in unfilled:
        print("unfilled: " + shift.id + " lacks " + str(roster.free_places(shift.id)))
    return 1 if unfilled else 0


def _check(options):
    task = files.read_task(options.task)
    roster = files.read_roster(task, options.roster)
    found = rules.violations(roster)
    for violation in found:
        print(violation.rule + ": " + violation.text)
    return max(_report_gaps(roster), 1 if found else 0)


def _week(options):
    task = files.read_task(options.task)
    roster = files.read_roster(task, options.roster)
    print(week.week_table(roster, parse_day(options.day)))
    return 0


def _person(options):
    task = files.read_task(options.task)
    roster = files.read_roster(task, options.roster)
    if options.name not in roster.people:
        raise RotaError("nobody is called " + repr(options.name))
    print("\n".join(week.person_lines(roster, options.name)))
    return 0
