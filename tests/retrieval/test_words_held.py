"""How much of a question a file holds, in its chunks and its name, whatever BM25 says."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder
from tests.retrieval.searching import search

SIGNAL = "words of the question that it holds"
FILES = {
    "src/all.py": "def moor():\n    return ROPE\n\n\ndef tide():\n    return ROPE\n",
    "src/names.py": "def moor_rope():\n    return 1\n",
    "src/often.py": "def go():\n    return moor + moor + moor + moor + moor\n",
    "src/rope.py": "def pull():\n    return 1\n",
}


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def held(folder: IndexedFolder, text: str) -> dict[str, float]:
    return {
        ranked.stored.path: round(reason.value, 2)
        for ranked in search([folder.reader], text)
        for reason in ranked.reasons
        if reason.signal == SIGNAL
    }


def test_all_chunks_and_the_name_of_a_file_count_and_names_count_double(folder: IndexedFolder) -> None:
    shares = held(folder, "moor the rope")
    assert shares["src/names.py"] == 1.0
    assert shares["src/all.py"] > shares["src/often.py"] > 0  # "moor" as a name, and "rope"
    assert shares["src/rope.py"] > 0  # by its name alone


def test_rarer_words_count_more(folder: IndexedFolder) -> None:
    shares = held(folder, "moor by the tide")
    assert shares["src/all.py"] == 1.0
    assert shares["src/names.py"] < 0.5  # it lacks the rarer word


def test_unsaved_text_counts(folder: IndexedFolder) -> None:
    folder.type("src/often.py", "def moor_rope():\n    return 2\n")
    assert held(folder, "moor the rope")["src/often.py"] == 1.0


def test_words_that_occur_nowhere_leave_less_to_hold(folder: IndexedFolder) -> None:
    assert held(folder, "moor rope barnacles")["src/names.py"] < 1.0
