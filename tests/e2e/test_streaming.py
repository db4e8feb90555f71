"""What `cairn/discover` tells while it runs, and how it ends before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from cairn.lsp.requests import STAGES_IN_WORDS

from .conftest import PATIENCE_SECONDS, Daemon, plain

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

QUESTION = {"query": "what is harbour"}
NO_MODEL = {"embedding": {"enabled": False}}


def listen(cairn: Daemon) -> list[tuple[Any, Any]]:
    """Everything that is told by `$/progress` from now on: token and value."""
    told: list[tuple[Any, Any]] = []
    features = cairn.client.protocol.fm.features
    features.pop(types.PROGRESS, None)

    @cairn.client.feature(types.PROGRESS)
    def hear(params: types.ProgressParams) -> None:
        told.append((params.token, plain(params.value)))

    return told


async def test_the_answer_is_told_while_it_grows(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        told = listen(cairn)
        answer = await cairn.request("cairn/discover", {**QUESTION, "partialResultToken": "part"})
        assert {token for token, _ in told} == {"part"}
        values = [value for _, value in told]
        assert [value["stage"] for value in values] == list(answer["metrics"]["stages"])
        changed = {value["stage"]: value.keys() - {"stage", "metrics"} for value in values}
        assert changed == {
            "filter_collections": set(),
            "score_collections": set(),
            "expand_queries_baseline": set(),
            "broad_discovery": {"chunks"},
            "semantic_focus": {"chunks"},
            "promote_readme": {"chunks"},
            "compress_evidence": {"bullets", "excerpts"},
            "build_answer_plan": {"plan"},
            "render_llm_prompt": {"answerPrompt"},
        }
        assert [len(value["metrics"]["stages"]) for value in values] == list(range(1, 10))
        # What was told last is the answer, which is complete all the same.
        known: dict[str, Any] = {}
        for value in values:
            known |= value
        parts = ("answerPrompt", "plan", "bullets", "chunks", "excerpts", "metrics")
        assert {part: known[part] for part in parts} == {part: answer[part] for part in parts}
        assert answer["answerPrompt"]
        assert known["chunks"] != next(value["chunks"] for value in values if "chunks" in value)


async def test_a_kept_answer_is_told_at_once_without_stages(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        first = await cairn.request("cairn/discover", QUESTION)
        told = listen(cairn)
        tokens = {"partialResultToken": "part", "workDoneToken": "work"}
        again = await cairn.request("cairn/discover", {**QUESTION, **tokens})
        assert set(again.pop("metrics")["stages"]) == {"cached"}
        assert again == {part: value for part, value in first.items() if part != "metrics"}
        assert [(token, value["kind"]) for token, value in told] == [("work", "begin"), ("work", "end")]


async def test_a_part_that_did_not_change_is_not_told_again(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        told = listen(cairn)
        where = {"query": "where is moor_ship", "config": {"focusTopNCollections": 0}}
        await cairn.request("cairn/discover", {**where, "partialResultToken": 7})
        assert {token for token, _ in told} == {7}
        values = {value["stage"]: value for _, value in told}
        # A question about a place promotes no README: the chunks only come in order of their scores.
        assert "chunks" in values["broad_discovery"]
        assert "chunks" not in values["promote_readme"]
        told.clear()
        await cairn.request("cairn/discover", {"query": "?", "partialResultToken": "nothing"})
        assert all(value.keys() == {"stage", "metrics"} for _, value in told[:-1])
        assert len(told) == 9


async def test_work_done_is_told_in_words_from_begin_to_end(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace) as cairn:
        await cairn.ready()
        told = listen(cairn)
        answer = await cairn.request("cairn/discover", {**QUESTION, "workDoneToken": "work"})
        assert list(STAGES_IN_WORDS) == list(answer["metrics"]["stages"])
        assert {token for token, _ in told} == {"work"}
        begin, *reports, end = (value for _, value in told)
        assert (begin["kind"], begin["title"], begin["percentage"]) == ("begin", "Cairn", 0)
        assert {report["kind"] for report in reports} == {"report"}
        assert [begin["message"], *(report["message"] for report in reports)] == list(
            STAGES_IN_WORDS.values()
        )
        assert [report["percentage"] for report in reports] == [11, 22, 33, 44, 55, 66, 77, 88]
        assert end["kind"] == "end"
        # A request that fails ends its progress, too.
        told.clear()
        with pytest.raises(JsonRpcInvalidParams):
            await cairn.request("cairn/discover", {"query": 7, "workDoneToken": "bad"})
        assert [value["kind"] for _, value in told] == ["begin", "end"]


async def test_nobody_is_told_who_did_not_ask(daemon: Start, workspace: Path) -> None:
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        told = listen(cairn)
        await cairn.request("cairn/discover", QUESTION)
        tokens = {"workDoneToken": 1, "partialResultToken": "x"}
        await cairn.search("moor_ship", **tokens)
        await cairn.request("cairn/expandQueries", {**QUESTION, **tokens})
        assert told == []
        for name in tokens:
            for token in (1.5, True, ["x"], {"x": 1}):
                with pytest.raises(
                    JsonRpcInvalidParams, match=f"{name}: expected a string or a whole number"
                ):
                    await cairn.request("cairn/discover", {**QUESTION, name: token})
            await cairn.request("cairn/discover", {**QUESTION, name: None})
        assert told == []


async def test_a_cancelled_request_tells_no_more_and_the_next_is_answered(
    daemon: Start, workspace: Path
) -> None:
    for part in range(150):
        words = " ".join(f"ship berth tide pilot word{part}x{n}." for n in range(60))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    async with daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.until(lambda status: status["state"] == "degraded")
        told = listen(cairn)
        first_told = asyncio.Event()
        hear = cairn.client.protocol.fm.features[types.PROGRESS]

        def cancel_at_first(params: types.ProgressParams) -> None:
            hear(params)
            if not first_told.is_set():
                first_told.set()
                cairn.client.cancel_request(types.CancelParams(id="slow"))

        cairn.client.protocol.fm.features[types.PROGRESS] = cancel_at_first
        question = {
            "query": "which ship has which berth and pilot at what tide",
            "partialResultToken": "part",
            "workDoneToken": "work",
        }
        sending = cairn.client.protocol.send_request_async("cairn/discover", question, msg_id="slow")
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(sending, PATIENCE_SECONDS)
        heard = len(told)
        # Answered by a thread that is free, after which the cancelled one could have told much more.
        for _ in range(5):
            assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"
            await cairn.request("cairn/discover", QUESTION)
        assert len(told) == heard
        assert "end" not in [value.get("kind") for _, value in told]
        assert "render_llm_prompt" not in [value.get("stage") for _, value in told]
