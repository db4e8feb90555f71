"""`cairn/discover` as a whole: what is answered, cited, asked back and rendered, on a small project of its own."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from cairn.discovery.render import INSTRUCTIONS
from cairn.embedding.model_files import TOKENIZER_FILE, find_model
from cairn.embedding.tokenization import load_tokenizer
from cairn.text.verbatim import lines_of, stands_in

from .conftest import Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("model_data_dir")]

UNWATCHED = {"index": {"watch": False}}
OVERVIEW = "O que é o vectorizer"
"""S1's worked example."""
IN_CODE = "where is a vector inserted into the graph"
QUESTIONS = (
    OVERVIEW,
    IN_CODE,
    "how are collections saved to disk",
    "HnswIndex",
    "what are the REST API endpoints",
)
DEFINITION = (
    "Vectorizer is a high-performance vector database and search engine for documents and source code."
)
SAVED = "The storage layer saves every collection to disk in the background every thirty seconds."


_VECTORIZER = {
    "pyproject.toml": '[project]\nname = "vectorizer"\n',
    "README.md": """# Vectorizer

Vectorizer is a high-performance vector database and search engine for documents and source code.

It was written for semantic search inside applications that must not depend on the network.

## Features

- Searches a million vectors in less than three milliseconds with an HNSW index.
- Supports real-time monitoring of folders, so that changed files are indexed automatically.
- Supports TF-IDF, BM25 and MiniLM embeddings, chosen for each collection by its settings.

## Installation

Install the package with `pip install vectorizer` and start the server with `vectorizer serve`.
""",
    "docs/architecture.md": """# Architecture

The architecture consists of one unified server with a storage layer and a query layer.

The query layer splits each request into collections and merges what every shard returns.

## Persistence

The storage layer saves every collection to disk in the background every thirty seconds.
""",
    "docs/performance.md": """# Performance

Benchmarks show a latency below three milliseconds for a million vectors on one core.

Quantization stores each vector in eight bits, which reduces memory usage by three quarters.
""",
    "docs/api.md": """# API

The REST API has an endpoint for each operation and answers every request with JSON.

Clients integrate with editors through the Model Context Protocol, which the server speaks natively.
""",
    "src/vectorizer/index.py": '''"""The index of vectors."""


class HnswIndex:
    """A navigable small world graph that finds the nearest vectors of a collection."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.vectors = []

    def insert_vector(self, vector):
        """Insert a vector into the graph; raises ValueError if its dimension is wrong."""
        if len(vector) != self.dimension:
            raise ValueError("wrong dimension")
        self.vectors.append(vector)
''',
    "src/vectorizer/quantize.py": '''"""Quantization of vectors."""


def quantize_vector(vector, bits=8):
    """Return the vector with every component rounded to the given number of bits."""
    scale = max(map(abs, vector)) / (2 ** (bits - 1) - 1)
    return [round(component / scale) for component in vector]
''',
    "src/vectorizer/storage.py": '''"""Where collections are kept between two runs of the server."""


def save_collection(collection, folder):
    """Write all vectors of a collection into one file of the folder, atomically."""
    temporary = folder / (collection.name + ".part")
    temporary.write_bytes(collection.dump())
    temporary.rename(folder / collection.name)
''',
    "tests/test_index.py": '''from vectorizer.index import HnswIndex


def test_a_vector_of_another_dimension_is_refused():
    """Check that the index refuses a vector whose dimension differs from its own."""
    index = HnswIndex(3)
    index.insert_vector([1, 2])
''',
}


@pytest.fixture
def vectorizer(tmp_path: Path) -> Path:
    """S1's example project, small: an introduction, documents, source and a test."""
    root = tmp_path / "vectorizer"
    for path, text in _VECTORIZER.items():
        write(root, path, text)
    return root


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


async def discover(cairn: Daemon, query: str, **params: Any) -> Any:
    return await cairn.request("cairn/discover", {"query": query, **params})


def texts(answer: Any) -> list[str]:
    return [bullet["text"] for bullet in answer["bullets"]]


def paths(answer: Any) -> list[str]:
    return [chunk["path"] for chunk in answer["chunks"]]


def cited(answer: Any, text: str) -> list[str]:
    """The citations of a bullet."""
    return [bullet["citation"] for bullet in answer["bullets"] if bullet["text"] == text]


