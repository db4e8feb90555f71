"""A file's share of the query's words counts its chunks and its name."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.searching import search

FILES = {
    "src/all.py": "def moor():\n    return ROPE\n\n\ndef tide():\n    return ROPE\n",
    "src/names.py": "def moor_rope():\n    return 1\n",
    "src/often.py": "def go():\n    return moor + moor + moor + moor + moor\n",
    "src/rope.py": "def pull():\n    return 1\n",
}


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


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
