"""The MCP server: tools over the engine, for agents, over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from pathlib import Path
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
from cairn.agents.arguments import WORKSPACE, workspace_of
from cairn.agents.state import for_agents
from cairn.agents.tools import INSTRUCTIONS, STATUS, Tool, ToolAnswer, listed, tool_named
from cairn.engine.first_files import FirstFiles
from cairn.engine.methods import MCP
from cairn.engine.request import Tell
from cairn.errors import CairnError, InvalidRequestError
from cairn.mcp.stdio import stdio_streams
from cairn.mcp.workspaces import Workspaces
from cairn.startup.ending import ended, first_of, told_to_end
from cairn.startup.interpreter import keep_no_freed_memory, let_queries_in

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.runner import Runner
    from cairn.protocol import DiscoverProgress

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

_STAGES = 9
_OF_FILES = frozenset({"search", "discover", "read", "references", "related", "broad_discovery"})
"""Tools that have nothing to answer before the first files are indexed."""
_STRUCTURED_META = "cairn/structured"
"""What a call's `_meta` has, as true, to ask for data instead of text."""


def build_server(
    runner_of: Callable[
        [ServerSession, types.CallToolRequestParams], Awaitable[Runner | types.InputRequiredResult]
    ],
    *,
    seconds: float | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
    tools: Sequence[str] = (),
    structured: bool = False,
) -> Server[Any]:
    """A server with the tools of `cairn.agents`.

    `runner_of` gives where to ask for a client, or what the client has to tell first; `seconds` is the time for an answer;
    `problems` is what `status` tells besides. `tools` are those that clients are shown, as `listed` takes them; all can be
    called. Answers are data instead of text where they are `structured`, or where a call asks for that.

    Raises InvalidRequestError for the name of a tool that there is not.
    """
    first_files = FirstFiles()
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
            as_data = structured or _asked_for_data(context)
            answer = await _answer(found, tool, params, context, seconds, first_files, structured=as_data)
        except InvalidRequestError as problem:
            return _failed(str(problem))  # which repeats what the client wrote, and is not advice for people
        except CairnError as problem:
            return _failed(for_agents(str(problem)))
        texts = answer.texts
        if tool.name == STATUS and texts:
            texts = (*texts, *map(for_agents, problems()))
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


def _asked_for_data(context: Context) -> bool:
    """Whether the call's `_meta` asks for data. Where tools are listed with schemas of their data, clients want nothing else."""
    return dict(context.meta or {}).get(_STRUCTURED_META) is True


async def _answer(
    runner: Runner,
    tool: Tool,
    params: types.CallToolRequestParams,
    context: Context,
    seconds: float | None,
    first_files: FirstFiles,
    *,
    structured: bool,
) -> ToolAnswer:
    """The tool's answer. Raises what `Runner.work` and `Tool.answer` raise."""
    arguments = dict(params.arguments or {})
    workspace = workspace_of(arguments)
    arguments.pop(WORKSPACE, None)
    telling: list[Future[None]] = []
    wants_progress = tool.streams and (context.meta or {}).get("progress_token") is not None
    tell = _progress(context.session, telling) if wants_progress else None

    def answer(engine: Engine, cancelled: Callable[[], bool]) -> ToolAnswer:
        return tool.answer(
            engine, arguments, structured=structured, front=MCP, cancelled=cancelled, tell=tell
        )

    try:
        if tool.name in _OF_FILES:
            await first_files.wait(runner, workspace)
        return await runner.work(answer, workspace=workspace, seconds=seconds)
    finally:
        await asyncio.gather(*map(asyncio.wrap_future, telling), return_exceptions=True)  # before the answer


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


def _shown(tool: Tool, *, structured: bool) -> types.Tool:
    """The tool as clients are shown it; what its data looks like only where answers are data."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema if structured else None,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


# --- stdio -----------------------------------------------------------------------------------------


def serve_stdio(
    named: Sequence[Path], client: int, tools: Sequence[str] = (), *, structured: bool = False
) -> None:
    """Speak MCP over stdin and stdout until stdin ends, the process `client` that started this one is gone, or this one is
    told to end. `tools` and `structured` are those of `build_server`."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    let_queries_in()
    keep_no_freed_memory()
    asyncio.run(_serve(named, client, tools, structured=structured))


async def _serve(named: Sequence[Path], client: int, tools: Sequence[str], *, structured: bool) -> None:
    workspaces = Workspaces(named)
    server = build_server(
        workspaces.runner, problems=lambda: workspaces.problems, tools=tools, structured=structured
    )

    async def initialized(context: Context, _: types.NotificationParams) -> None:
        workspaces.begin(context.session)

    async def roots_changed(context: Context, _: types.NotificationParams) -> None:
        workspaces.roots_changed(context.session)

    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, roots_changed
    )
    with told_to_end() as told:
        try:
            async with stdio_streams() as (incoming, outgoing):
                speaking = server.run(incoming, outgoing, server.create_initialization_options())
                await first_of(speaking, told.wait(), _gone(client))
        finally:
            await workspaces.close()


async def _gone(client: int) -> None:
    await ended(client)
    logger.warning("the client (process %d) is gone; ending", client)


# --- HTTP ------------------------------------------------------------------------------------------


class McpApp:
    """MCP over streamable HTTP, as an ASGI application for one path. It serves only inside of `run()`, once.

    It keeps no sessions. A client that goes away without saying so, as most do, leaves nothing behind; a server that
    restarts is not noticed; and the newest revision of the protocol has no sessions anyway. What sessions are for, asking
    the client back, no tool needs: the folders are those of `cairn serve`. Closing a request cancels it; a notification
    that cancels does not, since nothing says whose it is.
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
        """`runner` answers, within `seconds`; `tools` and `structured` are those of `build_server`.

        Mount it behind a guard of hosts, origins and tokens.
        """

        async def given(_: ServerSession, __: types.CallToolRequestParams) -> Runner:
            return runner

        self._sessions = StreamableHTTPSessionManager(
            build_server(given, seconds=seconds, tools=tools, structured=structured),
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
