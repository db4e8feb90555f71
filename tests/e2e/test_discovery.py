"""`cairn/discover` as a whole, on a project of its own: evidence, citations, questions in return, prompts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from cairn.discovery.render import INSTRUCTIONS
from cairn.text.verbatim import lines_of, stands_in
from tests.harbour import write_files

from .daemon import UNWATCHED, Daemon, run_daemon
from .shared import share_daemon

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("bare_data_dir")]

OVERVIEW = "O que é o vectorizer"
IN_CODE = "where is a vector inserted into the graph"
SAVING = "how are collections saved to disk"
INSERTING = "how are vectors inserted into a collection"
QUESTIONS = (
    OVERVIEW,
    IN_CODE,
    SAVING,
    "HnswIndex",
    "what are the REST API endpoints",
)
DEFINITION = (
    "Vectorizer is a high-performance vector database and search engine for documents and source code."
)
SAVED = "The storage layer saves every collection to disk in the background every thirty seconds."
STYLES = ("markdown", "plain", "json")


VECTORIZER = {
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

Vectorizer integrates with editors through the Model Context Protocol, which the server speaks natively.
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
    """A small project with an introduction, documents, source and a test, for a test that changes it."""
    return write_files(tmp_path / "vectorizer", VECTORIZER)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cairn(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A ready daemon on the same project, for tests that change nothing."""
    root = write_files(tmp_path_factory.mktemp("shared") / "vectorizer", VECTORIZER)
    async with share_daemon(root) as cairn:
        yield cairn


def texts(answer: Any) -> list[str]:
    return [bullet["text"] for bullet in answer["bullets"]]


def paths(answer: Any) -> list[str]:
    return [chunk["path"] for chunk in answer["chunks"]]


def cited(answer: Any, text: str) -> list[str]:
    """Return the citations of the bullets with this text."""
    return [bullet["citation"] for bullet in answer["bullets"] if bullet["text"] == text]


def check_citations(answer: Any, root: Path, unsaved: Mapping[str, str] | None = None) -> None:
    """Assert that each bullet stands on the lines that it cites, of the unsaved text or else of the file."""
    for bullet in answer["bullets"]:
        path = bullet["path"]
        lines = lines_of((unsaved or {}).get(path) or (root / path).read_text(encoding="utf-8"))
        start, end = bullet["range"]["start"]["line"], bullet["range"]["end"]["line"]
        assert 0 <= start < end <= len(lines)
        assert stands_in(bullet["text"], lines[start:end]), bullet
        assert bullet["citation"] == f"{path}#L{start + 1}-L{end}"
        assert bullet["uri"] == (root / path).as_uri()


def expected_prompt(answer: Any) -> str:
    """Lay out the plan, the question and Cairn's instructions as a prompt without excerpts."""
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


# --- answers -----------------------------------------------------------------------------------------


async def test_an_overview_begins_with_the_definition(cairn: Daemon) -> None:
    answer = await cairn.discover(OVERVIEW)
    first = answer["bullets"][0]
    line = VECTORIZER["README.md"].splitlines().index(DEFINITION)
    assert first["text"] == DEFINITION
    assert first["citation"] == f"README.md#L{line + 1}-L{line + 1}"
    assert first["range"]["start"] == {"line": line, "character": 0}
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
    assert prompt == expected_prompt(answer)
    assert [line[4:] for line in excerpts.splitlines() if line.startswith("### ")] == [
        *dict.fromkeys(excerpt["path"] for excerpt in answer["excerpts"])
    ]


async def test_only_an_overview_puts_the_readme_first(cairn: Daemon) -> None:
    where = "where is the HNSW index of vectors"
    overview = await cairn.discover(OVERVIEW)
    place, unboosted = [
        await cairn.discover(where, config={"readme": {"readmeBoost": boost}}) for boost in (50.0, 1.0)
    ]
    is_readme = [path == "README.md" for path in paths(overview)]
    assert sum(is_readme) == 3
    assert is_readme == sorted(is_readme, reverse=True)
    assert overview["bullets"][0]["path"] == "README.md"
    assert "README.md" in paths(place)
    assert paths(place)[0] == place["bullets"][0]["path"] == "src/vectorizer/index.py"
    assert all(first["score"] >= second["score"] for first, second in pairwise(place["chunks"]))
    assert (place["bullets"], place["chunks"]) == (unboosted["bullets"], unboosted["chunks"])


