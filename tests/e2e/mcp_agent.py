"""Clients of `cairn mcp`: an agent, and a process whose lines a test writes itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.harbour import MOOR_DIFF
from tests.serving import PATIENCE_SECONDS

QUESTION = "where are ships assigned to berths"
each_era = pytest.mark.parametrize("era", ["legacy", "auto"])
DATA: Any = {"cairn/structured": True}
"""The `_meta` of a call that asks for data instead of text."""


@asynccontextmanager
async def run_agent(
    *arguments: Path | str, era: str = "auto", cwd: Path | None = None, script: str = "", **options: Any
) -> AsyncIterator[Client]:
    """Run `cairn mcp`, or a script that calls it, and yield its client."""
    command = [*(("-c", script) if script else ("-m", "cairn")), "mcp", *map(str, arguments)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ), cwd=cwd)
    async with asyncio.timeout(2 * PATIENCE_SECONDS), Client(server, mode=era, **options) as client:
        yield client


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def call(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    """Call a tool that answers with text or an error."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    assert result.structured_content is None
    return result


async def call_for_text(client: Client, tool: str, **arguments: Any) -> str:
    result = await call(client, tool, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def call_for_data(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments, meta=DATA)
    assert not result.is_error, text_of(result)
    assert not result.content
    return result.structured_content


async def wait_for(
    client: Client, holds: Callable[[Any], bool], tool: str = "status", **arguments: Any
) -> Any:
    """Repeat the call until its data satisfies `holds`, and return the data."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        result = await client.call_tool(tool, arguments, meta=DATA)
        if not result.is_error and holds(result.structured_content):
            return result.structured_content
        assert time.monotonic() < deadline, f"timeout of {tool}; the last answer was {result}"
        await asyncio.sleep(0.05)


async def ready(client: Client) -> Any:
    return await wait_for(client, lambda status: status["state"] == "ready")


def roots_of(folders: list[Path]) -> Callable[[Any], Any]:
    """Return a callback with which a client lists the folders, as they are at each call, as its roots."""

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=each.as_uri()) for each in folders])  # type: ignore[arg-type]

    return roots


async def data_of_every_tool(client: Client) -> dict[str, Any]:
    """Call every tool, each stage of discovery with the results of earlier ones, and return the data."""
    found = {
        "search": await call_for_data(client, "search", query=QUESTION, limit=3),
        "discover": await call_for_data(client, "discover", query=QUESTION),
        "read": await call_for_data(client, "read", path="README.md"),
        "status": await call_for_data(client, "status"),
        "references": await call_for_data(client, "references", symbol="moor_ship"),
        "changes": await call_for_data(client, "changes", diff=MOOR_DIFF),
        "related": await call_for_data(client, "related", path="src/harbour/berths.py:4-12"),
    }

    async def stage(name: str, key: str, **arguments: Any) -> Any:
        found[name] = await call_for_data(client, name, **arguments)
        return found[name][key]

    chosen = await stage("filter_collections", "collections", query=QUESTION)
    scored = await stage("score_collections", "collections", query=QUESTION, collections=chosen)
    queries = await stage("expand_queries", "queries", query=QUESTION)
    broad = await stage("broad_discovery", "chunks", queries=queries, collections=scored)
    focus = await stage("semantic_focus", "chunks", collection=scored[0], queries=queries)
    hits = await stage("promote_readme", "chunks", hits=[*broad, *focus], query=QUESTION)
    bullets = await stage("compress_evidence", "bullets", chunks=hits, query=QUESTION)
    plan = await stage("build_answer_plan", "plan", bullets=bullets)
    await stage("render_prompt", "prompt", plan=plan, query=QUESTION)
    return found


async def happens(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE_SECONDS)


HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
"""The first message of a client of the legacy era."""


class Wire:
    """`cairn mcp` as a process whose lines a test writes and reads."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin = process.stdin
        self.stdout = process.stdout

    def send(self, **message: Any) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_line(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")

    async def receive(self) -> Any:
        return json.loads(await asyncio.wait_for(self.stdout.readline(), PATIENCE_SECONDS))

    async def initialize(self) -> None:
        self.send(**HELLO)
        await self.receive()
        self.send(method="notifications/initialized")

    async def end(self) -> int:
        """Wait for the end of the process, and return its exit code."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)


@asynccontextmanager
async def run_wire(folder: Path) -> AsyncIterator[Wire]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cairn", "mcp", str(folder), stdin=pipe, stdout=pipe, limit=2**24
    )
    try:
        yield Wire(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
