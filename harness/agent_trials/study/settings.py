"""The shape of study.toml: frozen values, checked by pydantic when ``manifest.load`` reads a file.

Field names are the manifest's own. Amounts of money are decimal text there and Decimal here.
"""

# The annotations are read by pydantic at run time, so nothing here is imported for types alone.

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from agent_trials import money
from agent_trials.errors import MoneyError


def _money(written: object) -> Decimal:
    try:
        return money.parse(written)
    except MoneyError as error:
        raise ValueError(str(error)) from error


def _positive_money(written: object) -> Decimal:
    try:
        return money.parse_positive(written)
    except MoneyError as error:
        raise ValueError(str(error)) from error


_AMBIGUOUS = re.compile(r"(?<!\\)[\[\]]|--|&&|~~|\|\|")
"""What would end the set, or may mean a set operation in a later Python."""


def _character_set(written: str) -> str:
    wrong = f'{written!r} is no set of characters; write it as "A-Za-z0-9_./-"'
    if _AMBIGUOUS.search(written):
        raise ValueError(wrong)
    try:
        re.compile(f"[{written}]+")
    except re.error as error:
        raise ValueError(wrong) from error
    return written


NOT_SENT = "not-sent"
"""The word of a manifest for a temperature that its model does not take."""

OPERATOR = "operator"
"""The word of a manifest that leaves a value to the command line."""

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Count = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Bytes = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]
Money = Annotated[Decimal, BeforeValidator(_money)]
PositiveMoney = Annotated[Decimal, BeforeValidator(_positive_money)]
Operator = Literal["operator"]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
SampleName = Annotated[
    str, StringConstraints(pattern=r"^(balanced|pairwise|full)(-[1-9][0-9]{0,6})?$")
]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
StopStatus = Literal[
    "incomplete", "failed", "timed-out", "budget-exceeded", "invalid-setup", "invalid-cost"
]
StopOn = Literal["not-completed", "infrastructure"] | tuple[StopStatus, ...]