async def test_every_daemon_gives_the_same_answer(vectorizer: Path) -> None:
    async def answers(cairn: Daemon) -> list[Any]:
        found = [await cairn.discover(query) for query in QUESTIONS]
        return [{part: each[part] for part in each.keys() - {"metrics", "index"}} for each in found]

    # Without imports, which are counted seconds after a file was written, and count in the ranking.
    write_files(vectorizer, {"tests/test_index.py": VECTORIZER["tests/test_index.py"].partition("\n\n\n")[2]})
    async with run_daemon(vectorizer) as first:
        await first.ready()
        expected = await answers(first)
        assert await answers(first) == expected
        async with run_daemon(vectorizer) as second:
            await second.ready()
            assert await answers(second) == expected
    async with run_daemon(vectorizer) as later:
        await later.ready()
        assert await answers(later) == expected
    assert len({json.dumps(answer, sort_keys=True) for answer in expected}) == len(QUESTIONS)


# --- citations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUESTIONS)
async def test_every_bullet_stands_on_the_lines_it_cites(cairn: Daemon, query: str) -> None:
    answer = await cairn.discover(query)
    assert answer["bullets"]
    check_citations(answer, cairn.root)


async def test_a_bullet_of_a_changed_file_is_cited_anew_or_dropped(vectorizer: Path) -> None:
    documents, code = vectorizer / "docs/architecture.md", vectorizer / "src/vectorizer/index.py"
    async with run_daemon(vectorizer, options=UNWATCHED) as cairn:
        await cairn.ready()
        before = {query: await cairn.discover(query) for query in QUESTIONS}
        assert cited(before[SAVING], SAVED) == ["docs/architecture.md#L9-L9"]
        assert any("navigable small world" in text for text in texts(before[IN_CODE]))
        # The document moves down and loses a sentence; the comment of the code changes.
        documents.write_text("Written later.\n\n" * 3 + documents.read_text().replace("unified ", "single "))
        code.write_text("# A new comment.\n" + code.read_text().replace("A navigable", "Some"))
        (vectorizer / "docs/performance.md").unlink()
        after = {query: await cairn.discover(query) for query in QUESTIONS}
        for query in QUESTIONS:
            check_citations(after[query], vectorizer)
        assert cited(after[SAVING], SAVED) == ["docs/architecture.md#L15-L15"]
        gone = set(texts(before[OVERVIEW])) - set(texts(after[OVERVIEW]))
        assert any("unified server" in text for text in gone)
        gone |= set(texts(before[IN_CODE])) - set(texts(after[IN_CODE]))
        assert any("navigable small world" in text for text in gone)
        assert "docs/performance.md" in {bullet["path"] for bullet in before[OVERVIEW]["bullets"]}
        assert "docs/performance.md" not in {bullet["path"] for bullet in after[OVERVIEW]["bullets"]}
        assert after[OVERVIEW]["plan"]["totalBullets"] == len(after[OVERVIEW]["bullets"])
        assert not any(text in after[query]["answerPrompt"] for text in gone for query in QUESTIONS)


async def test_unsaved_text_is_cited_by_its_own_lines(vectorizer: Path) -> None:
    path, query = "docs/architecture.md", "how are collections mirrored by pigeons"
    pigeons = "Every collection is mirrored to the moon by carrier pigeons at night."
    document = vectorizer / path
    unsaved = document.read_text().replace(SAVED, pigeons)
    async with run_daemon(vectorizer, options=UNWATCHED) as cairn:
        await cairn.ready()
        cairn.open(document, unsaved, "markdown")
        answer = await cairn.discover(query)
        check_citations(answer, vectorizer, {path: unsaved})
        assert cited(answer, pigeons) == [f"{path}#L9-L9"]
        assert SAVED not in texts(answer)
        unsaved = "Typed above all.\n\n" + unsaved
        cairn.change(document, unsaved)
        answer = await cairn.discover(query)
        check_citations(answer, vectorizer, {path: unsaved})
        assert cited(answer, pigeons) == [f"{path}#L11-L11"]
        cairn.close(document)
        answer = await cairn.discover(SAVING)
        check_citations(answer, vectorizer)
        assert cited(answer, SAVED) == [f"{path}#L9-L9"]


