"""The nine stages of discovery, each a request of its own, and all of them in a row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcInvalidParams

from .daemon import Daemon, run_daemon
from .shared import share_daemon

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

QUESTIONS = (
    "how are ships assigned to berths",
    "what is harbour?",
    "O que é um berth",
    "moor_ship",
    "the thing",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(harbour_folder: Path) -> AsyncIterator[Daemon]:
    """A ready daemon on the small project and another one."""
    other = harbour_folder.with_name("lighthouse")
    other.mkdir()
    (other / "README.md").write_text(
        "# Lighthouse\n\nA lighthouse shows ships the way to the berths of a harbour.\n"
    )
    async with share_daemon(harbour_folder, other) as cairn:
        yield cairn


async def run_stages(cairn: Daemon, query: str) -> dict[str, Any]:
    """Call all nine stages, each with the results of earlier ones, and return their answers by name."""

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
    """Round the scores of bullets as `cairn/discover` does."""
    return [{**bullet, "score": round(bullet["score"], 4)} for bullet in bullets]


@pytest.mark.parametrize("query", QUESTIONS)
async def test_the_stages_in_a_row_give_what_discover_gives(both: Daemon, query: str) -> None:
    whole = await both.discover(query)
    parts = await run_stages(both, query)
    assert rounded(parts["compressEvidence"]["bullets"]) == whole["bullets"]
    plan = parts["buildAnswerPlan"]["plan"]
    sections = [{**section, "bullets": rounded(section["bullets"])} for section in plan["sections"]]
    assert {**plan, "sections": sections} == whole["plan"]
    params = {"plan": plan, "bullets": whole["bullets"], "query": query}
    params |= {name: whole[name] for name in ("excerpts", "elsewhere")}
    prompt = await both.request("cairn/renderPrompt", params)
    verdict = whole["verdict"]
    if verdict["action"] == "noMatch":  # a single stage has no verdict, and asks no question in return
        assert verdict["message"] in whole["answerPrompt"]
        assert prompt["prompt"] == ""
    else:
        assert prompt["prompt"] == whole["answerPrompt"]
        assert prompt["tokens"] == whole["metrics"]["finalPromptTokens"]
    assert (verdict["action"] == "noMatch") is (query == "the thing")
    assert bool(whole["bullets"]) is (query != "the thing")
    metadata = [chunk["metadata"] for chunk in parts["promoteReadme"]["chunks"]]
    assert [(each["filePath"], *each["lineRange"]) for each in metadata] == [
        (chunk["path"], chunk["range"]["start"]["line"], chunk["range"]["end"]["line"])
        for chunk in whole["chunks"]
    ]


async def test_a_request_overrides_the_settings_of_a_stage(workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text(
        "[discovery]\nmax_bullets = 2\nbroad_k = 1\n[discovery.expansion]\nmax_expansions = 3\n"
        '[discovery.filter]\ndefault_exclude = ["*-tests"]\n'
    )
    async with run_daemon(workspace) as cairn:

        async def expand(query: str, **params: Any) -> Any:
            return (await cairn.request("cairn/expandQueries", {"query": query, **params}))["queries"]

        await cairn.ready()
        query = "how are ships assigned to berths"
        parts = await run_stages(cairn, query)
        assert len(await expand("what is harbour")) == 3
        assert len(parts["broadDiscovery"]["chunks"]) == 1
        assert len(parts["compressEvidence"]["bullets"]) == 2
        names = [collection["name"] for collection in parts["filterCollections"]["collections"]]
        assert "harbour-source" in names
        assert "harbour-tests" not in names
        # A part of a stage's settings leaves the rest as it is.
        config = {"includeDefinition": False, "include_features": False}
        fewer = await expand("berths", config=config)
        assert fewer == ["berths", "berths architecture", "berths API"]
        assert await expand(query, config={"maxExpansions": 0}) == []
        chunks = parts["promoteReadme"]["chunks"]
        more = await cairn.request("cairn/compressEvidence", {"chunks": chunks, "maxBullets": 3})
        assert len(more["bullets"]) == 3
        config = {"formatStyle": "plain", "includeSources": False}
        plain = await cairn.request("cairn/renderPrompt", {**parts["buildAnswerPlan"], "config": config})
        assert "#" not in plain["prompt"].splitlines()[0]


async def test_stages_take_the_least_that_another_program_sends(harbour: Daemon) -> None:
    async def stage(name: str, key: str, **params: Any) -> Any:
        return (await harbour.request(f"cairn/{name}", params))[key]

    def names(collections: Any) -> list[str]:
        return [each["name"] for each in collections]

    given = [{"name": name} for name in ("port-docs", "port-source", "port-test", "pier-backup", "pier-docs")]
    included = await stage("filterCollections", "collections", query="x", include="port*", collections=given)
    assert names(included) == ["port-docs", "port-source"]
    filtered = await stage("filterCollections", "collections", query="x", collections=given)
    assert names(filtered) == ["port-docs", "port-source", "pier-docs"]
    scored = await stage("scoreCollections", "collections", queryTerms=["pier"], collections=given)
    scores = [each["score"] for each in scored]
    assert names(scored)[0] == "pier-docs"
    assert scores == sorted(scores, reverse=True)
    own = names(await stage("scoreCollections", "collections", query="harbour docs"))
    assert own[0] == "harbour-docs"
    assert set(own) == set(names(await harbour.request("cairn/collections")))
    source = {"queries": ["moor_ship"], "collections": [{"name": "harbour-source"}]}
    found = await stage("broadDiscovery", "chunks", **source, k=2)
    assert found[0]["metadata"]["filePath"] == "src/harbour/berths.py"
    assert {chunk["collection"] for chunk in found} == {"harbour-source"}
    assert len(found) <= 2
    sentence = "The pilot boards every ship that is longer than forty metres."
    content = f"{sentence} {sentence} "
    log = {**CHUNK, "docId": "1", "content": content, "score": 0.5, "metadata": {"filePath": "log.md"}}
    readme = {**log, "docId": "2", "score": 0.4, "metadata": {"filePath": "README.md"}}
    promoted = await stage("promoteReadme", "chunks", hits=[log, log, readme])
    assert [hit["docId"] for hit in promoted] == ["2", "1"]
    query = "where does the pilot board"
    unpromoted = await stage("promoteReadme", "chunks", hits=[log, readme], query=query)
    assert [hit["docId"] for hit in unpromoted] == ["1", "2"]
    (bullet,) = await stage("compressEvidence", "bullets", chunks=[log])
    assert (bullet["text"], bullet["citation"], bullet["uri"]) == (sentence, "log.md", "")
    (section,) = (await stage("buildAnswerPlan", "plan", bullets=[bullet]))["sections"]
    assert section["bullets"] == [bullet]


EMPTY_PLAN = {"sections": [], "totalBullets": 0, "sources": []}


@pytest.mark.parametrize("folders", [0, 1])
async def test_an_empty_request_gets_an_empty_answer(workspace: Path, folders: int) -> None:
    async with run_daemon(*[workspace][:folders]) as cairn:
        await cairn.wait_for(lambda status: status["state"] in ("ready", "disabled"))
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
    "text": "x", "citation": "a.md", "sourceId": "c#0", "collection": "c", "path": "a.md", "uri": "", "score": 1,  # noqa: E501
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}, "category": "other",
}  # fmt: skip


BAD_PARAMS: tuple[tuple[str, Any, str], ...] = (
    ("filterCollections", {}, "query: is required"),
    ("filterCollections", {"query": "x", "collections": [{}]}, r"collections.*name: is required"),
    ("filterCollections", {"query": "x", "config": {"include": []}}, "config.include: unknown setting"),
    ("scoreCollections", {"collections": [{"name": "a", "updatedAt": "soon"}]}, "updatedAt: expected a time"),
    ("scoreCollections", {"config": {"nameMatchWeight": -1}}, "config.nameMatchWeight: expected zero or more"),  # noqa: E501
    ("scoreCollections", {"config": {"recencyDecayDays": 1e300}}, "config.recencyDecayDays: expected 1,000,000"),  # noqa: E501
    ("expandQueries", {"query": ["x"]}, "query: expected a string"),
    ("expandQueries", {"query": "x", "config": {"maxExpansion": 3}}, "did you mean maxExpansions"),
    ("broadDiscovery", {"queries": 3}, "queries: expected a list"),
    ("broadDiscovery", {"queries": ["x"], "k": 501}, "k: expected 0 to 500"),
    ("broadDiscovery", {"queries": ["x"] * 3, "config": {"kPerQuery": 700}}, r"config.kPerQuery \(700\)"),
    ("semanticFocus", {"queries": ["x"]}, "collection: is required"),
    ("semanticFocus", {"collection": {"name": "c"}, "queries": ["x"] * 3, "k": 400}, "queries: 3 queries times"),  # noqa: E501
    (
        "semanticFocus",
        {"collection": {"name": "c"}, "queries": ["x"], "config": {"contextWindow": 51}},
        "config.contextWindow: expected 0 to 50",
    ),
    ("promoteReadme", {"chunks": []}, "hits: is required|chunks: unknown field"),
    ("promoteReadme", {"hits": [CHUNK] * 501}, "hits: expected 500 at most"),
    ("promoteReadme", {"hits": [{**CHUNK, "score": -0.1}]}, r"hits\.score: expected 0 to"),
    ("compressEvidence", {"chunks": [{**CHUNK, "content": "x" * 10_001}]}, r"chunks\.content: expected 10,000"),  # noqa: E501
    (
        "compressEvidence",
        {"chunks": [{**CHUNK, "metadata": {"filePath": "a", "lineRange": [3, 1]}}]},
        r"chunks\.metadata\.lineRange: expected a first line",
    ),
    ("compressEvidence", {"chunks": [CHUNK], "maxPerDoc": True}, "maxPerDoc: expected a whole number"),
    ("buildAnswerPlan", {"bullets": [{**BULLET, "category": "novel"}]}, r"category: expected one of"),
    ("buildAnswerPlan", {"bullets": [BULLET], "config": {"sections": ["novel"]}}, "config.sections"),
    ("renderPrompt", {"bullets": [BULLET]}, "plan: is required"),
    ("renderPrompt", {"plan": EMPTY_PLAN, "config": {"formatStyle": "html"}}, "config.formatStyle"),
)  # fmt: skip


async def test_a_refusal_names_the_bad_param() -> None:
    async with run_daemon() as cairn:
        for stage, params, problem in BAD_PARAMS:
            with pytest.raises(JsonRpcInvalidParams, match=problem):
                await cairn.request(f"cairn/{stage}", params)
