"""Replaces the words of an answer that would tell its arm, and counts them.

The words are those of all arms of the study, never of the arm that answered, so that what becomes
of a text does not depend on where it came from. Case is ignored. A name made of several parts
(``docs-mcp``, ``docs.search``) is replaced wherever it stands, in addresses too; one that could be
an ordinary word is left alone inside paths and longer names. A path of the corpus is never changed,
for it is a citation; one that leads there from a folder of the machine loses that folder.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from agent_trials.workspace.mcp_names import api_tool_name, cli_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.graders.citations import Corpora
    from agent_trials.study.settings import AdjudicatorSettings, ArmSettings, ProviderSettings

TOOL = "[tool]"
SOURCE = "[source]"
SETUP = "[setup]"
PATH = "[path]"
LOCAL_TOOLS = ("repo_list", "repo_read", "repo_search", "Grep", "Glob")

_HYPHENS = re.compile("[\u2010\u2011\u2013]")
_ABSOLUTE = re.compile(r"(?<![\w.@+/-])(?:file://)?((?:/[\w.@+-]+)+/?)")
_WORKSPACE = re.compile(r".*/workspace-[0-9a-f]{16}(?:/|$)")
_TEMPORARY = re.compile(r"(?<![\w/])(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s`'\"()<>,;]+")
_LONGEST_PATH = 1024
"""Of a longer path only the end is looked at, so that no text takes longer than it is long."""
_TOKEN = re.compile(r"[\w./@+-]+")


@dataclass(frozen=True)
class ArmWords:
    """What is replaced: each word in lower case with what stands for it, longest first.

    ``servers`` are the names of servers, whose tools are replaced under any name; ``folders`` those
    of the machine from which the corpora were served.
    """

    replacements: tuple[tuple[str, str], ...]
    servers: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        arms: Iterable[ArmSettings],
        settings: AdjudicatorSettings,
        folders: Iterable[str] = (),
        provider: ProviderSettings | None = None,
    ) -> ArmWords:
        """Return the words of a study.

        Args:
            arms: its setups.
            settings: which words it adds, and which it keeps.
            folders: where the corpora lie on this machine.
            provider: its commands, whose arms have programs and tools of their own.
        """
        words: dict[str, str] = dict.fromkeys(LOCAL_TOOLS, TOOL)
        servers = []
        for arm in arms:
            words[arm.id] = SETUP
            if arm.model is not None:
                words[arm.model] = SETUP
            for server, each in arm.mcp_servers.items():
                words[server] = SOURCE
                servers.append(server)
                for tool in each.allow:
                    names = (tool, api_tool_name(tool), cli_tool_name(server, tool))
                    words |= dict.fromkeys(names, TOOL)
        words |= dict.fromkeys(_of_some_commands(provider), TOOL)
        words |= dict.fromkeys(settings.arm_words, SETUP)
        left = {_plain(word) for word in settings.keep_words}
        kept = {_plain(word): by for word, by in words.items() if _plain(word) not in left}
        longest = sorted(kept.items(), key=lambda each: (-len(each[0]), each[0]))
        others = tuple(server for server in servers if _plain(server) not in left)
        return cls(tuple(longest), others, tuple(folders))

    def pattern(self) -> re.Pattern[str]:
        """Return what finds the words in a text."""
        whole = [word for word, _ in self.replacements if word.isalnum()]
        parts = [_spelled(word) for word, _ in self.replacements if not word.isalnum()]
        parts += [rf"mcp__{re.escape(server)}(?:__\w+)?" for server in self.servers]
        found = []
        if parts:
            found.append(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)")
        if whole:
            found.append(rf"(?<![\w/-])(?<!\w\.)(?:{'|'.join(whole)})(?![\w/-]|\.\w)")
        return re.compile("|".join(found), re.IGNORECASE)


def _of_some_commands(provider: ProviderSettings | None) -> set[str]:
    """Return the programs and tools that commands of some arms have, and not those of all."""
    arms = provider.arms.values() if provider else ()
    each = [{*arm.evidence, *arm.allowed_tools} for arm in arms]
    named = set().union(*each) if each else set()
    return {word for word in named if not all(word in one for one in each) or len(each) == 1}


def neutral(text: str, words: ArmWords, corpus: Corpora) -> tuple[str, int]:
    """Return the text with neutral words, and how many were put in."""
    counted = 0

    def shortened(match: re.Match[str]) -> str:
        nonlocal counted
        path = match[1].rstrip(".")
        inside = _inside(path, words.folders, corpus)
        if inside is None:
            return match[0]
        counted += 1
        return inside + match[1][len(path) :]

    def replaced(match: re.Match[str]) -> str:
        nonlocal counted
        place = bisect_right(cited, match.start(), key=itemgetter(0))
        if place and match.end() <= cited[place - 1][1]:
            return match[0]
        counted += 1
        return by_word.get(_plain(match[0]), TOOL)

    by_word = dict(words.replacements)
    text = _ABSOLUTE.sub(shortened, text)
    text, temporary = _TEMPORARY.subn(PATH, text)
    cited = _citations(text, corpus)
    if by_word or words.servers:
        text = words.pattern().sub(replaced, text)
    return text, counted + temporary


def _inside(path: str, folders: Iterable[str], corpus: Corpora) -> str | None:
    """Return what an absolute path is from the corpus's top folder, None if it leads elsewhere."""
    if found := _WORKSPACE.match(path):
        return path[found.end() :]
    for folder in folders:
        if path.rstrip("/") == folder:
            return PATH
        if path.startswith(f"{folder}/"):
            return path[len(folder) + 1 :]
    parts = path[-_LONGEST_PATH:].strip("/").split("/")
    first = 0 if len(path) > _LONGEST_PATH else 1
    endings = ("/".join(parts[start:]) for start in range(first, len(parts)))
    return next((ending for ending in endings if corpus.has(ending)), None)


def _citations(text: str, corpus: Corpora) -> list[tuple[int, int]]:
    """Return where paths of files and folders of the corpus stand in a text, in order."""
    return [match.span() for match in _TOKEN.finditer(text) if _is_of(match[0], corpus)]


def _is_of(token: str, corpus: Corpora) -> bool:
    path = token.removeprefix("./").rstrip("./")
    return corpus.has(path) or ("/" in path and corpus.has_folder(path))


def _spelled(word: str) -> str:
    return re.escape(word).replace(r"\-", "[-\u2010\u2011\u2013]")


def _plain(word: str) -> str:
    """Return a word in the one spelling by which it is known."""
    return _HYPHENS.sub("-", word).casefold()
