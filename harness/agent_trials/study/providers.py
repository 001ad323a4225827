"""The file of ``--providers``: which command answers for which model in which arm.

The format is that of the study provider CLI contract v1, names included. Rules:
    unknown keys, and values outside of the bounds below, are refused
    a model has one command per scenario (arm)
    an allowlist names variables in capitals, each once, and none that changes which code runs
    a command and its arguments hold no NUL, and a command no line break
    who answers does not grade: an adjudicator is another command than every provider
    a content hash that stands in the file is that of the file as it is
The digest ``sha256-normalized-v1``: fill in the defaults, leave ``contentHash`` out, write the rest
as RFC 8785 does (keys by UTF-16 units, numbers as JavaScript writes them), SHA-256 of that in hex.
"""

# The annotations are read by pydantic at run time; the field names are the contract's own.
# ruff: noqa: N815

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import rfc8785
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from agent_trials.errors import Problem, ProvidersError
from agent_trials.study import document
from agent_trials.study.findings import Finding, KeyPath
from agent_trials.study.shape import fit

ALGORITHM = "sha256-normalized-v1"
TYPE = "study-provider-cli-config"
REMEDY_HASH = "agent-trials providers FILE --write"

_FORBID = ConfigDict(extra="forbid")
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,127}$")]
Reference = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._:-]{1,256}$")]
Rate = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
GIVEN = frozenset({"PATH", "HOME", "TMPDIR"})
"""Variables that every command has anyway."""
UNSAFE = frozenset(
    {
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS4",
        "ZDOTDIR",
        "CDPATH",
    }
    | {"PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "LUA_INIT", "PHPRC", "GCONV_PATH"}
    | {"NODE_OPTIONS", "NODE_PATH", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "ELECTRON_RUN_AS_NODE"}
    | {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"}
    | {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_DIR"}
    | {"EDITOR", "VISUAL", "PAGER", "BROWSER", "SHELL", "SSH_ASKPASS"}
    | {"STUDY_MODEL", "STUDY_BUDGET_USD", "STUDY_INPUT_USD_PER_MILLION"}
    | {"STUDY_OUTPUT_USD_PER_MILLION"}
)
"""Variables that change which code runs, or tell of the study."""
UNSAFE_PREFIXES = ("LD_", "DYLD_", "PYTHON", "PYTEST_", "GIT_CONFIG", "AGENT_TRIALS_")


def _one_program(command: str) -> str:
    if any(character in command for character in "\0\r\n"):
        what = "the command holds a NUL or a line break"
        raise ValueError(f"{what}; name one executable; arguments go in args")
    return command


def _argument(argument: str) -> str:
    if "\0" in argument:
        raise ValueError("the argument holds a NUL, which no program can be given; remove it")
    return argument


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        what = f"{name!r} is no safe variable name"
        raise ValueError(f"{what}; write capitals, digits and underscores")
    if name in GIVEN:
        raise ValueError(f"{name} is given to every command; remove it")
    if name in UNSAFE or name.startswith(UNSAFE_PREFIXES):
        what = f"{name} is unsafe: it changes what runs, or tells of the study"
        raise ValueError(f"{what}; remove it")
    return name


def _no_truth(written: object) -> object:
    if isinstance(written, bool):
        raise ValueError("a truth value is no number; write 1")  # noqa: TRY004 - pydantic's own
    return written


_PROGRAM_LENGTH = StringConstraints(min_length=1, max_length=512)
Program = Annotated[str, _PROGRAM_LENGTH, AfterValidator(_one_program)]
Argument = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_argument)]
Variable = Annotated[str, AfterValidator(_variable)]


@dataclass(frozen=True, kw_only=True)
class Pricing:
    """Rates in USD per million tokens, as configured: no assertion about a vendor's bill."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    currency: Literal["USD"]
    inputPerMillionUsd: Rate
    cachedInputPerMillionUsd: Rate
    outputPerMillionUsd: Rate

    def rates(self) -> tuple[Decimal, Decimal, Decimal]:
        """Return input, cached input and output, USD per million tokens, exactly as written."""
        written = (self.inputPerMillionUsd, self.cachedInputPerMillionUsd, self.outputPerMillionUsd)
        return Decimal(repr(written[0])), Decimal(repr(written[1])), Decimal(repr(written[2]))


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """A command with its bounds: what providers and adjudicators have in common."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    modelId: Reference
    command: Program
    providerNetwork: Annotated[bool, Field(strict=True)]
    maxInputBytes: Annotated[int, Field(strict=True, ge=1, le=8_000_000)]
    maxOutputBytes: Annotated[int, Field(strict=True, ge=1, le=256_000)]
    args: Annotated[tuple[Argument, ...], Field(max_length=64)] = ()
    envAllowlist: Annotated[tuple[Variable, ...], Field(max_length=64)] = ()
    pricing: Pricing | None = None


@dataclass(frozen=True, kw_only=True)
class Provider(Bounded):
    """The command for one model in one to three scenarios; a scenario is an arm of the study."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    scenarioIds: Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=3)]


@dataclass(frozen=True, kw_only=True)
class AdjudicatorCommand(Bounded):
    """A command that grades; never the one under evaluation."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    id: Identifier


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The whole file."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    type: Literal["study-provider-cli-config"]
    schemaVersion: Annotated[Literal[1], BeforeValidator(_no_truth)]
    providers: Annotated[tuple[Provider, ...], Field(min_length=1, max_length=16)]
    configVersion: Annotated[int, Field(strict=True, ge=1)] | Reference = 1
    adjudicator: AdjudicatorCommand | None = None
    contentHash: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    contentHashAlgo: Literal["sha256-normalized-v1"] = "sha256-normalized-v1"

    def document(self) -> dict[str, Any]:
        """Return the file's object with defaults filled in, without a hash; no key is null."""
        filled: dict[str, Any] = _without_none(asdict(self))
        filled.pop("contentHash", None)
        return filled

    @property
    def content_hash(self) -> str:
        """Return the hash that the file should state: 64 hex digits."""
        return normalized_digest(self.document())

    @property
    def digest(self) -> str:
        """Return the hash under its algorithm's name."""
        return f"{ALGORITHM}:{self.content_hash}"

    def of(self, model: str, scenario: str) -> Provider | None:
        """Return the command for a model in a scenario, None if there is none."""
        for each in self.providers:
            if each.modelId == model and scenario in each.scenarioIds:
                return each
        return None


def normalized_digest(value: dict[str, Any]) -> str:
    """Return the hex digest of a document's normalized text, ``contentHash`` left out.

    Raises:
        ProvidersError: a number of it has no exact text (it is above 2 to the power of 53).
    """
    rest = {key: item for key, item in value.items() if key != "contentHash"}
    try:
        text = rfc8785.dumps(rest)
    except rfc8785.CanonicalizationError as error:
        what = f"it has no normalized text ({error})"
        raise ProvidersError([Problem("providers", what, "write smaller numbers")]) from error
    return hashlib.sha256(text).hexdigest()


def load(path: Path, *, must_be_fresh: bool = True) -> Configuration:
    """Return the configuration in a file.

    Args:
        path: a JSON file.
        must_be_fresh: refuse a content hash that is missing or stale.

    Raises:
        ProvidersError: everything that is wrong with it.
    """
    raw, problems = document.read(path)
    if raw is None:
        raise ProvidersError(problems)
    fitted = fit(raw, Configuration)
    found = list(fitted.findings)
    if fitted.value is not None:
        found += _findings(fitted.value)
        if must_be_fresh and not found:
            found += _stale(fitted.value)
    if found or fitted.value is None:
        raise ProvidersError([each.within(str(path), raw) for each in found])
    return fitted.value


def write(path: Path, configuration: Configuration) -> None:
    """Write the file with defaults and hash, replacing it whole."""
    text = {**configuration.document(), "contentHash": configuration.content_hash}
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(text, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def locate(command: str, *, base: Path, search: str | None) -> Path | None:
    """Return the executable that a command names, None if there is none.

    Args:
        command: a name on the search path, or a path; a relative one is taken from ``base``.
        base: the folder of the providers file.
        search: the operator's PATH.
    """
    if os.sep not in command:
        found = shutil.which(command, path=search)
        return Path(found).absolute() if found else None
    path = base / command
    return path.absolute() if path.is_file() and os.access(path, os.X_OK) else None


def _without_none(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value


def _stale(configuration: Configuration) -> Iterator[Finding]:
    stated = configuration.contentHash
    if stated is None:
        yield Finding(("contentHash",), "is missing", f"add it: {REMEDY_HASH}")
    elif stated != configuration.content_hash:
        what = f"is stale: the file as it is has {configuration.content_hash}"
        yield Finding(("contentHash",), what, f"take the change back, or renew it: {REMEDY_HASH}")


def _findings(configuration: Configuration) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for index, provider in enumerate(configuration.providers):
        path: KeyPath = ("providers", index)
        for place, scenario in enumerate(provider.scenarioIds):
            mapped = (provider.modelId, scenario)
            if mapped in seen:
                what = f"{provider.modelId} in {scenario} has a command already"
                yield Finding((*path, "scenarioIds", place), what, "keep one of the two")
            seen.add(mapped)
        yield from _repeated(path, provider)
    grader = configuration.adjudicator
    if grader is not None:
        yield from _repeated(("adjudicator",), grader)
        for each in configuration.providers:
            if (each.command, each.args) == (grader.command, grader.args):
                what = f"it is the command that answers for {each.modelId}, and no provider grades"
                yield Finding(("adjudicator", "command"), what, "name another command")
                break


def _repeated(path: KeyPath, entry: Bounded) -> Iterator[Finding]:
    for index, name in enumerate(entry.envAllowlist):
        if name in entry.envAllowlist[:index]:
            what = f"{name} stands twice"
            yield Finding((*path, "envAllowlist", index), what, "name each variable once")
