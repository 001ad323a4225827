"""The values that travel between the parts: plain, frozen, picklable.

An attempt goes in as an ``AttemptRequest`` and comes out as an ``AttemptResult``. Neither knows the
ledger, pytest, or anything of the answer key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_trials import money

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Status(StrEnum):
    """How an attempt ended; the first that applies in the order of ``errors`` in design terms.

    Refused and blocked attempts have no observation and so no status here.
    """

    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed-out"
    FAILED = "failed"
    INVALID_SETUP = "invalid-setup"
    INVALID_COST = "invalid-cost"
    BUDGET_EXCEEDED = "budget-exceeded"
    INCOMPLETE = "incomplete"
    COMPLETED = "completed"


@dataclass(frozen=True, order=True, slots=True)
class Cell:
    """One place of the matrix inside a series: what the ledger reserves and settles once.

    ``repetition`` and ``turn`` count from 1.
    """

    phase: str
    task: str
    arm: str
    repetition: int
    turn: int = 1

    @property
    def item(self) -> str:
        """Return the name of the pytest item, ``pilot/bridge-discovery/repository-only/r1``."""
        return f"{self.phase}/{self.task}/{self.arm}/r{self.repetition}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in a ledger line."""
        return {
            "phase": self.phase,
            "task": self.task,
            "arm": self.arm,
            "repetition": self.repetition,
            "turn": self.turn,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Cell:
        """Return the cell that a ledger line names."""
        return cls(line["phase"], line["task"], line["arm"], line["repetition"], line["turn"])


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """One attempt of the schedule.

    ``position`` and ``pair`` count from 0 over the phase; a pair's attempts are neighbours.
    """

    cell: Cell
    position: int
    pair: int


class Secret:
    """A credential that no representation shows."""

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__


@dataclass(frozen=True)
class SealedFile:
    """One file of a sealed corpus: path with forward slashes, bytes, and their digest."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class SealedCorpus:
    """A read-only master of the filtered blobs of one pin, from which every export is made.

    ``digest`` covers the list of paths and the bytes of every file.
    """

    repository: str
    pin: str
    folder: Path
    digest: str
    files: tuple[SealedFile, ...]


@dataclass(frozen=True)
class SealedTree:
    """A starter of a study: the read-only master from which a task's writable trees are made.

    ``digest`` covers paths, bytes and which files are ``executable``. ``setup`` are commands with
    everything filled in. ``equal_digest`` is that of the files named in ``equal`` as the preflight
    laid them out, None before that.
    """

    name: str
    folder: Path
    digest: str
    files: tuple[SealedFile, ...]
    executable: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    setup_seconds: int = 120
    equal: tuple[str, ...] = ()
    equal_digest: str | None = None
    stop_snapshots: bool = False


@dataclass(frozen=True)
class SealedCheckout:
    """One repository's base commit as the one commit of a repository, and nothing else of it.

    ``name`` is the task's. ``folder`` holds the sealed ``.git``; ``tree`` is the id of the commit's
    tree, which is that of ``pin``. A patch may have ``patch_bytes``.
    """

    name: str
    folder: Path
    pin: str
    tree: str
    patch_bytes: int

    @property
    def digest(self) -> str:
        """Return the tree's id with its algorithm: it covers paths, modes and bytes."""
        return f"sha1:{self.tree}"


Sealed: TypeAlias = SealedCorpus | SealedTree | SealedCheckout
"""What a workspace is made from; its type says of which kind it is."""


@dataclass(frozen=True)
class Registration:
    """The MCP server that an arm's set-up registers with its agent, as the preflight found it.

    ``file`` begins with ``{workspace}`` or ``{home}``. ``allow`` and ``tools`` (all that it listed)
    are sorted; with neither the server was not asked yet. ``digest`` covers command and variables.
    """

    server: str
    file: str
    allow: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    digest: str | None = None


@dataclass(frozen=True)
class Rules:
    """A rules file as a treatment: a text of the study, or a file that the set-up makes.

    ``text`` is the study's own, None where ``file`` (below ``{workspace}`` or ``{home}``) is what
    the set-up made. ``digest`` is that of the text as the preflight found it.
    """

    file: str
    deliver: str
    text: str | None = field(default=None, repr=False)
    digest: str | None = None


@dataclass(frozen=True)
class ArmSetup:
    """What is done in the workspace of an arm before its agent comes.

    ``commands`` have ``{home}`` and ``{workspace}`` still in them, everything else is filled in.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    seconds: int = 600
    registration: Registration | None = None
    rules: Rules | None = None


@dataclass(frozen=True)
class Surroundings:
    """What lies around a writable workspace, apart from it and gone with it.

    ``home`` is a HOME, ``config`` an empty configuration folder, ``programs`` the first folder of
    PATH. ``snapshots`` is where the harness's Stop hook writes.
    """

    home: Path
    config: Path
    temporary: Path
    programs: Path
    snapshots: Path


@dataclass(frozen=True)
class Kept:
    """What stays of an attempt between two of its turns, on the machine that made it.

    ``session`` is the agent's name of the session, ``spent`` what the session had cost when the
    turn ended (the agent's own value, None where it is not known).
    """

    workspace: Path
    surroundings: Surroundings
    session: str | None = None
    spent: Any = None


@dataclass(frozen=True)
class Launch:
    """How a turn of an arm is started, where that is not the CLI alone.

    ``command`` is a launcher with its words, its program by absolute path; empty for the CLI
    itself. ``names_session`` says that the launcher, not the harness, gives the session its id.
    """

    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    names_session: bool = False


@dataclass(frozen=True)
class SideFile:
    """The file in which an arm's product states what it spent, as the study describes it.

    ``path`` begins with ``{tree}``, ``{home}`` or ``{config}``. Money in USD. With ``max_calls`` 0
    the arm has no such product, and nothing may appear there.
    """

    path: str
    name_field: str
    event: str
    cost_field: str
    soft_cap_usd: Decimal
    max_calls: int

    @property
    def reserved_usd(self) -> Decimal:
        """Return what a turn reserves for it."""
        return money.times(self.soft_cap_usd, self.max_calls)


@dataclass(frozen=True)
class McpServer:
    """A server as the preflight resolved it: absolute command, tools by the server's own names.

    ``environment`` is everything the server's process gets from the operator, by value.
    ``allow`` and ``tools`` (all that it listed) are sorted.
    """

    name: str
    command: tuple[str, ...]
    allow: tuple[str, ...]
    tools: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Denials:
    """Permission denials of an attempt: how many, and of which tools (sorted, no duplicates)."""

    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one attempt showed, in the ledger's own words; what was not measured is None.

    Times are whole milliseconds, token fields whole counts, money USD. ``input_tokens`` is without
    cache reads and writes; ``total_input_tokens`` stands where only all of it was counted.
    ``turns`` counts model requests. ``cost_usd`` is the endpoint and is None, with bounds, where it
    was not measured; ``charged_usd`` is what counts against the cap. ``retries`` are requests sent
    again, ``continuations`` turns that the agent added by itself. ``provider`` is what a provider
    command says of itself, never a grade; ``treatment_evidence`` what the harness saw of the arm's
    own programs; ``acceptance`` what the checks came to that it ran itself. ``usage_missing`` says
    that the agent reported no usage at all; ``patch`` is what is public of what it changed.
    ``problems`` holds every code; the first about set-up and cost stand alone as well, whatever the
    status.
    """

    status: Status
    transport: str
    problems: tuple[str, ...] = ()
    setup_problem: str | None = None
    cost_problem: str | None = None
    charged_usd: Decimal
    cost_usd: Decimal | None = None
    cost_lower_usd: Decimal | None = None
    cost_upper_usd: Decimal | None = None
    attempt_budget_usd: Decimal | None = None
    cli_reported_cost_usd: Decimal | None = None
    computed_cost_usd: Decimal | None = None
    computed_per_request_usd: Decimal | None = None
    computed_whole_attempt_usd: Decimal | None = None
    cost_basis: str | None = None
    usage_complete: bool = False
    input_tokens: int | None = None
    total_input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    turns: int | None = None
    num_turns: int | None = None
    tool_calls: int | None = None
    tool_calls_by_name: Mapping[str, int] = field(default_factory=dict)
    tool_errors_by_name: Mapping[str, int] = field(default_factory=dict)
    mcp_tool_calls: int | None = None
    permission_denials: Denials | None = None
    model: str | None = None
    resolved_model: str | None = None
    tools: tuple[str, ...] | None = None
    mcp_servers: tuple[Mapping[str, str], ...] | None = None
    permission_mode: str | None = None
    cli_version: str | None = None
    expected_cli_version: str | None = None
    cli_subtype: str | None = None
    is_error: bool | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    provider_cost_basis: str | None = None
    web_search_requests: int | None = None
    exit_code: int | None = None
    retries: int | None = None
    continuations: int | None = None
    sub_agents: int | None = None
    wall_time_ms: int | None = None
    time_to_init_ms: int | None = None
    export_digest: str | None = None
    environment_digest: str | None = None
    survivors: int | None = None
    provider: Mapping[str, Any] | None = None
    treatment_evidence: Mapping[str, Any] | None = None
    acceptance: Mapping[str, Any] | None = None
    equal_digest: str | None = None
    tree_digest: str | None = None
    setup_ms: int | None = None
    stops: tuple[Mapping[str, Any], ...] | None = None
    checker: Mapping[str, Any] | None = None
    hooks: Mapping[str, int] | None = None
    session_cost_usd: Decimal | None = None
    side_costs: Mapping[str, Any] | None = None
    usage_missing: bool | None = None
    patch: Mapping[str, Any] | None = None
    registration_digest: str | None = None
    rules_digest: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in a ledger line, absent ones as null."""
        line = {_ledger_name(f.name): _plain(getattr(self, f.name)) for f in fields(self)}
        line["correctness"] = None
        line["adjudication"] = "pending"
        return line


@dataclass(frozen=True)
class AttemptRequest:
    """All that one attempt may know.

    ``transport_settings`` is the study's block for the transport, prices resolved.
    ``limit_usd`` is what the agent may spend; ``base_url`` is None for the provider's own.
    ``corpus`` is what the workspace is made from: its type says which kind. ``surroundings`` and
    ``kept`` belong to writable ones: what lies around it, and what an earlier turn left; with
    ``keep`` the workspace stays for another turn, and the result names it. ``launch``, ``side`` and
    ``config_dir`` (a login's own folder) say how an arm's process is started and what else spends.
    ``secrets`` holds credentials by variable name, for the transport alone. ``local_tools`` is
    False for who gets all in the prompt, and no tool to look further with. ``provider`` is the job
    of a provider command, for that transport alone. ``set_up`` is what is done in a checkout before
    the agent comes; ``shielded`` keeps the key from what the agent starts.
    """

    transport: str
    transport_settings: Any
    model: str
    prompt: str = field(repr=False)
    limit_usd: Decimal
    corpus: Sealed
    mcp_servers: tuple[McpServer, ...]
    denied_mcp_tools: tuple[str, ...] = ()
    executable: str | None = None
    executable_version: str | None = None
    base_url: str | None = None
    rehearsal: bool = False
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    local_tools: bool = True
    provider: Any = None
    surroundings: Surroundings | None = None
    kept: Kept | None = None
    keep: bool = False
    launch: Launch = Launch()
    config_dir: Path | None = None
    side: SideFile | None = None
    set_up: ArmSetup = ArmSetup()
    shielded: bool = False

    @property
    def reservation_usd(self) -> Decimal:
        """Return what the turn reserves: the agent's limit, and what its product may spend."""
        return money.total(self.limit_usd, self.side.reserved_usd if self.side else money.ZERO)


@dataclass(frozen=True)
class AttemptResult:
    """What an attempt gives back.

    ``private`` holds JSON values (answer, details of problems), ``artifacts`` raw bytes (the
    transcript); both go beside the ledger and are only committed to in it. ``kept`` is there
    where the request asked to keep the workspace: whoever has it takes another turn or releases it.
    """

    observation: Observation
    private: Mapping[str, Any] = field(default_factory=dict, repr=False)
    artifacts: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    kept: Kept | None = None


_UNCHANGED = {"mcp_servers"}  # the specification's own spelling


def _ledger_name(name: str) -> str:
    if name in _UNCHANGED:
        return name
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Decimal):
        return money.text(value)
    if isinstance(value, Denials):
        return {"count": value.count, "names": list(value.names)}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return {key: _plain(item) for key, item in value.items()}
    return value
