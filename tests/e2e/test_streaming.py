"""The notifications that `cairn/discover` sends while it runs, and what a cancellation does to them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from cairn.lsp.own_requests import STAGES_IN_WORDS
from tests.serving import PATIENCE_SECONDS

from .daemon import NO_MODEL, Daemon, plain, run_daemon
from .written_files import SHIP_QUESTION, write_ship_notes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]


def collect_progress(cairn: Daemon) -> list[tuple[Any, Any]]:
    """Return a list to which each later `$/progress` notification appends its token and its value."""
    progress: list[tuple[Any, Any]] = []
    cairn.client.protocol.fm.features.pop(types.PROGRESS, None)

    @cairn.client.feature(types.PROGRESS)
    def append(params: types.ProgressParams) -> None:
        progress.append((params.token, plain(params.value)))

    return progress


async def test_partial_results_add_up_to_the_answer(harbour: Daemon) -> None:
    progress = collect_progress(harbour)
    answer = await harbour.discover("what is harbour", partialResultToken="part")
    assert {token for token, _ in progress} == {"part"}
    values = [value for _, value in progress]
    assert [value["stage"] for value in values] == list(answer["metrics"]["stages"])
    changed = {value["stage"]: value.keys() - {"stage", "metrics"} for value in values}
    assert changed == {
        "filter_collections": set(),
        "score_collections": set(),
        "expand_queries_baseline": set(),
        "broad_discovery": {"chunks"},
        "semantic_focus": {"chunks"},
        "promote_readme": {"chunks"},
        "compress_evidence": {"bullets", "excerpts", "elsewhere"},
        "build_answer_plan": {"plan"},
        "render_llm_prompt": {"answerPrompt"},
    }
    assert [len(value["metrics"]["stages"]) for value in values] == list(range(1, 10))
    latest: dict[str, Any] = {}
    for value in values:
        latest |= value
    parts = ("answerPrompt", "plan", "bullets", "chunks", "excerpts", "elsewhere", "metrics")
    assert {part: latest[part] for part in parts} == {part: answer[part] for part in parts}
    assert answer["answerPrompt"]
    assert latest["chunks"] != next(value["chunks"] for value in values if "chunks" in value)


async def test_a_cached_answer_sends_no_partial_results(harbour: Daemon) -> None:
    first = await harbour.discover("what is a berth")
    progress = collect_progress(harbour)
    again = await harbour.discover("what is a berth", partialResultToken="part", workDoneToken="work")
    assert set(again.pop("metrics")["stages"]) == {"cached"}
    assert again == {part: value for part, value in first.items() if part != "metrics"}
    assert [(token, value["kind"]) for token, value in progress] == [("work", "begin"), ("work", "end")]


async def test_a_partial_result_omits_unchanged_parts(harbour: Daemon) -> None:
    progress = collect_progress(harbour)
    config = {"focusTopNCollections": 0}
    await harbour.discover("where is moor_ship", config=config, partialResultToken=7)
    assert {token for token, _ in progress} == {7}
    values = {value["stage"]: value for _, value in progress}
    # A question about a place promotes no README: the chunks only come in order of their scores.
    assert "chunks" in values["broad_discovery"]
    assert "chunks" not in values["promote_readme"]
    progress.clear()
    await harbour.discover("?", partialResultToken="nothing")
    assert all(value.keys() == {"stage", "metrics"} for _, value in progress[:-1])
    assert len(progress) == 9


async def test_work_done_progress_names_each_stage_in_words(harbour: Daemon) -> None:
    progress = collect_progress(harbour)
    answer = await harbour.discover("what is a tide", workDoneToken="work")
    assert list(STAGES_IN_WORDS) == list(answer["metrics"]["stages"])
    assert {token for token, _ in progress} == {"work"}
    begin, *reports, end = (value for _, value in progress)
    assert (begin["kind"], begin["title"], begin["percentage"]) == ("begin", "Cairn", 0)
    assert {report["kind"] for report in reports} == {"report"}
    assert [each["message"] for each in (begin, *reports)] == list(STAGES_IN_WORDS.values())
    assert [report["percentage"] for report in reports] == [11, 22, 33, 44, 55, 66, 77, 88]
    assert end["kind"] == "end"
    # A request that fails ends its progress, too.
    progress.clear()
    with pytest.raises(JsonRpcInvalidParams):
        await harbour.request("cairn/discover", {"query": 7, "workDoneToken": "bad"})
    assert [value["kind"] for _, value in progress] == ["begin", "end"]


async def test_a_request_without_a_token_sends_no_progress(harbour: Daemon) -> None:
    progress = collect_progress(harbour)
    await harbour.discover("what is a ship")
    tokens: dict[str, Any] = {"workDoneToken": 1, "partialResultToken": "x"}
    await harbour.search("moor_ship", **tokens)
    await harbour.request("cairn/expandQueries", {"query": "what is a ship", **tokens})
    assert progress == []
    for name in tokens:
        for token in (1.5, True, ["x"], {"x": 1}):
            with pytest.raises(JsonRpcInvalidParams, match=f"{name}: expected a string or a whole number"):
                await harbour.discover("what is a ship", **{name: token})
        await harbour.discover("what is a ship", **{name: None})
    assert progress == []


async def test_a_cancelled_request_sends_no_more_progress(workspace: Path) -> None:
    write_ship_notes(workspace, 150)
    async with run_daemon(workspace, options=NO_MODEL) as cairn:
        await cairn.settled()
        progress = collect_progress(cairn)
        features = cairn.client.protocol.fm.features
        append = features[types.PROGRESS]

        def cancel_at_first(params: types.ProgressParams) -> None:
            append(params)
            if len(progress) == 1:
                cairn.client.cancel_request(types.CancelParams(id="slow"))

        features[types.PROGRESS] = cancel_at_first
        params = {"query": SHIP_QUESTION, "partialResultToken": "part", "workDoneToken": "work"}
        sending = cairn.client.protocol.send_request_async("cairn/discover", params, msg_id="slow")
        with pytest.raises(JsonRpcRequestCancelled):
            await asyncio.wait_for(sending, PATIENCE_SECONDS)
        received = len(progress)
        # Another thread answers these, while the cancelled one could send much more.
        for _ in range(5):
            assert (await cairn.search("moor_ship"))["results"][0]["path"] == "src/harbour/berths.py"
            await cairn.discover("what is harbour")
        assert len(progress) == received
        assert "end" not in [value.get("kind") for _, value in progress]
        assert "render_llm_prompt" not in [value.get("stage") for _, value in progress]
