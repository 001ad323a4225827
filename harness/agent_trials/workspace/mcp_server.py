"""Talks to an MCP server over stdio: start it, list its tools, call them, end it with all below it.

This is the only file that knows the ``mcp`` package, and the only asynchronous code of the
workspace: an event loop in a thread of its own, behind a synchronous ``connect``.

The SDK's client speaks the protocol. Its stdio transport is not used, because it adds the
operator's HOME, USER, LOGNAME, SHELL, TERM and PATH to the server's environment, ends the server's
process group only, leaves the server behind when the harness is killed, and logs what a server
prints beside the protocol. Here a server gets the variables that its study names and
``MINIMAL_PATH`` (a study that names PATH passes on the operator's), runs under the supervisor,
and is quoted in no log.

Some servers list further tools to a client that offers them roots or elicitation. So this client
offers what Claude Code 2.1.296 does, and answers alike: the working directory is the only root, and
nobody is there to be asked. What is probed is then what an attempt is given, on either transport.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import start_blocking_portal
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    Implementation,
    JSONRPCNotification,
    ListRootsResult,
    ResourceLink,
    Root,
    TextContent,
    TextResourceContents,
    jsonrpc_message_adapter,
)
from pydantic import FileUrl, ValidationError

from agent_trials.errors import AgentError, McpServerError
from agent_trials.supervised import AgentEnded, Supervised
from agent_trials.workspace.mcp_tools import MINIMAL_PATH, ConnectionLimits, Tool, ToolAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping
    from pathlib import Path

    from anyio.from_thread import BlockingPortal
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client.session import ClientRequestContext
    from mcp_types import CallToolResult, ContentBlock, JSONRPCMessage

    from agent_trials.records import McpServer

STDERR_TAIL_BYTES = 16 * 1024
ME = Implementation(name="agent-trials", version="1")

_CHUNK = 65_536
_STARTING, _LISTING = "answered `initialize`", "listed its tools"
_REMEDY = "run its command by hand with only PATH and the variables that the study names"


class Connection:
    """A server that is up; made by ``connect``, and usable from the thread that made it.

    Attributes:
        tools: all that the server lists, in its order.
        instructions: what the server says about itself to a model, if anything.
        protocol: the revision that was agreed on.
    """

    def __init__(
        self, portal: BlockingPortal, wire: _Wire, client: Client, tools: tuple[Tool, ...]
    ) -> None:
        self.tools = tools
        self.instructions = client.instructions
        self.protocol = client.protocol_version
        self._portal = portal
        self._wire = wire
        self._client = client

    def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools that the server listed when it was connected to."""
        return self.tools

    def call(self, tool: str, arguments: Mapping[str, Any], timeout: float) -> ToolAnswer:
        """Call a tool by the server's own name; whatever the server does is an answer.

        ``timeout`` is in seconds; a call that takes longer is an error, and the server goes on.
        """
        # An interruption of the wait leaves the call behind; it ends with the connection.
        answer: ToolAnswer = self._portal.call(self._call, tool, dict(arguments), timeout)
        return answer

    async def _call(self, tool: str, arguments: dict[str, Any], timeout: float) -> ToolAnswer:  # noqa: ASYNC109 - it is the caller's
        with anyio.move_on_after(timeout):
            try:
                result = await self._client.call_tool(tool, arguments)
            except MCPError as error:
                return ToolAnswer(error.message, is_error=True, died=self._wire.ended)
            except (ValidationError, RuntimeError) as error:
                # RuntimeError is what the client raises for a result unlike the declared schema.
                return ToolAnswer(f"the tool's answer is invalid: {error}", is_error=True)
            return ToolAnswer(text_of(result), is_error=result.is_error)
        return ToolAnswer(f"no answer within {timeout:g} s", is_error=True)


