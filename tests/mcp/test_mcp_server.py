"""The MCP server with an engine in this process: errors, arguments, folders, progress and cancellation."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("mcp")

from hostile_traffic import ESCAPES, escaped
from in_process import Connect, SlowEngine
from mcp.shared.exceptions import MCPError
from tests.e2e.mcp_agent import (
    QUESTION,
    call,
    call_for_data,
    call_for_text,
    each_era,
    happens,
    text_of,
)
from tests.serving import PATIENCE_SECONDS

from cairn.engine.engine import Engine
from cairn.engine.startup_wait import Missing, StartupWait

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("search", {}, "query: is required"),
        ("search", {"query": "x", "limt": 3}, "Did you mean limit?"),
        ("search", {"query": "x", "workspace": "elsewhere"}, "is not open"),
        ("search", {"query": "x", "workspace": 3}, "expected a string"),
        ("references", {"symbol": "x", "direction": "up"}, "expected one of callers, callees"),
    ],
)
async def test_error_says_to_the_model_what_is_wrong(
    engine: Engine, connect: Connect, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    async with connect(engine) as client:
        result = await call(client, tool, **arguments)
        assert result.is_error
        assert problem in text_of(result)
        assert "Example: {" in text_of(result) or "workspace" in arguments


async def test_unknown_tool_is_an_error_of_the_protocol(engine: Engine, connect: Connect) -> None:
    async with connect(engine) as client:
        with pytest.raises(MCPError, match="did you mean search"):
            await client.call_tool("serch", {})


async def test_no_path_leads_out_of_the_workspace(engine: Engine, folder: Path, connect: Connect) -> None:
    async with connect(engine) as client:
        for path in (*ESCAPES, str(folder.parent / "secret.txt"), "link.txt"):
            refused = await call(client, "read", path=path)
            assert refused.is_error, path
            assert not escaped(refused.model_dump_json().encode())


async def test_null_argument_counts_as_absent(engine: Engine, connect: Connect) -> None:
    nothing = {"limit": None, "alpha": None, "filter": {"type": None}, "explain": None, "workspace": None}
    async with connect(engine) as client:
        absent = await call_for_text(client, "search", query=QUESTION)
        assert await call_for_text(client, "search", query=QUESTION, **nothing) == absent


async def test_search_covers_all_folders_or_the_named_one(
    engine: Engine, folder: Path, connect: Connect
) -> None:
    async with connect(engine) as client:

        async def paths(**arguments: Any) -> set[str]:
            found = await call_for_data(client, "search", query="kindle_lamp or moor_ship", **arguments)
            return {each["path"] for each in found["results"]}

        assert {"lamp.py", "src/harbour/berths.py"} <= await paths()
        assert await paths(workspace="lighthouse") == {"lamp.py"}
        assert await paths(workspace=folder.with_name("lighthouse").as_uri()) == {"lamp.py"}
        assert "lamp.py" not in await paths(workspace=str(folder))


async def test_first_search_in_a_new_folder_finds_its_files(
    workspace: Path, bare_data_dir: Path, connect: Connect
) -> None:
    engine = Engine()
    engine.add_folder(workspace)
    patient = partial(StartupWait, dict.fromkeys(Missing, PATIENCE_SECONDS))
    try:
        with mock.patch("cairn.mcp.mcp_server.StartupWait", patient):
            async with connect(engine) as client:
                assert (await call_for_data(client, "search", query="moor_ship"))["results"]
    finally:
        engine.stop()


@each_era
async def test_cancelled_call_ends(slow: SlowEngine, connect: Connect, era: str) -> None:
    async with connect(slow, mode=era) as client:
        calling = asyncio.create_task(client.call_tool("search", {"query": "x"}))
        await happens(slow.began)
        calling.cancel()
        await happens(slow.cancelled)
        await asyncio.gather(calling, return_exceptions=True)
