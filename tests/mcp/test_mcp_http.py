"""MCP over streamable HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("mcp")

import httpx2 as httpx
import mcp_types as types
import uvicorn
from in_process import SlowEngine
from jsonschema import Draft202012Validator
from mcp.client.client import Client
from starlette.applications import Starlette
from starlette.routing import Route
from tests.e2e.mcp_agent import HELLO, data_of_every_tool, each_era, happens, text_of
from tests.serving import PATIENCE_SECONDS

from cairn.agents.tools import TOOLS
from cairn.engine.engine import Engine
from cairn.engine.runner import Runner
from cairn.mcp.mcp_server import McpApp

pytestmark = pytest.mark.asyncio

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def served(engine: Any, **options: Any) -> AsyncIterator[str]:
    """Serve `engine` over HTTP, and yield its URL."""
    runner = Runner(lambda: engine)
    app = McpApp(runner, **{"seconds": None, "max_body_bytes": 4_000_000, **options})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.run():
            yield

    outer = Starlette(routes=[Route("/mcp", endpoint=app)], lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(outer, port=0, log_level="error"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            assert not serving.done()
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with asyncio.timeout(2 * PATIENCE_SECONDS):
            yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await serving
        runner.close()


@each_era
async def test_every_tool_answers_over_http_and_its_answer_fits_its_schema(engine: Engine, era: str) -> None:
    async with served(engine) as url, Client(url, mode=era) as client:
        found = await data_of_every_tool(client)
        for name, data in found.items():
            Draft202012Validator(TOOLS[name].output_schema).validate(data)
        assert found["search"]["results"][0]["path"] == "src/harbour/schedule.py"


async def test_clients_that_leave_silently_leave_no_session_and_no_task(engine: Engine) -> None:
    async with served(engine) as url, httpx.AsyncClient(headers=JSON, timeout=PATIENCE_SECONDS) as http:

        async def visit(times: int) -> None:
            for _ in range(times):
                response = await http.post(url, json=HELLO)
                assert response.status_code == 200
                assert "mcp-session-id" not in response.headers

        await visit(20)
        tasks = len(asyncio.all_tasks())
        await visit(100)
        assert len(asyncio.all_tasks()) <= tasks + 2


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
async def test_other_methods_than_post_are_refused(engine: Engine, method: str) -> None:
    async with served(engine) as url, httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
        response = await http.request(method, url, headers={"Accept": "text/event-stream"})
        assert response.status_code == 405
        assert response.headers["allow"] == "POST"


async def test_a_body_that_is_too_large_or_not_a_message_is_refused(engine: Engine) -> None:
    async with (
        served(engine, max_body_bytes=1000) as url,
        httpx.AsyncClient(headers=JSON, timeout=PATIENCE_SECONDS) as http,
    ):
        assert (await http.post(url, content=b"{" * 2000)).status_code == 413
        assert (await http.post(url, content=b"{")).status_code == 400
        assert (await http.post(url, content=b"[]")).status_code == 400
        assert (await http.post(url, json=HELLO)).status_code == 200


async def test_a_call_that_its_client_cancels_ends(slow: SlowEngine) -> None:
    async with served(slow) as url, Client(url) as client:
        await assert_cancelled(slow, client.call_tool("search", {"query": "x"}))


async def test_a_call_whose_client_hangs_up_ends(slow: SlowEngine) -> None:
    call = {"name": "search", "arguments": {"query": "x"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with served(slow) as url, httpx.AsyncClient(headers=JSON, timeout=PATIENCE_SECONDS) as http:
        await assert_cancelled(slow, http.post(url, json=request))


async def assert_cancelled(slow: SlowEngine, calling: Coroutine[Any, Any, Any]) -> None:
    """Cancel the client's call while the engine works, and wait until the engine is cancelled, too."""
    task = asyncio.create_task(calling)
    await happens(slow.began)
    task.cancel()
    await happens(slow.cancelled)
    await asyncio.gather(task, return_exceptions=True)


async def test_a_call_that_takes_too_long_ends_with_an_error(slow: SlowEngine) -> None:
    async with served(slow, seconds=0.05) as url, Client(url) as client:
        result = await client.call_tool("search", {"query": "x"})
        assert isinstance(result, types.CallToolResult)
        assert result.is_error
        assert "took more than 0.05 seconds" in text_of(result)
        await happens(slow.cancelled)