@contextmanager
def connect(
    server: McpServer, *, folder: Path, limits: ConnectionLimits | None = None
) -> Iterator[Connection]:
    """Start a server, shake hands, list its tools; end it and all below it on the way out.

    Args:
        server: command and environment; its tools are not looked at.
        folder: the server's working directory, an attempt's export.
        limits: deadlines.

    Raises:
        McpServerError: it does not start, shake hands or list its tools in time.
    """
    limits = limits or ConnectionLimits()
    environment = {"PATH": MINIMAL_PATH, **server.environment}
    try:
        child = Supervised(server.command, folder, environment, has_input=True)
    except AgentError as error:
        raise _not_started(server.name, error) from None
    with child, start_blocking_portal("asyncio") as portal:
        wire = _Wire(child, limits)
        session = portal.wrap_async_context_manager(_session(wire, folder))
        try:
            client, tools = session.__enter__()
        except (MCPError, ExceptionGroup, RuntimeError, ValidationError, TimeoutError) as error:
            raise _refusal(server.name, wire, error) from None
        try:
            yield Connection(portal, wire, client, tools)
        finally:
            # What the caller's block raised is not the session's business: it would come out of
            # the event loop's task groups as a group.
            session.__exit__(None, None, None)


def text_of(result: CallToolResult) -> str:
    """Return all text of a tool's result; what is no text is named, not shown."""
    if not result.content and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(_block_text(block) for block in result.content)


