"""Discoveries that ask for what cannot be: each front refuses them by name, or gives a smaller answer that says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

pytest.importorskip("mcp")

import httpx2 as httpx
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.serving import Served, serving

from .conftest import Daemon
from .test_cli import cairn
from .test_mcp import text_of
from .test_serve import is_settled, ready

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

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


async def test_lsp_and_the_command_line_name_what_is_impossible(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]], workspace: Path
) -> None:
    async with daemon(workspace) as editor:
        await editor.until(is_settled)
        for params, field, problem in IMPOSSIBLE:
            with pytest.raises(JsonRpcInvalidParams) as refused:
                await editor.request("cairn/discover", params)
            assert f"{field}: {problem}" in str(refused.value)
    for params, field, problem in IMPOSSIBLE:
        code = (
            1 if field.startswith("config.") else 2
        )  # the params themselves are looked at before anything is opened
        call = ("call", "discover", json.dumps(params))
        said = await asyncio.to_thread(cairn, *call, code=code, cwd=workspace)
        assert f"{field}: {problem}" in said


async def test_rest_and_mcp_name_what_is_impossible(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        await asyncio.to_thread(ready, served)
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


async def test_the_beginning_of_a_long_question_is_asked_and_that_is_said(workspace: Path) -> None:
    def check(served: Served) -> None:
        ready(served)
        for style in ("markdown", "plain", "json"):
            params = {"query": LONG, "format": style, "config": {"render": {"maxPromptTokens": 400}}}
            answer = served.call("discover", params)
            assert answer["verdict"]["note"] == "Only the first 10,000 of 105,000 characters were used."
            assert "berths.py" in answer["answerPrompt"]
            assert answer["metrics"]["finalPromptTokens"] <= 400
            if style == "json":
                assert json.loads(answer["answerPrompt"])["question"].endswith("…")
        least = served.call("discover", {"query": LONG, "config": {"render": {"maxPromptTokens": 100}}})
        assert least["answerPrompt"]

    with serving(str(workspace)) as served:
        await asyncio.to_thread(check, served)


async def test_evidence_whose_files_are_gone_is_not_answered_from(workspace: Path) -> None:
    """The index is told of nothing: the files vanish between finding and quoting."""
    (workspace / ".cairn.toml").write_text("[index]\nwatch = false\n")

    def check(served: Served) -> None:
        ready(served)
        assert served.call("discover", {"query": QUESTION})["excerpts"]
        for file in (*workspace.rglob("*.py"), *workspace.rglob("*.md")):
            file.unlink()
        answer = served.call("discover", {"query": QUESTION})
        assert (answer["excerpts"], answer["bullets"], answer["verdict"]["action"]) == ([], [], "noMatch")
        assert "Do not answer it" in answer["answerPrompt"]

    with serving(str(workspace)) as served:
        await asyncio.to_thread(check, served)
