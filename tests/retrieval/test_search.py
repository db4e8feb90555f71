"""Searches of a real index answer while vectors are still being made, or a leg fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.index.index_builders import indexed, small_table
from tests.retrieval.indexed_folder import ReaderOf
from tests.retrieval.searching import search

from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import VectorStore
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import Ranking, rank
from cairn.settings.tree import SearchSettings

TABLE = small_table()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    best = indexed("src/best.py", "def moor(ship):\n    # dock it, and dock it again\n    return ship\n")
    other = indexed(
        "src/other.py", "def paint(ship):\n    # never in a dock while it rains\n    return ship\n"
    )
    writer.write([best, other], ())
    yield writer
    writer.close()


def ranked(folder: Path, query: str) -> tuple[Ranking, list[str]]:
    """Return the ranking and the paths of its results."""
    settings = SearchSettings()
    ranking = rank([SqliteReader(folder)], [understand(query)], Meaning(TABLE), settings)
    return ranking, [result.stored.path for result in ranking.results(5, settings.diversity)]


def test_a_failed_leg_is_reported_and_the_others_answer(writer: IndexWriter, tmp_path: Path) -> None:
    VectorStore(writer.db).use_static(TABLE.id, TABLE.dimension)
    database = apsw.Connection(str(tmp_path / DATABASE_NAME))
    database.execute("DROP TABLE definitions")
    ranking, paths = ranked(tmp_path, "moor")
    assert paths[0] == "src/best.py"
    assert "definitions" in str(ranking.problem)
    database.close()


@pytest.mark.parametrize(
    "query",
    ["moor_ship", "moorShip", "moor-ship", "MoorShip", "moor ship", "Berth::moor_ship()", "berths.moorShip"],
)
def test_a_definition_is_found_in_every_spelling_of_its_name(reader_of: ReaderOf, query: str) -> None:
    found = search([reader_of({"src/a.py": "def moor_ship(berth):\n    return berth\n"})], query)
    assert [(result.stored.path, result.source) for result in found] == [("src/a.py", "exact")]


def test_each_result_of_a_defined_name_contains_it(reader_of: ReaderOf) -> None:
    files = {
        "src/berths.py": "def moor_ship(berth):\n    return berth\n",
        "docs/mooring.md": "# Mooring\n\nCall `moor_ship` for each ship.\n",
        "src/ships.py": "def ship(moor):\n    # moor a ship beside each ship to moor\n    return moor\n",
        "tests/test_berths.py": "def test_mooring():\n    assert moor_ship(1) == 1\n",
    }
    longer = {"src/unmoor.py": "def unmoor_ship_twice(ship, berth):\n    return moor, ship, berth\n"}
    found = [result.stored.path for result in search([reader_of(files | longer)], "moor_ship")]
    assert found[0] == "src/berths.py"
    assert set(found) == {path for path, text in files.items() if "moor_ship" in text}