_FORBID = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Who answers: a model behind one of the study's transports."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    transport: Literal["http", "cli", "provider"]
    model: Text
    immutable_model: bool = False
    compares: tuple[Literal["model", "transport"], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScheduleSettings:
    """How the attempts follow one another."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    repetitions: Count
    arm_order: Literal["alternate", "rotate", "random", "fixed"] = "alternate"
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None
    concurrency: Count = 1
    resume: Literal["never", "skip-recorded", "skip-completed"] = "never"
    infra_reruns: Annotated[int, Field(strict=True, ge=0, le=10)] = 0


@dataclass(frozen=True, kw_only=True)
class PhaseSettings:
    """Which part of the matrix a phase runs; None means all of it.

    ``limit_usd`` is what the phase may spend by itself, under whatever cap.
    ``plan`` is the digest of its cells in their order, where the study fixes it once more.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    tasks: tuple[Id, ...] | None = None
    models: tuple[Id, ...] | None = None
    arms: tuple[Id, ...] | None = None
    repetitions: Count | None = None
    sample: SampleName | None = None
    plan: Digest | None = None
    scored: bool = True
    requires: Id | None = None
    limit_usd: PositiveMoney | None = None


@dataclass(frozen=True, kw_only=True)
class BudgetSettings:
    """What one attempt may cost, USD."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    attempt_usd: PositiveMoney | Operator


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """What is registered before the first attempt; everything else in a report is exploratory."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    primary: Annotated[tuple[str, ...], Field(min_length=1)]
    secondary: tuple[str, ...] = ()
    p_values: bool = True


@dataclass(frozen=True, kw_only=True)
class VerdictSettings:
    """The rule that turns figures into a verdict, with its thresholds as decimal text."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    rule: Id
    thresholds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CorpusFilter:
    """Which blobs of a pin an agent may see: regular files that pass every one of these.

    ``words`` are looked for in the whole path, case folded; ``parts`` are whole path parts.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    modes: tuple[Literal["100644", "100755"], ...] = ("100644",)
    extensions: tuple[str, ...] = (
        "md", "mdx", "json", "ts", "tsx", "js", "mjs", "yaml", "yml",
    )  # fmt: skip
    characters: Annotated[str, AfterValidator(_character_set)] = "A-Za-z0-9_./-"
    parts: tuple[str, ...] = ("node_modules", "dist", "build", "coverage")
    words: tuple[str, ...] = ("secret", "credential", "lock")
    max_bytes: Count = 200_000


Command = Annotated[tuple[Text, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """How a starter becomes the writable tree of an attempt, the same in every arm.

    ``setup`` are commands run in it, ``{python}`` and the study's parameters filled in. ``equal``
    are files whose bytes must be the same whenever a task's tree is laid out. ``stop_snapshots``
    adds a Stop hook to the project's settings that copies what git sees.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    setup: tuple[Command, ...] = ()
    setup_seconds: Count = 120
    equal: tuple[Text, ...] = ()
    stop_snapshots: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckoutSettings:
    """How a pin becomes the writable checkout of an attempt.

    ``setup_seconds`` are for all set-up commands of an arm. ``key_reaches_shell`` accepts that what
    the agent starts can read its key, where the CLI cannot keep it from that.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    patch_bytes: Bytes = 10_000_000
    setup_seconds: Count = 600
    key_reaches_shell: bool = False


@dataclass(frozen=True, kw_only=True)
class WorkspaceSettings:
    """What the agent works in: a read-only export of a pin, or something that it may change.

    That is a tree made from a starter of the study, or a checkout of a pin as its only commit.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    kind: Literal["export", "tree", "checkout"] = "export"
    tree: TreeSettings | None = None
    checkout: CheckoutSettings | None = None
    filter: CorpusFilter = field(default_factory=CorpusFilter)
    tool_lists: Literal["union", "identical"] = "union"


@dataclass(frozen=True, kw_only=True)
class RepositorySettings:
    """A public repository at one commit.

    ``url`` that names a folder (relative to the study) is committed on demand for a rehearsal.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    url: Text
    pin: Commit
    generated_paths: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A call of one server tool, by the server's own (dotted) name."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    tool: Text
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AnswerFreshness:
    """The index is fresh when this call's text matches the pattern (``re.search``)."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    kind: Literal["answer"]
    tool: Text
    matches: Text
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class IndexFreshness:
    """The index is fresh when making it again gives the same JSON but for the named keys.

    ``command`` writes it anew in a scratch copy of the checkout (``{scratch}``); ``path`` is the
    index file inside checkout and scratch copy.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    kind: Literal["index"]
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    path: Text
    ignore_keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class McpServerSettings:
    """One stdio MCP server of an arm.

    ``command`` may hold ``{python}``, ``{checkout}``, ``{config}`` and the study's parameters.
    ``{config}`` is the first of ``config_candidates`` in the checkout, then ``package.json`` if it
    has the key ``config_key``.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    allow: Annotated[tuple[Text, ...], Field(min_length=1)]
    probe: ToolCall
    environment: tuple[VariableName, ...] = ()
    freshness: Annotated[AnswerFreshness | IndexFreshness, Field(discriminator="kind")] | None = (
        None
    )
    config_candidates: tuple[str, ...] = ()
    config_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RegistrationSettings:
    """The MCP server that an arm's set-up registers, taken from the file in which it does so.

    ``file`` begins with ``{workspace}`` or ``{home}``. Without ``allow`` the agent may call every
    tool that the server lists.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    server: Text
    file: Text = "{home}/.claude.json"
    allow: tuple[Text, ...] = ()
    probe: ToolCall | None = None


@dataclass(frozen=True, kw_only=True)
class RulesSettings:
    """A rules file as a treatment: of the study's folder, or made by the arm's set-up.

    ``file`` of the set-up begins with ``{workspace}`` or ``{home}``; one of the study is written to
    ``CLAUDE.md`` of the workspace where it is delivered as a project's file.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    file: Text
    deliver: Literal["project-file", "appended-system-prompt"]


@dataclass(frozen=True, kw_only=True)
class LaunchSettings:
    """How a process of an arm is started: behind a launcher, with variables, with more arguments.

    The words of ``launcher`` come before the CLI's arguments; without one the CLI is started
    itself. ``unset`` takes variables away that the arm would get otherwise. ``arguments`` stand
    before the study's own array.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    launcher: tuple[Text, ...] = ()
    environment: Mapping[VariableName, str] = field(default_factory=dict)
    unset: tuple[VariableName, ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SideCostSettings:
    """Money that an arm's product spends by itself, as it states it in a file of JSON lines.

    ``path`` may begin with ``{tree}``, ``{home}`` or ``{config}``. A line counts where its
    ``name_field`` is ``event``; one without a cost is charged ``soft_cap_usd``. What a
    turn reserves covers ``max_calls`` of them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    path: Text
    event: Text
    cost_field: Text
    soft_cap_usd: PositiveMoney
    max_calls: Annotated[int, Field(ge=1, le=100, strict=True)]
    name_field: Text = "event"

    @property
    def reserved_usd(self) -> Decimal:
        """Return what a turn reserves for it, USD."""
        return money.times(self.soft_cap_usd, self.max_calls)


@dataclass(frozen=True, kw_only=True)
class ReviewSettings:
    """What an arm's product says of its reviews in the same file, and under which keys.

    ``event`` is one review, ``continued`` that the agent was made to go on after it. A judgement is
    ``correct`` (the agent should correct its work), ``on_track`` or ``unknown``; the known ids are
    those that the review was offered to cite.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    event: Text
    continued: Text
    judgement_field: Text = "judgement"
    goals_field: Text = "goal_ids"
    evidence_field: Text = "evidence_ids"
    known_goals_field: Text = "goals"
    known_evidence_field: Text = "evidence"
    reason_field: Text = "reason"
    wall_field: Text | None = None
    scope_field: Text | None = None


@dataclass(frozen=True, kw_only=True)
class PriceTier:
    """USD per million tokens for requests whose prompt is above this many tokens."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    above_prompt_tokens: Annotated[int, Field(strict=True, ge=0)]
    input: Money
    output: Money
    cache_read: Money
    cache_write_5m: Money
    cache_write_1h: Money


@dataclass(frozen=True, kw_only=True)
class OwnRates:
    """The prices of one model, where they are not the transport's."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    input_usd_per_million: PositiveMoney | None = None
    output_usd_per_million: PositiveMoney | None = None
    prices: Annotated[tuple[PriceTier, ...], Field(min_length=1)] | None = None


@dataclass(frozen=True, kw_only=True)
class ModelSettings(OwnRates):
    """One of several models, each of which answers every task in every arm."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    id: Id
    model: Text
    attempt_usd: PositiveMoney | None = None


@dataclass(frozen=True, kw_only=True)
class ArmSettings(LaunchSettings, OwnRates):
    """One of the compared setups.

    ``follow_up`` is how a further turn is started, as the first one where it is left out.
    ``session`` says who names the session: the harness (``--session-id``), or the launcher.
    ``setup``, ``registration`` and ``rules`` are what is done in a checkout before the agent. A
    transport or a model of its own only where the study compares just that (``agent.compares``).
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    id: Id
    transport: Literal["http", "cli", "provider"] | None = None
    model: Text | None = None
    session: Literal["harness", "launcher"] = "harness"
    follow_up: LaunchSettings | None = None
    side_costs: SideCostSettings | None = None
    setup: tuple[Command, ...] = ()
    registration: RegistrationSettings | None = None
    rules: RulesSettings | None = None
    reviews: ReviewSettings | None = None
    mcp_servers: Mapping[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")], McpServerSettings
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """One question, about a repository or over a starter (``tree``, a folder of the study).

    Where it has variants, a pair asks one of them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    id: Id
    category: Id
    question: Text
    repository: Id | None = None
    tree: Text | None = None
    instance: str | None = None
    variants: Mapping[Id, Text] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskSourceSettings:
    """A benchmark's lock that gives the study further tasks, one per instance.

    ``lock`` and ``prompt`` are files of the study's folder; the prompt holds
    ``{problem_statement}`` once. ``url`` is where a repository is had, ``{repo}`` being its name.
    ``rows`` is the parameter that names the file of rows with the statements, where the lock has
    none.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    lock: FileName
    prompt: FileName
    url: Text
    rows: str | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterSettings:
    """A value that the operator gives with ``--param``; it is recorded, never printed."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    description: Text
    default: str | None = None


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """The Messages API transport: what one attempt may ask for, and at which upper rates."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    input_usd_per_million: PositiveMoney | Operator
    output_usd_per_million: PositiveMoney | Operator
    max_turns: Count = 8
    max_tokens: Count = 1024
    temperature: Annotated[str, StringConstraints(pattern=r"^([01](\.[0-9]{1,3})?|not-sent)$")] = (
        "0"
    )
    max_tool_calls: Count = 20
    result_characters: Count = 16_000
    request_timeout_seconds: Count = 60
    tool_timeout_seconds: Count = 30
    timeout_seconds: Count = 300
    stop_on: StopOn = ("failed", "timed-out", "budget-exceeded", "invalid-setup", "invalid-cost")


DEFAULT_ARGUMENTS = (
    "-p",
    "--model", "{model}",
    "--output-format", "stream-json", "--verbose",
    "--no-session-persistence",
    "--max-budget-usd", "{limit}",
    "--restricted",
    "--disable-slash-commands",
    "--permission-mode", "dontAsk",
    "--permission-prompts", "none",
    "--tools", "{tools}",
    "--allowedTools", "{allowed}",
    "--disallowedTools", "{denied}",
    "--mcp-config", "{mcp_config}",
    "--strict-mcp-config",
    "{prompt}",
)  # fmt: skip
"""The argument array of the minimal agent-efficiency study v1, prompt last after a boolean flag."""


@dataclass(frozen=True, kw_only=True)
class CliSettings:
    """The Claude Code transport: version, argument array, tools, prices and limits."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    version: Text | Operator
    prices: Annotated[tuple[PriceTier, ...], Field(min_length=1)]
    arguments: Annotated[tuple[str, ...], Field(min_length=1)] = DEFAULT_ARGUMENTS
    credential: Literal["login", "api-key", "config-dir"] = "login"
    environment: Mapping[VariableName, str] = field(default_factory=dict)
    tools: tuple[Text, ...] = ("Read", "Grep", "Glob")
    deny: tuple[Text, ...] = (
        "Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "Task",
        "Agent",
    )  # fmt: skip
    accepted_denials: tuple[Text, ...] = ("Read", "Grep", "Glob")
    permission_mode: Text = "dontAsk"
    timeout_seconds: Count = 300
    stdout_bytes: Bytes = 4 * 1024 * 1024
    stop_on: StopOn = "not-completed"
    tier_rule: Literal["per-request", "whole-attempt"] = "per-request"
    web_search_usd: Money = Decimal("0.01")


RequestField = Literal[
    "task", "objective", "initial_context", "expected_outcome", "evidence_requirements",
    "acceptance_checks", "allowed_tools", "forbidden_actions",
]  # fmt: skip
ProgramName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$")]


@dataclass(frozen=True, kw_only=True)
class ProviderArm:
    """What a provider command is told of its arm, and which programs show that it was the arm.

    ``evidence`` names programs that must have run to a good end in this arm, and in no other.
    ``handoff`` gives the arm each task's hand-off, which no other arm sees.
    ``scenario`` is its name in the providers file; the arm's id where it has none.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    scenario: Id | None = None
    allowed_tools: tuple[Text, ...] = ()
    forbidden_actions: tuple[Text, ...] = ()
    evidence: tuple[ProgramName, ...] = ()
    handoff: bool = False


@dataclass(frozen=True, kw_only=True)
class Handoff:
    """Where to begin with a task, found beforehand and without a model; paths are the corpus's."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    target: Text
    start_here: Text
    read_before_editing: tuple[Text, ...] = ()
    edit_roots: tuple[Text, ...] = ()
    checks: tuple[Text, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AcceptanceCheck:
    """A command that the harness runs on what a provider command left; exit code 0 passes.

    ``command`` may hold ``{python}`` and ``{study}``, the study's own folder.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    id: Id
    command: Annotated[tuple[Text, ...], Field(min_length=1, max_length=64)]
    timeout_seconds: Count = 60


@dataclass(frozen=True, kw_only=True)
class ProviderTask:
    """What a provider command may be told of a task beside its question, and what is checked.

    ``acceptance_checks`` are words that it is told; ``checks`` are run, and it is told nothing.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    initial_context: str = ""
    expected_outcome: str = ""
    evidence_requirements: tuple[Text, ...] = ()
    acceptance_checks: tuple[Text, ...] = ()
    difficulty: Id | None = None
    handoff: Handoff | None = None
    checks: Annotated[tuple[AcceptanceCheck, ...], Field(max_length=16)] = ()


@dataclass(frozen=True, kw_only=True)
class ProviderSettings:
    """The provider command transport: what a command is told, its bounds, what shows the arm.

    ``providers`` is the digest of the configuration that the study fixes. ``writable`` lets every
    command change its export. Sizes are bytes.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    request: tuple[RequestField, ...] = (
        "task", "objective", "initial_context", "allowed_tools", "forbidden_actions",
    )  # fmt: skip
    arms: Mapping[Id, ProviderArm] = field(default_factory=dict)
    tasks: Mapping[Id, ProviderTask] = field(default_factory=dict)
    writable: bool = False
    evidence_rule: Literal["invalid-setup", "record"] = "invalid-setup"
    charge: Literal["reservation", "priced"] = "reservation"
    providers: Text | Operator = "operator"
    max_input_bytes: Annotated[int, Field(ge=1, le=8_000_000, strict=True)] = 1_000_000
    max_output_bytes: Annotated[int, Field(ge=1, le=256_000, strict=True)] = 256_000
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None = None
    timeout_seconds: Count = 180
    stop_on: StopOn = ("failed", "timed-out", "budget-exceeded", "invalid-setup", "invalid-cost")

    @property
    def check_seconds(self) -> int:
        """Return how long the checks of one task may take at most, in all."""
        spent = [sum(c.timeout_seconds for c in task.checks) for task in self.tasks.values()]
        return max(spent, default=0)


@dataclass(frozen=True, kw_only=True)
class TransportSettings:
    """The ways to the model that the study allows."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    http: HttpSettings | None = None
    cli: CliSettings | None = None
    provider: ProviderSettings | None = None

    @property
    def described(self) -> dict[str, HttpSettings | CliSettings | ProviderSettings]:
        """Return the tables that the study has, by the transport's name."""
        blocks = {"http": self.http, "cli": self.cli, "provider": self.provider}
        return {name: block for name, block in blocks.items() if block is not None}


@dataclass(frozen=True, kw_only=True)
class AdjudicatorHttpSettings:
    """The Messages API for one grading: one request, no tools, upper rates."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    input_usd_per_million: PositiveMoney | Operator
    output_usd_per_million: PositiveMoney | Operator
    max_tokens: Count = 4096
    temperature: Annotated[str, StringConstraints(pattern=r"^([01](\.[0-9]{1,3})?|not-sent)$")] = (
        "0"
    )
    timeout_seconds: Count = 180


@dataclass(frozen=True, kw_only=True)
class AdjudicatorCliSettings:
    """Claude Code for one grading: no tools, the packet on standard input."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    version: Text
    prices: Annotated[tuple[PriceTier, ...], Field(min_length=1)]
    credential: Literal["login", "api-key"] = "login"
    environment: Mapping[VariableName, str] = field(default_factory=dict)
    permission_mode: Text = "dontAsk"
    timeout_seconds: Count = 300
    stdout_bytes: Bytes = 4 * 1024 * 1024
    tier_rule: Literal["per-request", "whole-attempt"] = "per-request"


@dataclass(frozen=True, kw_only=True)
class AdjudicatorCommandSettings:
    """A command of one's own for one grading: the ``adjudicator`` of the file of --providers.

    ``providers`` is the digest of that file, where the study fixes it. Sizes are bytes.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    providers: Text | Operator = "operator"
    charge: Literal["reservation", "priced"] = "reservation"
    max_input_bytes: Annotated[int, Field(ge=1, le=8_000_000, strict=True)] = 1_000_000
    max_output_bytes: Annotated[int, Field(ge=1, le=256_000, strict=True)] = 256_000
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None = None
    timeout_seconds: Count = 180


@dataclass(frozen=True, kw_only=True)
class GraderSettings:
    """Who grades: a model behind a transport of its own, and what one grading may cost, USD."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    transport: Literal["http", "cli", "command"]
    model: Text
    limit_usd: PositiveMoney
    http: AdjudicatorHttpSettings | None = None
    cli: AdjudicatorCliSettings | None = None
    command: AdjudicatorCommandSettings | None = None


NeutralField = Literal[
    "execution_status", "duration_ms", "response_bytes",
    "outcomes", "evidence_ids", "evidence_presence", "acceptance",
]  # fmt: skip
MeasurementName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]


@dataclass(frozen=True, kw_only=True)
class AdjudicatorSettings(GraderSettings):
    """The first adjudicator, and how answers are graded, by it and by a second one."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    packet: Literal["answer", "structured"] | None = None
    neutral: tuple[NeutralField, ...] = ()
    neutral_measurements: tuple[MeasurementName, ...] = ()
    seed: Annotated[int, Field(strict=True, ge=0)] = 1
    controls: Count = 1
    counted: tuple[Literal["timed-out", "budget-exceeded"], ...] = ()
    arm_words: tuple[Text, ...] = ()
    keep_words: tuple[Text, ...] = ()
    guess_arm: bool = False
    second: GraderSettings | None = None
    disagreement: Literal["missing", "first", "lower"] | None = None

    @property
    def is_structured(self) -> bool:
        """Return whether graders get a record without the answer; a command does by default."""
        if self.packet is None:
            return self.transport == "command"
        return self.packet == "structured"

    def reserves(self, observations: int) -> Decimal:
        """Return what a batch may reserve at most, USD: gradings, guesses, two asked controls."""
        guesses = self.limit_usd * observations if self.guess_arm else Decimal(0)
        limits = self.limit_usd + (self.second.limit_usd if self.second else Decimal(0))
        return limits * (observations + 2 * self.controls) + guesses


@dataclass(frozen=True, kw_only=True)
class FollowUpSettings:
    """One further turn in the same session, in every arm alike, where the checker says no."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    when: Literal["checker-fails"]
    prompt: Text


SWEBENCH_COMMAND = (
    "{python}", "-m", "swebench.harness.run_evaluation",
    "--dataset_name", "{dataset}",
    "--split", "{split}",
    "--predictions_path", "{predictions}",
    "--run_id", "{run_id}",
    "--max_workers", "{max_workers}",
    "--timeout", "{timeout}",
    "--report_dir", "{reports}",
)  # fmt: skip
"""The official evaluation of swebench 4.1 and 5; 2.1 knows no --report_dir."""
SWEBENCH_VERSION = (
    "{python}", "-c", "import importlib.metadata as m; print(m.version('swebench'))",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """The official evaluation of the patches: a program, its version, and what it is told.

    ``command`` and ``version_command`` may hold ``{python}``, the study's parameters and
    ``{study}``, its folder; the command also ``{dataset}``, ``{split}``, ``{predictions}``,
    ``{run_id}``, ``{max_workers}``, ``{timeout}`` and ``{reports}``. ``timeout_seconds`` is one
    instance's, ``deadline_seconds`` that of the whole program. ``environment`` names variables that
    are passed on to it. ``rows_digest`` is that of the file of rows, where the study fixes it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    harness_version: Text
    dataset: Text
    image_set: Text
    split: Text = "test"
    command: Command = SWEBENCH_COMMAND
    version_command: Command = SWEBENCH_VERSION
    max_workers: Count = 4
    timeout_seconds: Count = 1800
    deadline_seconds: Count = 86_400
    environment: tuple[VariableName, ...] = ()
    rows_digest: Digest | Operator = "operator"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything in study.toml: all that the run may see."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    schema: Literal[1]
    id: Id
    title: Text
    declaration: Text
    agent: AgentSettings
    schedule: ScheduleSettings
    phases: Annotated[Mapping[Id, PhaseSettings], Field(min_length=1)]
    budget: BudgetSettings
    endpoints: EndpointSettings
    verdict: VerdictSettings
    arms: Annotated[tuple[ArmSettings, ...], Field(min_length=2)]
    tasks: Annotated[tuple[TaskSettings, ...], Field(min_length=1)]
    transports: TransportSettings
    repositories: Mapping[Id, RepositorySettings] = field(default_factory=dict)
    models: tuple[ModelSettings, ...] = ()
    instructions: str = ""
    follow_up: FollowUpSettings | None = None
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    adjudicator: AdjudicatorSettings | None = None
    task_source: TaskSourceSettings | None = None
    evaluation: EvaluationSettings | None = None
    parameters: Mapping[
        Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")], ParameterSettings
    ] = field(default_factory=dict)

    def prompt(self, task: TaskSettings) -> str:
        """Return what every arm and transport asks: the question, then the fixed instructions."""
        return self.worded(task.question)

    def worded(self, question: str) -> str:
        """Return a question with the fixed instructions."""
        return f"{question}\n{self.instructions}" if self.instructions else question

    @property
    def tree(self) -> TreeSettings | None:
        """Return how trees are laid out, None where the workspace is of another kind."""
        return (self.workspace.tree or TreeSettings()) if self.workspace.kind == "tree" else None

    @property
    def checkout(self) -> CheckoutSettings | None:
        """Return how checkouts are laid out, None where the workspace is of another kind."""
        if self.workspace.kind != "checkout":
            return None
        return self.workspace.checkout or CheckoutSettings()