def _block_text(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return block.resource.text
    if isinstance(block, ResourceLink):
        return str(block.uri)
    return f"[{block.type} left out]"


@asynccontextmanager
async def _session(
    wire: _Wire, folder: Path
) -> AsyncGenerator[tuple[Client, tuple[Tool, ...]], None]:
    """Shake hands and list the tools, each under its deadline.

    Raises:
        TimeoutError: a deadline struck.
    """
    # The deadline's scope encloses the session, since scopes close in the reverse order only.
    with anyio.CancelScope() as scope:
        wire.await_until(scope, _STARTING, wire.limits.start_seconds)
        client = Client(
            wire.streams(),
            client_info=ME,
            cache=None,
            list_roots_callback=_Roots(folder),
            elicitation_callback=_ask_nobody,
        )
        async with client:
            wire.await_until(scope, _LISTING, wire.limits.list_seconds)
            tools = await _all_tools(client)
            scope.deadline = math.inf
            yield client, tools
    if scope.cancelled_caught:
        raise TimeoutError


class _Roots:
    """Answers a server that asks where it may work."""

    def __init__(self, folder: Path) -> None:
        self._answer = ListRootsResult(roots=[Root(uri=FileUrl(folder.absolute().as_uri()))])

    async def __call__(self, context: ClientRequestContext) -> ListRootsResult:
        del context
        return self._answer


async def _ask_nobody(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Answer a server that has a question for its user."""
    del context, params
    return ElicitResult(action="cancel")


async def _all_tools(client: Client) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    cursors: set[str | None] = set()
    cursor: str | None = None
    while cursor not in cursors:
        cursors.add(cursor)
        page = await client.list_tools(cursor=cursor)
        tools += [Tool(each.name, each.description or "", each.input_schema) for each in page.tools]
        if not page.next_cursor:
            return tuple(tools)
        cursor = page.next_cursor
    raise RuntimeError("the list of tools leads back to a page that was read")


class _Wire:
    """The pipes of one server as the client's streams, and what became of the server.

    Attributes:
        doing: what the server has to do next, and ``seconds`` it has for that.
        ended: its output is over; nothing will be answered any more.
        left: it had ended when it was no longer needed, or earlier.
        stderr: the end of what it wrote there.
        exit_code: as the supervisor told it.
        refusal: why it was not started.
    """

    def __init__(self, child: Supervised, limits: ConnectionLimits) -> None:
        self._child = child
        self.limits = limits
        self.doing = _STARTING
        self.seconds = math.inf
        self.ended = False
        self.left = False
        self.stderr = b""
        self.exit_code: int | None = None
        self.refusal: AgentError | None = None

    def await_until(self, scope: anyio.CancelScope, doing: str, seconds: float) -> None:
        """Note what is waited for, and set its deadline."""
        self.doing, self.seconds = doing, seconds
        scope.deadline = anyio.current_time() + seconds

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncGenerator[
        tuple[
            MemoryObjectReceiveStream[SessionMessage | Exception],
            MemoryObjectSendStream[SessionMessage],
        ],
        None,
    ]:
        """Yield the streams of messages; at the end, give the server its grace to end by itself."""
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        # Without a bound, so that a server that reads nothing holds up no deadline.
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](math.inf)
        over = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._receive, incoming)
            tasks.start_soon(self._send, outgoing)
            tasks.start_soon(self._keep_tail)
            tasks.start_soon(self._hear, over)
            try:
                yield read, write
            finally:
                self.left = self.ended
                # The client has closed its end of `write`, and so the server's input ends.
                with anyio.move_on_after(self.limits.grace_seconds, shield=True):
                    await over.wait()
                tasks.cancel_scope.cancel()
                for stream in (incoming, read, write, outgoing):
                    stream.close()

    async def _receive(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        line = bytearray()
        with incoming:
            while chunk := await _read(self._child.stdout):
                *whole, rest = chunk.split(b"\n")
                for part in whole:
                    await _deliver(bytes(line + part), incoming)
                    line.clear()
                line += rest
                if len(line) > self.limits.line_bytes:
                    break  # nothing reads it any more; it is ended with the connection
            self.ended = True

    async def _send(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        # A pipe that nobody reads is that of a server that is gone, which `_receive` sees as well.
        with suppress(BrokenPipeError):
            async for each in outgoing:
                await _write(self._child.stdin, _line(each.message))
        # Only here, where nothing waits for the pipe any more.
        self._child.close_stdin()

    async def _keep_tail(self) -> None:
        while chunk := await _read(self._child.stderr):
            self.stderr = (self.stderr + chunk)[-STDERR_TAIL_BYTES:]

    async def _hear(self, over: anyio.Event) -> None:
        try:
            while not self._child.over:
                await anyio.wait_readable(self._child.status)
                for event in self._child.listen():
                    if isinstance(event, AgentEnded):
                        self.exit_code = event.exit_code
        except AgentError as error:
            self.refusal = error
        over.set()


async def _read(pipe: int) -> bytes:
    """Return what is there, or nothing at the end."""
    while True:
        await anyio.wait_readable(pipe)
        with suppress(BlockingIOError):
            return os.read(pipe, _CHUNK)


async def _write(pipe: int | None, data: bytes) -> None:
    unsent = memoryview(data)
    while unsent and pipe is not None:
        await anyio.wait_writable(pipe)
        with suppress(BlockingIOError):
            unsent = unsent[os.write(pipe, unsent) :]


def _line(message: JSONRPCMessage) -> bytes:
    # Not by pydantic, which refuses the lone surrogates that a model can write.
    plain = message.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(plain).encode("ascii") + b"\n"


async def _deliver(
    line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    message = _parse(line) or _parse(_without_surrogates(line))
    # Notifications are not needed, and the client logs those that it cannot read.
    if message is None or isinstance(message, JSONRPCNotification):
        return
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await incoming.send(SessionMessage(message))


def _parse(line: bytes) -> JSONRPCMessage | None:
    """Return the message, or None for a line that is none, which servers do print."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def _without_surrogates(line: bytes) -> bytes:
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


def _refusal(name: str, wire: _Wire, error: Exception) -> McpServerError:
    """Return what is to be said of a server that is not up, from what the client raised."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if wire.refusal is not None:
        return _not_started(name, wire.refusal)
    what = f"has not {wire.doing}"
    if isinstance(error, TimeoutError):
        what += f" within {wire.seconds:g} s"
    elif wire.left:
        how = "closed its output" if wire.exit_code is None else f"ended with code {wire.exit_code}"
        what = f"{how} before it had {wire.doing}"
    elif isinstance(error, MCPError):
        what += ": it answered with an error"
    elif isinstance(error, ValidationError | RuntimeError):
        what += ": its answer is no valid MCP"
    else:
        raise error
    detail = f"{error}\n{wire.stderr.decode('utf-8', 'replace')}".strip()
    return McpServerError(f"MCP server {name!r} {what}", remedy=_REMEDY, private_detail=detail)


def _not_started(name: str, error: AgentError) -> McpServerError:
    return McpServerError(
        f"MCP server {name!r} cannot be started", remedy=_REMEDY, private_detail=str(error)
    )
