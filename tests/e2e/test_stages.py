"""The nine stages of discovery, each a request of its own, and all of them in a row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInvalidParams

from .conftest import Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

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
    daemon: Start, workspace: Path, tmp_path: Path, query: str
) -> None:
    other = tmp_path / "lighthouse"
    other.mkdir()
    (other / "README.md").write_text(
        "# Lighthouse\n\nA lighthouse shows ships the way to the berths of a harbour.\n"
    )
    async with daemon(workspace, other) as cairn:
        await cairn.ready()
        whole = await cairn.request("cairn/discover", {"query": query})
        parts = await chained(cairn, query)
        assert rounded(parts["compressEvidence"]["bullets"]) == whole["bullets"]
        plan = parts["buildAnswerPlan"]["plan"]
        sections = [{**section, "bullets": rounded(section["bullets"])} for section in plan["sections"]]
        assert {**plan, "sections": sections} == whole["plan"]
        excerpts = whole["excerpts"]
        prompt = await cairn.request(
            "cairn/renderPrompt",
            {"plan": plan, "bullets": whole["bullets"], "query": query, "excerpts": excerpts},
        )
        verdict = whole["verdict"]
        if verdict["action"] == "noMatch":  # a stage by itself has no verdict, and asks nothing back
            assert verdict["message"] in whole["answerPrompt"]
            assert prompt["prompt"] == ""
        else:
            assert prompt["prompt"] == whole["answerPrompt"]
            assert prompt["tokens"] == whole["metrics"]["finalPromptTokens"]
        assert (verdict["action"] == "noMatch") is (query == "the thing")
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


async def test_settings_count_and_the_request_counts_more(daemon: Start, workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text(
        "[discovery]\nmax_bullets = 2\nbroad_k = 1\n[discovery.expansion]\nmax_expansions = 3\n"
        '[discovery.filter]\ndefault_exclude = ["*-tests"]\n'
    )
    async with daemon(workspace) as cairn:
        await cairn.ready()
        query = "how are ships assigned to berths"
        parts = await chained(cairn, query)
        overview = await cairn.request("cairn/expandQueries", {"query": "what is harbour"})
        assert len(overview["queries"]) == 3
        assert len(parts["broadDiscovery"]["chunks"]) == 1
        assert len(parts["compressEvidence"]["bullets"]) == 2
        names = [collection["name"] for collection in parts["filterCollections"]["collections"]]
        assert "harbour-source" in names
        assert "harbour-tests" not in names
        # A part of a stage's settings leaves the rest as it is.
        config = {"includeDefinition": False, "include_features": False}
        fewer = await cairn.request("cairn/expandQueries", {"query": "berths", "config": config})
        assert fewer["queries"] == ["berths", "berths architecture", "berths API"]
        none = await cairn.request("cairn/expandQueries", {"query": query, "config": {"maxExpansions": 0}})
        assert none["queries"] == []
        chunks = parts["promoteReadme"]["chunks"]
        more = await cairn.request("cairn/compressEvidence", {"chunks": chunks, "maxBullets": 3})
        assert len(more["bullets"]) == 3
        plain = await cairn.request(
            "cairn/renderPrompt",
            {**parts["buildAnswerPlan"], "config": {"formatStyle": "plain", "includeSources": False}},
        )
        assert "#" not in plain["prompt"].splitlines()[0]


async def test_stages_take_what_no_other_stage_made(daemon: Start, workspace: Path) -> None:
    """As another program would call them, with only what is needed."""
    async with daemon(workspace) as cairn:
        await cairn.ready()
        named = [
            {"name": name} for name in ("port-docs", "port-source", "port-test", "pier-backup", "pier-docs")
        ]
        filtered = await cairn.request(
            "cairn/filterCollections", {"query": "x", "include": "port*", "collections": named}
        )
        assert [each["name"] for each in filtered["collections"]] == ["port-docs", "port-source"]
        unnamed = await cairn.request("cairn/filterCollections", {"query": "x", "collections": named})
        assert [each["name"] for each in unnamed["collections"]] == ["port-docs", "port-source", "pier-docs"]
        scored = await cairn.request("cairn/scoreCollections", {"queryTerms": ["pier"], "collections": named})
        scores = [each["score"] for each in scored["collections"]]
        assert scored["collections"][0]["name"] == "pier-docs"
        assert scores == sorted(scores, reverse=True)
        own = await cairn.request("cairn/scoreCollections", {"query": "harbour docs"})
        assert own["collections"][0]["name"] == "harbour-docs"
        assert {each["name"] for each in own["collections"]} == {
            each["name"] for each in await cairn.request("cairn/collections")
        }
        source = {"queries": ["moor_ship"], "collections": [{"name": "harbour-source"}]}
        found = (await cairn.request("cairn/broadDiscovery", {**source, "k": 2}))["chunks"]
        assert found[0]["metadata"]["filePath"] == "src/harbour/berths.py"
        assert {chunk["collection"] for chunk in found} == {"harbour-source"}
        assert len(found) <= 2
        text = "The pilot boards every ship that is longer than forty metres. " * 2
        chunk = {
            "collection": "log", "docId": "1", "content": text, "score": 0.5, "metadata": {"filePath": "log.md"},
        }  # fmt: skip
        readme = {**chunk, "docId": "2", "score": 0.4, "metadata": {"filePath": "README.md"}}
        promoted = (await cairn.request("cairn/promoteReadme", {"hits": [chunk, chunk, readme]}))["chunks"]
        assert [hit["docId"] for hit in promoted] == ["2", "1"]
        asked = {"hits": [chunk, readme], "query": "where does the pilot board"}
        assert [h["docId"] for h in (await cairn.request("cairn/promoteReadme", asked))["chunks"]] == [
            "1",
            "2",
        ]
        (bullet,) = (await cairn.request("cairn/compressEvidence", {"chunks": [chunk]}))["bullets"]
        assert (bullet["text"], bullet["citation"], bullet["uri"]) == (
            text[: len(text) // 2].strip(),
            "log.md",
            "",
        )
        (section,) = (await cairn.request("cairn/buildAnswerPlan", {"bullets": [bullet]}))["plan"]["sections"]
        assert section["bullets"] == [bullet]


EMPTY_PLAN = {"sections": [], "totalBullets": 0, "sources": []}


@pytest.mark.parametrize("folders", [0, 1])
async def test_nothing_gives_nothing(daemon: Start, workspace: Path, folders: int) -> None:
    async with daemon(*[workspace][:folders]) as cairn:
        await cairn.until(lambda status: status["state"] in ("ready", "disabled"))
        nowhere = {"name": "no-such-collection"}
        for name, params, expected in (
            ("filterCollections", {"query": "x", "collections": []}, {"collections": []}),
            ("filterCollections", {"query": "", "include": "no-such*"}, {"collections": []}),
            ("scoreCollections", {"queryTerms": [], "collections": []}, {"collections": []}),
            ("expandQueries", {"query": ""}, {"queries": []}),
            ("expandQueries", {"query": " \n"}, {"queries": []}),
            ("broadDiscovery", {"queries": []}, {"chunks": []}),
            ("broadDiscovery", {"queries": ["berth"], "collections": []}, {"chunks": []}),
            ("broadDiscovery", {"queries": ["berth"], "k": 0}, {"chunks": []}),
            ("broadDiscovery", {"queries": ["", "  ", "\0"]}, {"chunks": []}),
            ("broadDiscovery", {"queries": ["berth"], "collections": [nowhere]}, {"chunks": []}),
            ("semanticFocus", {"collection": nowhere, "queries": ["berth"]}, {"chunks": []}),
            ("semanticFocus", {"collection": {"name": "harbour-source"}, "queries": []}, {"chunks": []}),
            ("promoteReadme", {"hits": []}, {"chunks": []}),
            ("compressEvidence", {"chunks": []}, {"bullets": []}),
            ("buildAnswerPlan", {"bullets": []}, {"plan": EMPTY_PLAN}),
            ("renderPrompt", {"plan": EMPTY_PLAN, "bullets": []}, {"prompt": "", "tokens": 0}),
        ):  # fmt: skip
            assert await cairn.request(f"cairn/{name}", params) == expected, (name, params)


CHUNK = {"collection": "c", "docId": "d", "content": "x", "score": 1, "metadata": {"filePath": "a.md"}}
BULLET = {
    "text": "x", "citation": "a.md", "sourceId": "c#0", "collection": "c", "path": "a.md", "uri": "", "score": 1,
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}, "category": "other",
}  # fmt: skip


BAD_PARAMS: tuple[tuple[str, Any, str], ...] = (
    ("filterCollections", {}, "query: is required"),
    ("filterCollections", {"query": "x", "collections": [{}]}, r"collections.*name: is required"),
    ("filterCollections", {"query": "x", "collections": [{"name": "a"}] * 1001}, "collections: expected 1,000"),
    ("filterCollections", {"query": "x", "config": {"include": []}}, "config.include: unknown setting"),
    ("scoreCollections", {"collections": [{"name": "a", "updatedAt": "soon"}]}, "updatedAt: expected a time"),
    ("scoreCollections", {"config": {"nameMatchWeight": -1}}, "config.nameMatchWeight: expected zero or more"),
    ("scoreCollections", {"config": {"recencyDecayDays": 1e300}}, "config.recencyDecayDays: expected 1,000,000"),
    ("expandQueries", {"query": ["x"]}, "query: expected a string"),
    ("expandQueries", {"query": "x", "config": {"maxExpansion": 3}}, "did you mean maxExpansions"),
    ("broadDiscovery", {"queries": 3}, "queries: expected a list"),
    ("broadDiscovery", {"queries": ["x"] * 101}, "queries: expected 100 at most, got 101"),
    ("broadDiscovery", {"queries": ["x"], "k": -1}, "k: expected 0 to 500"),
    ("broadDiscovery", {"queries": ["x"], "k": 501}, "k: expected 0 to 500"),
    ("broadDiscovery", {"queries": ["x"] * 3, "config": {"kPerQuery": 700}}, r"config.kPerQuery \(700\)"),
    ("semanticFocus", {"queries": ["x"]}, "collection: is required"),
    ("semanticFocus", {"collection": {"name": "c"}, "queries": ["x"] * 3, "k": 400}, "queries: 3 queries times"),
    (
        "semanticFocus",
        {"collection": {"name": "c"}, "queries": ["x"], "config": {"contextWindow": 51}},
        "config.contextWindow: expected 0 to 50",
    ),
    ("promoteReadme", {"chunks": []}, "hits: is required|chunks: unknown field"),
    ("promoteReadme", {"hits": [CHUNK] * 501}, "hits: expected 500 at most"),
    ("promoteReadme", {"hits": [{**CHUNK, "score": -0.1}]}, r"hits\.score: expected 0 to"),
    ("compressEvidence", {"chunks": [{**CHUNK, "content": "x" * 10_001}]}, r"chunks\.content: expected 10,000"),
    (
        "compressEvidence",
        {"chunks": [{**CHUNK, "metadata": {"filePath": "a", "lineRange": [3, 1]}}]},
        r"chunks\.metadata\.lineRange: expected a first line",
    ),
    ("compressEvidence", {"chunks": [CHUNK], "maxBullets": 1001}, "maxBullets: expected 0 to 1,000"),
    ("compressEvidence", {"chunks": [CHUNK], "maxPerDoc": True}, "maxPerDoc: expected a whole number"),
    ("buildAnswerPlan", {"bullets": [{**BULLET, "category": "novel"}]}, r"category: expected one of"),
    ("buildAnswerPlan", {"bullets": [BULLET], "config": {"sections": ["novel"]}}, "config.sections"),
    ("renderPrompt", {"bullets": [BULLET]}, "plan: is required"),
    ("renderPrompt", {"plan": EMPTY_PLAN, "config": {"formatStyle": "html"}}, "config.formatStyle"),
)  # fmt: skip


async def test_bad_params_are_refused_by_name(daemon: Start) -> None:
    async with daemon() as cairn:
        for stage, params, problem in BAD_PARAMS:
            with pytest.raises(JsonRpcInvalidParams, match=problem):
                await cairn.request(f"cairn/{stage}", params)