def check_citations(answer: Any, root: Path, on_screen: Mapping[str, str] | None = None) -> None:
    """Each bullet stands on the lines it cites, of the file as it is on the screen or else on disk."""
    for bullet in answer["bullets"]:
        path = bullet["path"]
        lines = lines_of((on_screen or {}).get(path) or (root / path).read_text(encoding="utf-8"))
        start, end = bullet["range"]["start"]["line"], bullet["range"]["end"]["line"]
        assert 0 <= start < end <= len(lines)
        assert stands_in(bullet["text"], lines[start:end]), bullet
        assert bullet["citation"] == f"{path}#L{start + 1}-L{end}"
        assert bullet["uri"] == (root / path).as_uri()


def line_number(root: Path, path: str, text: str) -> int:
    """The line, counted from 1, that holds the text."""
    return next(
        number for number, line in enumerate((root / path).read_text().splitlines(), 1) if text in line
    )


def in_the_layout_of_s1(answer: Any) -> str:
    """The prompt that S1 (stage 9) makes of the plan, with the question and the lines that Cairn adds."""
    evidence, sources = "", dict[str, list[str]]()
    for section in answer["plan"]["sections"]:
        evidence += f"### {section['title']}\n\n"
        for number, bullet in enumerate(section["bullets"], 1):
            evidence += f"{number}. {bullet['text']} [{bullet['sourceId']}]\n"
            places = sources.setdefault(bullet["sourceId"], [])
            if bullet["citation"] not in places:
                places.append(bullet["citation"])
        evidence += "\n"
    index = "".join(f"- [{source}] {', '.join(places)}\n" for source, places in sources.items())
    return (
        "# Context from Vector Database\n\n"
        f"Found {len(answer['bullets'])} relevant pieces of information from {len(sources)} sources.\n\n"
        f"## Question\n{OVERVIEW}\n\n## Instructions\n{INSTRUCTIONS}\n\n"
        f"## Evidence\n\n{evidence}## Sources\n\n{index}"
    )


# --- answers ------------------------------------------------------------------------------------------


