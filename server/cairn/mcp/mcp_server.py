"""The MCP server: the engine's tools for agents, over a private socket or streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from cairn import __version__
from cairn.agents.index_state import without_index_advice
from cairn.agents.shown_lines import ShownLines
from cairn.agents.tool_call import WORKSPACE, workspace_of
from cairn.agents.tools import INSTRUCTIONS, STATUS, Tool, ToolAnswer, listed, tool_named
from cairn.engine.methods import MCP, Tell
from cairn.engine.startup_wait import StartupWait
from cairn.errors import CairnError, InvalidRequestError
from cairn.mcp.workspaces import Workspaces

if TYPE_CHECKING:
    from cairn.engine.request import Request
    from cairn.engine.runner import Runner
    from cairn.protocol import DiscoverProgress

Context = ServerRequestContext[Any, Any]
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_STAGES = 9
_NEED_FILES = frozenset({"search", "discover", "read", "references", "changes", "related", "broad_discovery"})
"""Tools that wait until the first files are indexed."""
_LAST_WRITE_SECONDS = 1.0
"""The timeout for sending the last messages to a client that does not read."""
_STRUCTURED_META = "cairn/structured"
"""A true value of this key in a call's `_meta` requests data instead of text."""


def build_server(
    runner_of: Callable[
        [ServerSession, types.CallToolRequestParams], Awaitable[Runner | types.InputRequiredResult]
    ],
    *,
    seconds: float | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
    tools: Sequence[str] = (),
    structured: bool = False,
    session: ShownLines | None = None,
) -> Server[Any]:
    """Return a server with the tools of `cairn.agents`.

    `runner_of` returns the runner for a client, or a request for input that the client has to send first.
    `seconds` is the timeout of an answer. `status` appends the lines of `problems`. `tools` are the names of
    the listed tools, as for `listed`; all tools can be called. Answers are data instead of text if
    `structured` is set or the call requests it. `session` has the lines that the only client was shown; None
    if the server has several clients. Raises InvalidRequestError for an unknown tool.
    """
    first_files = StartupWait()
    shown = [_shown(tool, structured=structured) for tool in listed(tools)]

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=shown)

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            tool = tool_named(params.name)
        except InvalidRequestError as problem:
            raise MCPError(types.INVALID_PARAMS, str(problem)) from None
        try:
            found = await runner_of(context.session, params)
            if isinstance(found, types.InputRequiredResult):
                return found
            # If tools are listed with schemas of their data, clients accept only data.
            as_data = structured or dict(context.meta or {}).get(_STRUCTURED_META) is True
            answer = await _answer(
                found, tool, params, context, seconds, first_files, session, structured=as_data
            )
        except InvalidRequestError as problem:
            # The error quotes the client's words, which `without_index_advice` must not change.
            return _failed(str(problem))
        except CairnError as problem:
            return _failed(without_index_advice(str(problem)))
        texts = answer.texts
        if tool.name == STATUS and texts:
            texts = (*texts, *map(without_index_advice, problems()))
        content: list[types.ContentBlock] = [types.TextContent(text=text) for text in texts]
        return types.CallToolResult(content=content, structured_content=answer.data)

    return Server(
        "cairn",
        version=__version__,
        title="Cairn",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _answer(
    runner: Runner,
    tool: Tool,
    params: types.CallToolRequestParams,
    context: Context,
    seconds: float | None,
    first_files: StartupWait,
    session: ShownLines | None,
    *,
    structured: bool,
) -> ToolAnswer:
    """Return the tool's answer. Raises the errors of `Runner.work` and `Tool.answer`."""
    arguments = dict(params.arguments or {})
    workspace = workspace_of(arguments)
    arguments.pop(WORKSPACE, None)
    reports: list[Future[None]] = []
    wants_progress = tool.streams and (context.meta or {}).get("progress_token") is not None
    tell = _progress(context.session, reports) if wants_progress else None

    def answer(request: Request) -> ToolAnswer:
        return tool.answer(request, arguments, structured=structured, front=MCP, tell=tell, session=session)

    try:
        if tool.name in _NEED_FILES:
            await first_files.wait(runner, workspace)
        return await runner.work(answer, workspace=workspace, seconds=seconds)
    finally:
        # All reports must be sent before the answer.
        await asyncio.gather(*map(asyncio.wrap_future, reports), return_exceptions=True)


def _progress(session: ServerSession, reports: list[Future[None]]) -> Tell:
    """Return a callback that reports each completed stage to the client. A thread of the engine calls it."""
    loop = asyncio.get_running_loop()

    def tell(progress: DiscoverProgress) -> None:
        report = session.report_progress(len(reports) + 1, _STAGES, progress.stage)
        with suppress(RuntimeError):  # The loop has ended.
            reports.append(asyncio.run_coroutine_threadsafe(report, loop))

    return tell


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _shown(tool: Tool, *, structured: bool) -> types.Tool:
    """Describe the tool to clients. The schema of its data is included only if answers are data."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema if structured else None,
        annotations=types.ToolAnnotations(read_only_hint=True),
    )


# --- one connection --------------------------------------------------------------------------------


async def serve_connection(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    workspaces: Workspaces,
    tools: Sequence[str] = (),
    *,
    structured: bool = False,
) -> None:
    """Speak MCP with one client until it disconnects, then close `workspaces`.

    `tools` and `structured` are as for `build_server`.
    """
    server = build_server(
        workspaces.runner,
        problems=lambda: workspaces.problems,
        tools=tools,
        structured=structured,
        session=ShownLines(),
    )

    async def initialized(context: Context, _: types.NotificationParams) -> None:
        workspaces.begin(context.session)

    async def roots_changed(context: Context, _: types.NotificationParams) -> None:
        workspaces.roots_changed(context.session)

    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, roots_changed
    )
    try:
        async with message_streams(reader, writer) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await workspaces.close()


@asynccontextmanager
async def message_streams(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield two streams: of messages from the reader, and for messages to the writer, one a line.

    The SDK has such a transport only for stdio, and that one does not answer malformed lines. A line that is
    longer than the reader's limit ends the connection; the relay passes on none.
    """
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    errors_in = write_in.clone()

    async def read() -> None:
        with suppress(OSError, ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in reader:
                message = message_of(line)
                if isinstance(message, types.JSONRPCError):
                    await errors_in.send(SessionMessage(message))
                elif message is not None:
                    await read_in.send(SessionMessage(message))
        read_in.close()
        errors_in.close()

    async def write() -> None:
        async with write_out:
            async for message in write_out:
                if _is_unanswered(message.message):
                    continue
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                writer.write(data + b"\n")
                await writer.drain()

    reading, writing = asyncio.create_task(read()), asyncio.create_task(write())
    writing.add_done_callback(lambda _: read_in.close())  # The client has disconnected.
    try:
        yield read_out, write_in
    finally:
        write_in.close()
        errors_in.close()
        read_out.close()
        with suppress(OSError):
            await asyncio.wait([writing], timeout=_LAST_WRITE_SECONDS)
        for task in (reading, writing):
            task.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)


def _is_unanswered(message: types.JSONRPCMessage) -> bool:
    """Whether the SDK answers a request with an error because this engine ends. The client must not get it,
    because the relay sends all unanswered requests to the next engine."""
    return isinstance(message, types.JSONRPCError) and message.error.code == types.CONNECTION_CLOSED


def message_of(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message of a line, the error to answer a malformed line with, or None to ignore it."""
    if not line.strip():
        return None
    try:
        data = from_json(line)
    except ValueError as problem:
        return _error(None, types.PARSE_ERROR, f"that is not JSON: {problem}")
    if isinstance(data, list):
        return _error(None, types.INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(data, dict):
        return _error(None, types.INVALID_REQUEST, "a message is a JSON object")
    request_id = data.get("id")
    known = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if "method" in data and "id" in data and not known:
        return _error(None, types.INVALID_REQUEST, "an id is a string or a whole number")
    try:
        return types.jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError:
        is_answer = "method" not in data and ("result" in data or "error" in data)
        if is_answer or ("method" in data and "id" not in data):
            return None  # The client expects no response to an answer or a notification.
        reason = 'not JSON-RPC: expected "jsonrpc": "2.0", "method" and, if any, "params" as an object'
        return _error(request_id if known else None, types.INVALID_REQUEST, reason)


def _error(request_id: int | str | None, code: int, message: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


# --- HTTP ------------------------------------------------------------------------------------------


class McpApp:
    """MCP over streamable HTTP, as an ASGI application for one path. It serves within `run()`, once.

    There are no sessions: most clients disconnect without ending theirs, a restart of the server goes
    unnoticed, and the newest revision of the protocol has none. Only requests of tools to the client would
    need a session, and no tool sends any; the folders are those of `cairn serve`. A client cancels a request
    by closing it. A cancellation notification has no effect, since without sessions its sender is unknown.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        seconds: float,
        max_body_bytes: int,
        tools: Sequence[str] = (),
        structured: bool = False,
    ) -> None:
        """Create an application. Mount it behind a guard that checks hosts, origins and tokens.

        `runner` answers within `seconds`. `tools` and `structured` are as for `build_server`.
        """

        async def runner_of(_: ServerSession, __: types.CallToolRequestParams) -> Runner:
            return runner

        self._sessions = StreamableHTTPSessionManager(
            build_server(runner_of, seconds=seconds, tools=tools, structured=structured),
            stateless=True,
            # `cairn.http.guard` checks the host.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=max_body_bytes,
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return a context within which requests are served."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            # GET would receive requests of the server and DELETE would end a session. There are neither.
            refused = PlainTextResponse("use POST\n", status_code=405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        await self._sessions.handle_request(scope, receive, send)
