"""Every result of every leg satisfies the filter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.searching import search

from cairn import protocol
from cairn.engine.search import chunk_filter
from cairn.errors import InvalidRequestError
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import StoredChunk
from cairn.protocol.search_messages import ChunkType
from cairn.retrieval.legs import Legs
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.settings.tree import SearchSettings
from cairn.workspace.ignore_patterns import Selection

FILES = {
    "port/berths.py": "def moor_ship(ship):\n    return ship.rope\n",
    "port/crane.go": "package port\n\nfunc MoorShip(ship string) string { return ship }\n",
    "web/ship.ts": "export function moorShip(ship: string) { return ship }\n",
    "web/api.yaml": "openapi: 3.0.0\npaths:\n  /ship:\n    get: {summary: moor_ship}\n",
    "docs/ships.md": "# moor_ship\n\nHow to moor_ship a ship.\n\n```python\nmoor_ship(ship)\n```\n",
    "docs/run.md": "# Run\n\n```bash\nmoor_ship --ship Ada\n```\n",
    "tests/test_ship.py": "def test_moor_ship():\n    assert moor_ship('ship')\n",
    "ship.toml": '[ship]\nmoor_ship = "ship"\n',
    "examples/ship.py": "from port import moor_ship\n\n\nmoor_ship('ship')\n",
}
UNSAVED = {
    "port/berths.py": "def moor_ship(ship):\n    return ship.anchor\n",
    "docs/new.md": "# moor_ship\n\nA ship in unsaved text.\n",
}
QUERIES = ["moor_ship", "MoorShip", "how to moor a ship", '"moor_ship a ship"', "ship"]
TYPES = [kind.value for kind in ChunkType]
LANGUAGES = ["python", "go", "typescript", "markdown", "toml", "yaml", "bash"]
GLOBS = ["port/", "*.py", "docs/**", "web/*.ts", "/ship.toml", "tests", "!*.md", "**"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexedFolder]:
    folder = IndexedFolder(tmp_path_factory.mktemp("filters"), FILES)
    for path, text in UNSAVED.items():
        folder.type(path, text)
    yield folder
    folder.close()


def some(values: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=3, unique=True).map(tuple)


filters = st.builds(
    ChunkFilter,
    types=some(TYPES),
    languages=some(LANGUAGES),
    paths=some(GLOBS),
    collections=some([f"port-{kind}" for kind in ("source", "docs", "tests", "config", "examples")]),
)


def passes(stored: StoredChunk, only: ChunkFilter) -> bool:
    return (
        (not only.types or stored.chunk.type.value in only.types)
        and (not only.languages or stored.chunk.language in only.languages)
        and (not only.paths or Selection(only.paths).names(stored.path))
        and (not only.collections or stored.collection in only.collections)
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(only=filters, text=st.sampled_from(QUERIES))
def test_every_leg_respects_the_filter(folder: IndexedFolder, only: ChunkFilter, text: str) -> None:
    query = understand(text)
    (vector,) = Meaning(folder.models.table).vectors(["ship"])
    legs = Legs([folder.reader], query, only, SearchSettings())
    legs.by_keywords()
    legs.by_files()
    legs.by_meaning(vector)
    assert not legs.problems
    found = folder.reader.chunks(legs.pools[0].chunks())
    assert all(passes(stored, only) for stored in found.values())
    # The filter loses nothing: each chunk has a vector, and all are within the leg's limit.
    every = [stored for path in (*FILES, "docs/new.md") for stored in folder.reader.page(path)]
    assert {stored.id for stored in every if passes(stored, only)} <= set(found)
    results = search([folder.reader], query, meaning=Meaning(folder.models.table), limit=50, only=only)
    assert all(passes(result.stored, only) for result in results)


def test_a_filter_for_code_finds_only_code(folder: IndexedFolder) -> None:
    only = chunk_filter(protocol.SearchFilter(type=(ChunkType.CODE,)), [folder.reader])
    for query in QUERIES:
        meaning = Meaning(folder.models.table)
        found = search([folder.reader], query, meaning=meaning, limit=50, only=only)
        assert found
        assert {result.stored.chunk.type for result in found} == {ChunkType.CODE}


@pytest.mark.parametrize(
    ("languages", "problem"),
    [
        (("pyton",), "filter.language: unknown language 'pyton'; did you mean python?"),
        (("go", "jss"), "filter.language: unknown language 'jss'; did you mean"),
        (("",), "filter.language: unknown language ''"),
    ],
)
def test_an_unknown_language_is_refused(
    folder: IndexedFolder, languages: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem.replace("?", r"\?")):
        chunk_filter(protocol.SearchFilter(language=languages), [folder.reader])


def test_a_filter_accepts_common_names_of_languages(folder: IndexedFolder) -> None:
    only = chunk_filter(protocol.SearchFilter(language=("py", "JS", "Rust", "markdown")), [folder.reader])
    assert only.languages == ("python", "javascript", "rust", "markdown")


def test_a_language_of_a_code_fence_is_known(folder_of: FolderOf) -> None:
    folder = folder_of({"notes.md": "# Notes\n\n```shipscript\nmoor ship\n```\n"})
    assert "shipscript" in {stored.chunk.language for stored in folder.reader.page("notes.md")}
    assert chunk_filter(protocol.SearchFilter(language=("shipscript",)), [folder.reader])
    folder.type("new.md", "```anchorscript\nmoor ship\n```\n")
    assert chunk_filter(protocol.SearchFilter(language=("anchorscript",)), [folder.reader])
