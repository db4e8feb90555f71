"""Only the most promising files are ranked fully, and those that the query names. A file's share of the
query's words counts its chunks and its name."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder, ReaderOf
from tests.retrieval.searching import search

from cairn.index.queries.found_words import find_words
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval import candidates as module
from cairn.retrieval.candidates import Pool, shortlist

FILES = {f"src/a{n}.py": "def moor():\n    return 'ship'\n" * (1 + (n == 7)) for n in range(12)}
FILES["src/best.py"] = "def moor_ship():\n    # a ship is moored: ship, ship\n    return ship\n"


@pytest.fixture
def reader(reader_of: ReaderOf) -> IndexReader:
    return reader_of(FILES)


def pool_of(reader: IndexReader) -> Pool:
    pool = Pool()
    pool.keywords = find_words(reader, [("ship",), ("moor",)], 1_000)
    best = pool.keywords.best(100)
    pool.found["keyword"] = dict(zip(best.tolist(), pool.keywords.scores(best).tolist(), strict=True))
    return pool


def paths(reader: IndexReader, pool: Pool) -> set[str]:
    return {outline.path for outline in reader.outlines(shortlist(reader, pool)).values()}


def test_few_files_are_all_ranked(reader: IndexReader) -> None:
    assert paths(reader, pool_of(reader)) == set(FILES)


def test_the_best_of_many_files_are_ranked(reader: IndexReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 1)
    assert paths(reader, pool_of(reader)) == {"src/best.py"}


def test_the_nearest_file_in_meaning_is_ranked_without_any_word(
    reader: IndexReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 2)
    pool = pool_of(reader)
    (near,) = reader.page("src/a3.py")
    pool.found["similarity"] = {near.id: 0.9}
    assert "src/a3.py" in paths(reader, pool)


def test_named_files_and_exact_matches_are_always_ranked(
    reader: IndexReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 1)
    pool = pool_of(reader)
    pool.files = {"src/a5.py": None}
    (exact,) = reader.page("src/a9.py")
    pool.found["exact"] = {exact.id: 1.0}
    assert paths(reader, pool) == {"src/best.py", "src/a5.py", "src/a9.py"}


COVERED = {
    "src/all.py": "def moor():\n    return ROPE\n\n\ndef tide():\n    return ROPE\n",
    "src/names.py": "def moor_rope():\n    return 1\n",
    "src/often.py": "def go():\n    return moor + moor + moor + moor + moor\n",
    "src/rope.py": "def pull():\n    return 1\n",
}


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(COVERED)


def shares_of(folder: IndexedFolder, query: str) -> dict[str, float]:
    return {
        ranked.stored.path: round(reason.value, 2)
        for ranked in search([folder.reader], query)
        for reason in ranked.reasons
        if reason.signal == "words of the question that it contains"
    }


def test_chunks_and_file_names_count_and_names_count_double(folder: IndexedFolder) -> None:
    shares = shares_of(folder, "moor the rope")
    assert shares["src/names.py"] == 1.0
    assert shares["src/all.py"] > shares["src/often.py"] > 0  # "moor" as a name, and "rope"
    assert shares["src/rope.py"] > 0  # by its file name


def test_rarer_words_count_more(folder: IndexedFolder) -> None:
    shares = shares_of(folder, "moor by the tide")
    assert shares["src/all.py"] == 1.0
    assert shares["src/names.py"] < 0.5  # it lacks the rarer word


def test_unsaved_text_counts(folder: IndexedFolder) -> None:
    folder.type("src/often.py", "def moor_rope():\n    return 2\n")
    assert shares_of(folder, "moor the rope")["src/often.py"] == 1.0


def test_unknown_words_lower_the_share(folder: IndexedFolder) -> None:
    assert shares_of(folder, "moor rope barnacles")["src/names.py"] < 1.0
