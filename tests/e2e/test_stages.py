"""The nine stages of discovery, each a request of its own, and all of them in a row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from .conftest import Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("model_data_dir")]

QUESTIONS = (
    "how are ships assigned to berths",
    "what is harbour?",
    "O que é um berth",
    "moor_ship",
    "the thing",
)


async def chained(cairn: Daemon, query: str) -> dict[str, Any]:
    """What all nine stages give, each called with what those before it returned, by name of the stage."""

    async def stage(name: str, **params: Any) -> Any:
        answers[name] = await cairn.request(f"cairn/{name}", params)
        return answers[name]

    answers: dict[str, Any] = {}
    collections = (await stage("filterCollections", query=query))["collections"]
    scored = (await stage("scoreCollections", query=query, collections=collections))["collections"]
    queries = (await stage("expandQueries", query=query))["queries"]
    broad = (await stage("broadDiscovery", queries=queries, collections=collections))["chunks"]
    focused = [
        chunk
        for collection in scored[:3]
        for chunk in (await stage("semanticFocus", collection=collection, queries=queries))["chunks"]
    ]
    promoted = (await stage("promoteReadme", hits=[*broad, *focused], query=query))["chunks"]
    bullets = (await stage("compressEvidence", chunks=promoted, query=query))["bullets"]
    plan = (await stage("buildAnswerPlan", bullets=bullets))["plan"]
    await stage("renderPrompt", plan=plan, bullets=bullets, query=query)
    return answers


def rounded(bullets: Any) -> Any:
    """Bullets with scores as `cairn/discover` shows them."""
    return [{**bullet, "score": round(bullet["score"], 4)} for bullet in bullets]


@pytest.mark.parametrize("query", QUESTIONS)
async def test_the_stages_in_a_row_give_what_discover_gives(
    daemon: Start, workspace: Path, query: str
) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        whole = await cairn.request("cairn/discover", {"query": query})
        parts = await chained(cairn, query)
        assert rounded(parts["compressEvidence"]["bullets"]) == whole["bullets"]
        plan = parts["buildAnswerPlan"]["plan"]
        sections = [{**section, "bullets": rounded(section["bullets"])} for section in plan["sections"]]
        assert {**plan, "sections": sections} == whole["plan"]
        prompt = parts["renderPrompt"]
        assert prompt["prompt"] == whole["answerPrompt"]
        assert prompt["tokens"] == whole["metrics"]["finalPromptTokens"]
        assert bool(whole["bullets"]) is (query != "the thing")
        places = [
            (chunk["metadata"]["filePath"], *chunk["metadata"]["lineRange"])
            for chunk in parts["promoteReadme"]["chunks"]
        ]
        shown = [
            (chunk["path"], chunk["range"]["start"]["line"], chunk["range"]["end"]["line"])
            for chunk in whole["chunks"]
        ]
        assert places == shown
