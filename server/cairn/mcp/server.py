"""The MCP server: tools over the engine, for agents, over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from cairn import __version__
from cairn.engine.first_files import FirstFiles
from cairn.engine.methods import MCP
from cairn.engine.request import Tell
from cairn.errors import CairnError, InvalidRequestError
from cairn.mcp.connection import message_streams
from cairn.mcp.tools import INSTRUCTIONS, TOOLS, WORKSPACE, Tool, unknown, without_nulls
from cairn.mcp.workspaces import Workspaces

if TYPE_CHECKING:
    from cairn.engine.runner import Runner
    from cairn.protocol import DiscoverProgress

Context = ServerRequestContext[Any, Any]

_STAGES = 9
_OF_FILES = frozenset({"search", "discover", "related", "references", "fetchPage", "broadDiscovery"})
"""Methods that have nothing to answer before the first files are indexed."""


def build_server(
    runner_of: Callable[
        [ServerSession, types.CallToolRequestParams], Awaitable[Runner | types.InputRequiredResult]
    ],
    *,
    seconds: float | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
) -> Server[Any]:
    """A server with all tools.

    `runner_of` gives where to ask for a client, or what the client has to tell first; `seconds` is the time for an answer;
    `problems` is what `cairn_status` tells besides.
    """
    first_files = FirstFiles()

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed())

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, unknown(params.name))
        try:
            found = await runner_of(context.session, params)
            if isinstance(found, types.InputRequiredResult):
                return found
            data, texts = await _answer(found, tool, params, context, seconds, first_files)
        except InvalidRequestError as problem:
            return _failed(tool.remedy(problem, params.arguments or {}))
        except CairnError as problem:
            return _failed(str(problem))
        if tool.method.name == "status":
            texts = [*texts, *problems()]
        content: list[types.ContentBlock] = [types.TextContent(text=text) for text in texts]
        return types.CallToolResult(content=content, structured_content=tool.structured(data))

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
    first_files: FirstFiles,
) -> tuple[Any, list[str]]:
    """The tool's answer as data, the same as through every other front, and as text. Raises what `Runner.answer` raises."""
    arguments = without_nulls(params.arguments or {})
    workspace = arguments.pop(WORKSPACE, "")
    if not isinstance(workspace, str):
        raise InvalidRequestError(WORKSPACE, "expected a string, the URI, path or name of an open folder")
    telling: list[Future[None]] = []
    wants_progress = tool.method.streams and (context.meta or {}).get("progress_token") is not None
    tell = _progress(context.session, telling) if wants_progress else None
    try:
        if tool.method.name in _OF_FILES:
            await first_files.wait(runner, workspace)
        data = await runner.answer(
            tool.method.name, arguments, front=MCP, workspace=workspace, seconds=seconds, tell=tell
        )
    finally:
        await asyncio.gather(*map(asyncio.wrap_future, telling), return_exceptions=True)  # before the answer
    text = await runner.run(lambda engine: tool.text(engine, data, arguments), workspace=workspace)
    return data, text


def _progress(session: ServerSession, telling: list[Future[None]]) -> Tell:
    """Tells the client of each stage that ended; it is called on a thread of the engine."""
    loop = asyncio.get_running_loop()

    def tell(progress: DiscoverProgress) -> None:
        report = session.report_progress(len(telling) + 1, _STAGES, progress.stage)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to tell
            telling.append(asyncio.run_coroutine_threadsafe(report, loop))

    return tell


def _failed(text: str) -> types.CallToolResult:
    """A result that says what is wrong to the model, which can do better."""
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


@functools.cache
def _listed() -> list[types.Tool]:
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )
        for tool in TOOLS.values()
    ]


# --- one connection --------------------------------------------------------------------------------


async def serve_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, workspaces: Workspaces
) -> None:
    """Speak MCP with one client until it ends; the workspaces are closed then."""
    server = build_server(workspaces.runner, problems=lambda: workspaces.problems)

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


# --- HTTP ------------------------------------------------------------------------------------------


class McpApp:
    """MCP over streamable HTTP, as an ASGI application for one path. It serves only inside of `run()`, once.

    It keeps no sessions. A client that goes away without saying so, as most do, leaves nothing behind; a server that
    restarts is not noticed; and the newest revision of the protocol has no sessions anyway. What sessions are for, asking
    the client back, no tool needs: the folders are those of `cairn serve`. Closing a request cancels it; a notification
    that cancels does not, since nothing says whose it is.
    """

    def __init__(self, runner: Runner, *, seconds: float, max_body_bytes: int) -> None:
        """`runner` answers, within `seconds`. Mount it behind a guard of hosts, origins and tokens."""

        async def given(_: ServerSession, __: types.CallToolRequestParams) -> Runner:
            return runner

        self._sessions = StreamableHTTPSessionManager(
            build_server(given, seconds=seconds),
            stateless=True,
            # Whoever mounts this guards it: two lists of hosts would only come to differ.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=max_body_bytes,
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """Around the time in which requests are served: from the lifespan of the application that mounts this."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            # A stream for what the server has to tell by itself, which is nothing, or the end of a session.
            refused = PlainTextResponse("use POST\n", status_code=405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        await self._sessions.handle_request(scope, receive, send)