async def test_the_worked_example_of_s1(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        answer = await discover(cairn, OVERVIEW)
    first = answer["bullets"][0]
    line = line_number(vectorizer, "README.md", DEFINITION)
    assert first["text"] == DEFINITION
    assert first["citation"] == f"README.md#L{line}-L{line}"
    assert first["range"]["start"] == {"line": line - 1, "character": 0}
    assert answer["verdict"]["action"] == "answer"
    sections = answer["plan"]["sections"]
    titles = [section["title"] for section in sections]
    assert titles[0] == "📋 Definition"
    assert sections[0]["bullets"][0]["text"] == DEFINITION
    assert {"✨ Key Features", "🏗️ Architecture", "⚡ Performance", "🔗 Integrations"} <= set(titles)
    assert [section["priority"] for section in sections] == list(range(1, len(sections) + 1))
    metrics = answer["metrics"]
    assert metrics["queriesGenerated"] == 8
    assert metrics["collectionsSearched"] == 4
    assert metrics["chunksFound"] >= metrics["chunksAfterDedup"] == len(answer["chunks"])
    assert metrics["bulletsExtracted"] == len(answer["bullets"]) == answer["plan"]["totalBullets"]
    assert len({bullet["path"] for bullet in answer["bullets"]}) >= 4
    prompt, _, excerpts = answer["answerPrompt"].partition("\n## Excerpts\n\n")
    assert prompt == in_the_layout_of_s1(answer)
    assert [line[4:] for line in excerpts.splitlines() if line.startswith("### ")] == [
        excerpt["citation"] for excerpt in answer["excerpts"]
    ]


async def test_readme_evidence_comes_first_where_the_project_is_asked_about_alone(
    daemon: Start, vectorizer: Path
) -> None:
    where = "where is the HNSW index of vectors"
    promoted, kept = ({"readme": {"readmeBoost": boost}} for boost in (50.0, 1.0))
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        overview = await discover(cairn, OVERVIEW)
        place = await discover(cairn, where, config=promoted)
        as_it_is = await discover(cairn, where, config=kept)
    is_readme = [path == "README.md" for path in paths(overview)]
    assert sum(is_readme) == 3
    assert is_readme == sorted(is_readme, reverse=True)
    assert overview["bullets"][0]["path"] == "README.md"
    assert "README.md" in paths(place)
    assert paths(place)[0] == place["bullets"][0]["path"] == "src/vectorizer/index.py"
    assert all(first["score"] >= second["score"] for first, second in pairwise(place["chunks"]))
    assert (place["bullets"], place["chunks"]) == (as_it_is["bullets"], as_it_is["chunks"])


async def test_the_same_question_has_the_same_answer_from_any_daemon(daemon: Start, vectorizer: Path) -> None:
    def same(answer: Any) -> Any:
        return {part: value for part, value in answer.items() if part not in ("metrics", "index")}

    asked = [{"query": query} for query in QUESTIONS]
    # Imports are counted seconds after a file was written, and count in the ranking: here, none is found.
    write(vectorizer, "tests/test_index.py", _VECTORIZER["tests/test_index.py"].partition("\n\n\n")[2])
    async with daemon(vectorizer) as first:
        await first.ready()
        answers = [same(await first.request("cairn/discover", params)) for params in asked]
        assert [same(await first.request("cairn/discover", params)) for params in asked] == answers
        async with daemon(vectorizer) as second:
            await second.ready()
            assert [same(await second.request("cairn/discover", params)) for params in asked] == answers
    async with daemon(vectorizer) as later:
        await later.ready()
        assert [same(await later.request("cairn/discover", params)) for params in asked] == answers
    assert len({json.dumps(answer) for answer in answers}) == len(QUESTIONS)


# --- citations ------------------------------------------------------------------------------------------


async def test_every_bullet_stands_on_the_lines_it_cites(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        for query in QUESTIONS:
            answer = await discover(cairn, query)
            assert answer["bullets"], query
            check_citations(answer, vectorizer)


async def test_what_changed_behind_the_index_is_cited_where_it_is_now_or_not_at_all(
    daemon: Start, vectorizer: Path
) -> None:
    documents, code = vectorizer / "docs/architecture.md", vectorizer / "src/vectorizer/index.py"
    async with daemon(vectorizer, options=UNWATCHED) as cairn:
        await cairn.ready()
        before = {query: await discover(cairn, query) for query in QUESTIONS}
        assert cited(before[OVERVIEW], SAVED) == ["docs/architecture.md#L9-L9"]
        assert any("insert_vector" in text for text in texts(before[IN_CODE]))
        # Moved down, and one sentence gone; of the code one function only is left as it was.
        documents.write_text("Written later.\n\n" * 3 + documents.read_text().replace("unified ", "single "))
        code.write_text(
            "# A comment that was not there.\n" + code.read_text().replace("(self, vector)", "(self, it)")
        )
        (vectorizer / "docs/performance.md").unlink()
        after = {query: await discover(cairn, query) for query in QUESTIONS}
        for query in QUESTIONS:
            check_citations(after[query], vectorizer)
        assert cited(after[OVERVIEW], SAVED) == ["docs/architecture.md#L15-L15"]
        gone = set(texts(before[OVERVIEW])) - set(texts(after[OVERVIEW]))
        assert any("unified server" in text for text in gone)
        gone |= set(texts(before[IN_CODE])) - set(texts(after[IN_CODE]))
        assert any("insert_vector" in text for text in gone)
        assert "docs/performance.md" in {bullet["path"] for bullet in before[OVERVIEW]["bullets"]}
        assert "docs/performance.md" not in {bullet["path"] for bullet in after[OVERVIEW]["bullets"]}
        assert after[OVERVIEW]["plan"]["totalBullets"] == len(after[OVERVIEW]["bullets"])
        assert not any(text in after[query]["answerPrompt"] for text in gone for query in QUESTIONS)


async def test_what_stands_on_the_screen_is_cited_as_it_stands_there(daemon: Start, vectorizer: Path) -> None:
    path, other = (
        "docs/architecture.md",
        "Every collection is mirrored to the moon by carrier pigeons at night.",
    )
    saved = (vectorizer / path).read_text()
    uri = (vectorizer / path).as_uri()
    async with daemon(vectorizer, options=UNWATCHED) as cairn:
        await cairn.ready()
        shown = saved.replace(SAVED, other)
        document = types.TextDocumentItem(uri, "markdown", 1, shown)
        cairn.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        answer = await discover(cairn, "how are collections mirrored by pigeons")
        check_citations(answer, vectorizer, {path: shown})
        assert cited(answer, other) == [f"{path}#L9-L9"]
        assert SAVED not in texts(answer)
        shown = "Typed above all.\n\n" + shown
        changed = types.VersionedTextDocumentIdentifier(2, uri)
        change = types.TextDocumentContentChangeWholeDocument(shown)
        cairn.client.text_document_did_change(types.DidChangeTextDocumentParams(changed, [change]))
        answer = await discover(cairn, "how are collections mirrored by pigeons")
        check_citations(answer, vectorizer, {path: shown})
        assert cited(answer, other) == [f"{path}#L11-L11"]
        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        cairn.client.text_document_did_close(closed)
        answer = await discover(cairn, OVERVIEW)
        check_citations(answer, vectorizer)
        assert cited(answer, SAVED) == [f"{path}#L9-L9"]


# --- questions back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["markdown", "plain", "json"])
async def test_without_evidence_the_prompt_asks_back(daemon: Start, vectorizer: Path, style: str) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        answer = await discover(cairn, "how do I bake sourdough bread", format=style)
    assert answer["verdict"]["action"] == "noMatch"
    assert answer["bullets"] == []
    assert answer["plan"] == {"sections": [], "totalBullets": 0, "sources": []}
    prompt = answer["answerPrompt"]
    said = json.loads(prompt)["note"] if style == "json" else prompt
    assert answer["verdict"]["message"].endswith("?")
    assert f"Do not answer it; ask the user: {answer['verdict']['message']}" in said
    assert answer["metrics"]["finalPromptTokens"] > 0 == answer["metrics"]["bulletsExtracted"]


async def test_a_prompt_of_weak_evidence_says_so(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer, options={"search": {"verdict": {"sureEvidence": 1.0}}}) as cairn:
        await cairn.ready()
        weak = await discover(cairn, "how are vectors inserted into a collection")
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        sure = await discover(cairn, "how are vectors inserted into a collection")
    assert [answer["verdict"]["action"] for answer in (weak, sure)] == ["answer", "answer"]
    assert weak["verdict"]["message"] in weak["answerPrompt"] != sure["answerPrompt"]
    assert weak["verdict"]["message"] != sure["verdict"]["message"] == ""


@pytest.mark.parametrize("style", ["markdown", "plain", "json"])
async def test_of_two_things_of_a_name_the_verdict_asks_which_and_the_prompt_shows_both(
    daemon: Start, vectorizer: Path, style: str
) -> None:
    write(vectorizer, "docs/app/home.md", "# Home\n\nHome is the page on which the application opens.\n")
    write(vectorizer, "docs/site/home.md", "# Home\n\nHome of the web site shows all of the latest news.\n")
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        answer = await discover(cairn, "home", format=style)
    verdict = answer["verdict"]
    assert verdict["action"] == "clarify"
    assert {each["path"] for each in verdict["candidates"]} == {"docs/app/home.md", "docs/site/home.md"}
    assert [each["title"] for each in verdict["candidates"]] == ["Home", "Home"]
    assert re.fullmatch(r"Do you mean Home \(docs/\w+\) or Home \(docs/\w+\)\?", verdict["message"])
    prompt = answer["answerPrompt"]
    assert "ask the user" not in prompt
    assert {bullet["path"] for bullet in answer["bullets"]} >= {"docs/app/home.md", "docs/site/home.md"}
    assert "latest news" in prompt
    assert "application opens" in prompt


# --- what a request asks for --------------------------------------------------------------------------------


async def test_globs_of_collections_decide_what_is_evidence(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()

        async def collections(**globs: Any) -> set[str]:
            answer = await discover(cairn, "how is a vector quantized and inserted", **globs)
            found = {bullet["collection"] for bullet in answer["bullets"]}
            assert found <= {chunk["collection"] for chunk in answer["chunks"]}
            return found

        everything = await collections()
        assert {"vectorizer-docs", "vectorizer-source"} <= everything
        assert await collections(include=["*-source"]) == {"vectorizer-source"}
        without_documents = await collections(include=["vectorizer-*"], exclude=["*-docs", "*-config"])
        assert {"vectorizer-source"} <= without_documents <= {"vectorizer-source", "vectorizer-tests"}
        assert await collections(exclude=["*-source"]) == everything - {"vectorizer-source"}
        nowhere = await discover(cairn, OVERVIEW, include=["no-such*"])
        assert (nowhere["bullets"], nowhere["chunks"], nowhere["verdict"]["action"]) == ([], [], "noMatch")
        assert nowhere["metrics"]["collectionsSearched"] == 0


async def test_as_many_bullets_as_are_asked_for(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        every = await discover(cairn, OVERVIEW)
        for most in (1, 3):
            few = await discover(cairn, OVERVIEW, maxBullets=most)
            assert few["bullets"] == every["bullets"][:most]
        none = await discover(cairn, OVERVIEW, maxBullets=0)
        assert none["bullets"] == []
        assert "## Evidence" not in none["answerPrompt"]
        assert none["excerpts"]  # which are no bullets
        assert none["verdict"] == every["verdict"]
        assert none["chunks"] == every["chunks"]


async def test_plain_and_json_hold_what_markdown_holds(daemon: Start, vectorizer: Path) -> None:
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        roomy = {"render": {"maxPromptTokens": 8_000}}
        markdown = await discover(cairn, OVERVIEW, config=roomy)
        plain = await discover(cairn, OVERVIEW, format="plain", config=roomy)
        data = json.loads((await discover(cairn, OVERVIEW, format="json", config=roomy))["answerPrompt"])
    sections, _, excerpts = markdown["answerPrompt"].partition("\n## Excerpts\n")
    unmarked = re.sub(r"^(#+ |- (?=\[))", "", sections, flags=re.MULTILINE)
    assert plain["answerPrompt"].startswith(unmarked)
    assert unmarked != sections
    for excerpt, written in zip(markdown["excerpts"], data["excerpts"], strict=False):
        assert written["citation"] == excerpt["citation"]
        assert written["text"] == excerpt["text"]
        assert f"{excerpt['citation']}\n{excerpt['text']}\n" in plain["answerPrompt"]
        assert f"{excerpt['text']}\n```" in excerpts
    assert data["question"] == OVERVIEW
    assert data["found"]["pieces"] == len(markdown["bullets"])
    assert [(section["title"], [piece["text"] for piece in section["evidence"]]) for section in data["sections"]] == [
        (section["title"], [bullet["text"] for bullet in section["bullets"]])
        for section in markdown["plan"]["sections"]
    ]  # fmt: skip
    cited = [place for source in data["sources"] for place in source["citations"]]
    assert sorted(cited) == sorted({bullet["citation"] for bullet in markdown["bullets"]})


async def test_the_prompt_keeps_its_budget_and_the_best_evidence(daemon: Start, vectorizer: Path) -> None:
    model = find_model()
    assert model
    count = load_tokenizer(model).count
    held: list[int] = []
    async with daemon(vectorizer) as cairn:
        await cairn.ready()
        every = texts(await discover(cairn, OVERVIEW))
        for budget in (100, 120, 150, 300, 600, 4000):
            answer = await discover(cairn, OVERVIEW, config={"render": {"maxPromptTokens": budget}})
            prompt = answer["answerPrompt"]
            assert count(prompt) == answer["metrics"]["finalPromptTokens"] <= budget
            assert texts(answer) == every  # only the prompt is cut
            shown = [text for text in every if f". {text} [" in prompt]
            assert len(shown) == len(re.findall(r"^\d+\. ", prompt, re.MULTILINE))
            assert f"Found {len(shown)} relevant" in prompt or not shown
            assert DEFINITION in shown or not shown
            held.append(len(shown))
    assert held == sorted(held)
    assert held[0] == 0 < held[-3] < held[-1] == len(every)


async def test_tokens_are_counted_by_the_tokenizer_that_is_named(daemon: Start, vectorizer: Path) -> None:
    model = find_model()
    assert model
    file = model.folder / TOKENIZER_FILE
    count = load_tokenizer(model).count

    (vectorizer / "tokenizer.json").write_bytes(file.read_bytes())

    async with daemon(vectorizer, options={"discovery": {"render": {"tokenizer": str(file)}}}) as cairn:
        await cairn.ready()

        async def rendered(tokenizer: str, budget: int) -> tuple[str, int]:
            render = {"tokenizer": tokenizer, "maxPromptTokens": budget}
            answer = await discover(cairn, OVERVIEW, config={"render": render})
            return answer["answerPrompt"], answer["metrics"]["finalPromptTokens"]

        for budget in (4000, 300):
            prompt, tokens = await rendered("characters", budget)
            assert tokens == math.ceil(len(prompt) / 4) <= budget
            by_file = await rendered(str(file), budget)
            assert by_file == await rendered("", budget) == await rendered("tokenizer.json", budget)
            assert by_file[1] == count(by_file[0]) <= budget
            assert by_file[1] != tokens
        missing = str(vectorizer / "nothing" / "tokenizer.json")
        elsewhere = str(model.folder / "cairn-model.toml")
        for wrong in (
            missing,
            str(vectorizer),
            str(vectorizer / "README.md"),
            elsewhere,
            "../tokenizer.json",
        ):
            with pytest.raises(JsonRpcInvalidParams, match=r"config\.render\.tokenizer") as refused:
                await rendered(wrong, 300)
            assert wrong in str(refused.value)
            assert "characters" in str(refused.value)
        # A refused request leaves the daemon as it was.
        assert await rendered("", 4000) == await rendered(str(file), 4000)
