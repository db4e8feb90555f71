"""Impossible discoveries: each front refuses them by name, or gives a smaller answer that says so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

pytest.importorskip("mcp")

import httpx2 as httpx
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.serving import Served, serving, wait_for

from .command_line import run_cairn_beside
from .daemon import Daemon, is_settled
from .mcp_agent import text_of

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

QUESTION = "how is a ship moored at a berth"
LONG = "how is a ship moored " * 5_000


def with_budget(tokens: Any) -> dict[str, Any]:
    return {"query": QUESTION, "config": {"render": {"maxPromptTokens": tokens}}}


IMPOSSIBLE: tuple[tuple[dict[str, Any], str, str], ...] = (
    (with_budget(0), "config.render.maxPromptTokens", "expected 100 to 1,000,000, got 0"),
    (with_budget(-1), "config.render.maxPromptTokens", "expected 100 to 1,000,000, got -1"),
    (with_budget(10_000_000), "config.render.maxPromptTokens", "expected 100 to 1,000,000, got 10000000"),
    ({"query": ""}, "query", "is empty; ask a question or name a symbol"),
    ({"query": " \n\t"}, "query", "is empty; ask a question or name a symbol"),
    ({"query": QUESTION, "config": [4000]}, "config", "expected an object, got [4000]"),
)


async def test_lsp_and_the_command_line_name_an_impossible_param(harbour: Daemon) -> None:
    for params, field, problem in IMPOSSIBLE:
        with pytest.raises(JsonRpcInvalidParams) as refused:
            await harbour.request("cairn/discover", params)
        assert f"{field}: {problem}" in str(refused.value)
        # The command line checks the params themselves before it opens anything.
        call, code = ("call", "discover", json.dumps(params)), 1 if field.startswith("config.") else 2
        done = await run_cairn_beside(*call, code=code, cwd=harbour.root)
        assert f"{field}: {problem}" in done.stderr


async def test_rest_and_mcp_name_an_impossible_param(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(served.addresses["mcp"], http_client=http)) as agent,
    ):
        for params, field, problem in IMPOSSIBLE:
            answer = await asyncio.to_thread(served.ask, "/api/v1/discover", params)
            error = answer.json["error"]
            assert (answer.status, error["code"], error["field"]) == (400, "invalidParams", field)
            assert problem in error["message"]
            refused = await agent.call_tool("cairn_discover", params)
            assert refused.is_error
            assert problem in text_of(refused)


async def test_the_beginning_of_a_long_question_is_answered(served: Served) -> None:
    def discover(budget: int, style: str = "markdown") -> Any:
        config = {"render": {"maxPromptTokens": budget}}
        return served.call("discover", {"query": LONG, "format": style, "config": config})

    for style in ("markdown", "plain", "json"):
        answer = await asyncio.to_thread(discover, 400, style)
        assert answer["verdict"]["note"] == "Only the first 10,000 of 105,000 characters were used."
        assert "berths.py" in answer["answerPrompt"]
        assert answer["metrics"]["finalPromptTokens"] <= 400
        if style == "json":
            assert json.loads(answer["answerPrompt"])["question"].endswith("…")
    assert (await asyncio.to_thread(discover, 100))["answerPrompt"]


async def test_discover_cites_no_file_that_vanished_after_the_search(workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text("[index]\nwatch = false\n")

    def check(served: Served) -> None:
        wait_for(lambda: is_settled(served.call("status", {})))
        assert served.call("discover", {"query": QUESTION})["excerpts"]
        for file in (*workspace.rglob("*.py"), *workspace.rglob("*.md")):
            file.unlink()
        answer = served.call("discover", {"query": QUESTION})
        assert (answer["excerpts"], answer["bullets"], answer["verdict"]["action"]) == ([], [], "noMatch")
        assert "Do not answer it" in answer["answerPrompt"]

    with serving(str(workspace)) as served:
        await asyncio.to_thread(check, served)
