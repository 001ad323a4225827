"""How the supervisor follows a tree of processes that it can only list."""

from __future__ import annotations

import os

import pytest

from agent_trials.supervisor import Process, Tree, printable, table_from_proc, table_from_ps

ROOT = 10
AGENT = Process(11, ROOT, 11, "t1", "agent")
CHILD = Process(12, 11, 11, "t2", "child")
LEADER = Process(13, 11, 13, "t3", "shell")
MEMBER = Process(14, 13, 13, "t4", "sleep")
STRANGER = Process(90, 1, 90, "t0", "init")


def orphan(process: Process) -> Process:
    return Process(process.pid, 1, process.group, process.born, process.name)


def follow(*looks: list[Process], memory: bool = True) -> list[int]:
    """Return who is found at the last of several looks."""
    tables = iter(looks)
    tree = Tree(ROOT, lambda: next(tables), memory=memory)
    for _ in looks:
        found = tree.living()
    return sorted(process.pid for process in found)


def test_finds_descendants_in_any_order_and_nobody_else() -> None:
    assert follow([MEMBER, STRANGER, LEADER, CHILD, AGENT]) == [11, 12, 13, 14]


def test_remembers_who_was_seen_below_the_root() -> None:
    """Its parent has gone, and nobody saw the leader of its group: no other trace is left."""
    stray = Process(14, 11, 99, "t4", "sleep")

    assert follow([AGENT, stray], [orphan(stray)]) == [14]


def test_follows_what_joined_the_group_of_someone_seen() -> None:
    """It was started and orphaned between two looks."""
    newcomer = Process(15, 1, 13, "t5", "sleep")

    assert follow([AGENT, LEADER], [AGENT, orphan(LEADER), newcomer]) == [11, 13, 15]


def test_takes_a_reused_number_for_a_stranger() -> None:
    """Killing it would hit a program of the user's."""
    reused = Process(12, 1, 90, "t9", "editor")

    assert follow([AGENT, CHILD], [AGENT, reused]) == [11]


def test_forgets_a_group_that_nobody_is_in() -> None:
    """Its number may be given to a stranger."""
    reused = Process(13, 1, 13, "t9", "editor")

    assert follow([AGENT, LEADER], [AGENT], [AGENT], [AGENT, reused]) == [11]


def test_finds_in_the_next_listing_what_one_listing_missed() -> None:
    """The agent forked and ended while the processes whose numbers had been read were looked at."""
    tables = iter([[STRANGER], [STRANGER, orphan(CHILD)]])
    tree = Tree(ROOT, lambda: next(tables), memory=True)
    tree.follow(AGENT.group)

    assert not tree.is_empty()


def test_is_empty_when_two_listings_in_a_row_show_nobody() -> None:
    tables = iter([[AGENT], [STRANGER], [STRANGER]])
    tree = Tree(ROOT, lambda: next(tables), memory=True)
    tree.follow(AGENT.group)

    assert not tree.is_empty()
    assert tree.is_empty()


def test_needs_no_memory_where_orphans_come_to_the_root() -> None:
    assert follow([AGENT, CHILD], [orphan(CHILD)], memory=False) == []


def test_lists_this_process_with_its_parent_and_group() -> None:
    """Both tables are read by the same rules."""
    tables = [table_from_ps]
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - a question about the system
        tables.append(table_from_proc)
    for table in tables:
        (own,) = (process for process in table() if process.pid == os.getpid())

        assert (own.parent, own.group) == (os.getppid(), os.getpgrp())
        assert own.name
        assert own.born


@pytest.mark.parametrize(
    ("name", "plain"), [("node", "node"), ("a\nb\0c\x1b[2J", "a?b?c?[2J"), ("", "?")]
)
def test_a_name_stays_on_its_line_and_harmless_in_a_terminal(name: str, plain: str) -> None:
    """A process chooses its own name."""
    assert printable(name) == plain
