"""Replaces the words of an answer that would tell its arm, and counts them.

The words are those of all arms of the study, never of the arm that answered, so that what becomes
of a text does not depend on where it came from. A path of an attempt's own folder loses that
folder's name and keeps the rest, which is a citation. A server's name is often an ordinary word, so
it is left alone inside paths and longer names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.workspace.mcp_names import api_tool_name, cli_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.study.settings import AdjudicatorSettings, ArmSettings

TOOL = "[tool]"
SOURCE = "[source]"
SETUP = "[setup]"
PATH = "[path]"
LOCAL_TOOLS = ("repo_list", "repo_read", "repo_search", "Grep", "Glob")

_WORKSPACE = re.compile(r"(?:/[\w.+-]+)*/workspace-[0-9a-f]{16}(?:/|(?![\w-]))")
_TEMPORARY = re.compile(r"(?<![\w/])(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s`'\"()<>,;]+")


@dataclass(frozen=True)
class ArmWords:
    """What is replaced, each word with what stands for it, longest first."""

    replacements: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, arms: Iterable[ArmSettings], settings: AdjudicatorSettings) -> ArmWords:
        """Return the words of a study."""
        words: dict[str, str] = dict.fromkeys(LOCAL_TOOLS, TOOL)
        for arm in arms:
            words[arm.id] = SETUP
            for server, each in arm.mcp_servers.items():
                words[server] = SOURCE
                for tool in each.allow:
                    names = (tool, api_tool_name(tool), cli_tool_name(server, tool))
                    words |= dict.fromkeys(names, TOOL)
        words |= dict.fromkeys(settings.arm_words, SETUP)
        kept = {word: by for word, by in words.items() if word not in settings.keep_words}
        return cls(tuple(sorted(kept.items(), key=lambda each: (-len(each[0]), each[0]))))


def neutral(text: str, words: ArmWords) -> tuple[str, int]:
    """Return the text with neutral words, and how many were put in."""
    text, folders = _WORKSPACE.subn("", text)
    text, temporary = _TEMPORARY.subn(PATH, text)
    if not words.replacements:
        return text, folders + temporary
    by_word = dict(words.replacements)
    listed = "|".join(re.escape(word) for word, _ in words.replacements)
    pattern = re.compile(rf"(?<![\w/-])(?<!\w\.)(?:{listed})(?![\w/-]|\.\w)")
    text, names = pattern.subn(lambda match: by_word[match[0]], text)
    return text, folders + temporary + names