# --- questions in return -----------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
async def test_a_prompt_without_evidence_asks_the_user(cairn: Daemon, style: str) -> None:
    answer = await cairn.discover("how do I bake sourdough bread", format=style)
    assert answer["verdict"]["action"] == "noMatch"
    assert answer["bullets"] == []
    assert answer["plan"] == {"sections": [], "totalBullets": 0, "sources": []}
    prompt = answer["answerPrompt"]
    said = json.loads(prompt)["note"] if style == "json" else prompt
    assert answer["verdict"]["message"].endswith("?")
    assert f"Do not answer it; ask the user: {answer['verdict']['message']}" in said
    assert answer["metrics"]["finalPromptTokens"] > 0 == answer["metrics"]["bulletsExtracted"]


async def test_a_prompt_of_weak_evidence_says_so(cairn: Daemon, vectorizer: Path) -> None:
    question = "how are vectors kept and inserted when documents change"
    async with run_daemon(vectorizer, options={"search": {"verdict": {"sureEvidence": 1.0}}}) as doubtful:
        await doubtful.ready()
        weak = await doubtful.discover(question)
    sure = await cairn.discover(question)
    assert [answer["verdict"]["action"] for answer in (weak, sure)] == ["answer", "answer"]
    assert weak["verdict"]["message"] in weak["answerPrompt"] != sure["answerPrompt"]
    assert weak["verdict"]["message"] != sure["verdict"]["message"] == ""


async def test_an_ambiguous_name_asks_which_and_the_prompt_shows_both(vectorizer: Path) -> None:
    both = {
        "docs/app/home.md": "# Home\n\nHome is the page on which the application opens.\n",
        "docs/site/home.md": "# Home\n\nHome of the web site shows all of the latest news.\n",
    }
    async with run_daemon(write_files(vectorizer, both)) as cairn:
        await cairn.ready()
        for style in STYLES:
            answer = await cairn.discover("home", format=style)
            verdict, prompt = answer["verdict"], answer["answerPrompt"]
            assert verdict["action"] == "clarify"
            assert {each["path"] for each in verdict["candidates"]} == both.keys()
            assert [each["title"] for each in verdict["candidates"]] == ["Home", "Home"]
            assert re.fullmatch(r"Do you mean Home \(docs/\w+\) or Home \(docs/\w+\)\?", verdict["message"])
            assert {bullet["path"] for bullet in answer["bullets"]} >= both.keys()
            assert "ask the user" not in prompt
            assert "latest news" in prompt
            assert "application opens" in prompt


# --- params ------------------------------------------------------------------------------------------


async def test_globs_of_collections_decide_what_is_evidence(cairn: Daemon) -> None:
    async def collections(**globs: Any) -> set[str]:
        answer = await cairn.discover("how is a vector quantized and inserted", **globs)
        found = {bullet["collection"] for bullet in answer["bullets"]}
        assert found <= {chunk["collection"] for chunk in answer["chunks"]}
        return found

    everything = await collections()
    assert {"vectorizer-docs", "vectorizer-source"} <= everything
    assert await collections(include=["*-source"]) == {"vectorizer-source"}
    without_documents = await collections(include=["vectorizer-*"], exclude=["*-docs", "*-config"])
    assert {"vectorizer-source"} <= without_documents <= {"vectorizer-source", "vectorizer-tests"}
    without_source = await collections(exclude=["*-source"])
    assert {"vectorizer-docs"} <= without_source <= {"vectorizer-docs", "vectorizer-tests"}
    nowhere = await cairn.discover(OVERVIEW, include=["no-such*"])
    assert (nowhere["bullets"], nowhere["chunks"], nowhere["verdict"]["action"]) == ([], [], "noMatch")
    assert nowhere["metrics"]["collectionsSearched"] == 0


async def test_max_bullets_limits_the_bullets_alone(cairn: Daemon) -> None:
    every = await cairn.discover(OVERVIEW)
    for most in (1, 3):
        assert (await cairn.discover(OVERVIEW, maxBullets=most))["bullets"] == every["bullets"][:most]
    none = await cairn.discover(OVERVIEW, maxBullets=0)
    assert none["bullets"] == []
    assert "## Evidence" not in none["answerPrompt"]
    assert none["excerpts"]
    assert none["verdict"] == every["verdict"]
    assert none["chunks"] == every["chunks"]
