"""Without a model everything works on keywords, and says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from .conftest import Daemon

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]


async def test_a_model_that_cannot_be_loaded_is_done_without(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]],
    workspace: Path,
    bare_data_dir: Path,
    real_models: Path,
) -> None:
    shutil.copytree(real_models, bare_data_dir / "models")
    for graph in (bare_data_dir / "models").glob("*/model.onnx"):
        graph.write_bytes(graph.read_bytes()[:1000])
    async with daemon(workspace) as cairn:
        status = await cairn.until(lambda answer: answer["state"] == "degraded")
        assert "cairn model install" in status["lastError"]
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["index"]["complete"] is True


async def test_keywords_alone_answer_and_the_status_names_the_remedy(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]], workspace: Path
) -> None:
    async with daemon(workspace) as cairn:
        status = await cairn.until(lambda answer: answer["state"] == "degraded")
        assert (status["phase"], status["model"], status["embedded"]) == (2, None, 0)
        assert "cairn model install" in status["lastError"]
        answer = await cairn.search("where are ships assigned to berths")
        assert answer["results"][0]["path"] == "src/harbour/schedule.py"
        assert answer["results"][0]["source"] == "keyword"
        assert answer["index"]["complete"] is True
        assert (await cairn.request("cairn/discover", {"query": "how are ships assigned to berths"}))[
            "bullets"
        ]


async def test_switched_off_it_says_so_and_indexes_nothing(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]], workspace: Path
) -> None:
    async with daemon(workspace, options={"retrieval": {"enabled": False}}) as cairn:
        status = await cairn.request("cairn/status")
        assert (status["state"], status["searchable"]) == ("disabled", False)
        assert (await cairn.search("moor_ship"))["results"] == []
