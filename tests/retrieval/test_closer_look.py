"""A closer look at the first files compares their best chunks and all their vectors."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.scores import FIRST_FILES
from cairn.settings.tree import SearchSettings

LONG = "".join(f"    step_{line} = rope_{line} + anchor_{line}\n" for line in range(60))
FILES = {
    "port/near.py": "def tie(rope):\n    # the vessel is tied\n    return rope\n",
    "port/far.py": "def tie(rope):\n    # the rope is tied\n    return rope\n",
    "port/all.py": f"def tie(rope):\n    return rope\n\n\ndef vessel(rope):\n{LONG}\n\ndef boat(rope):\n{LONG}",  # noqa: E501
    "port/cranes.py": f"def tie(rope):\n    return rope\n\n\ndef crane(rope):\n{LONG}\n\ndef hoist(rope):\n{LONG}",  # noqa: E501
}
QUESTION = "how to tie the ship rope"
NEAR_WORDS, WHOLE_FILE = "near words in its best chunk", "meaning of the whole file"


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def values(folder: IndexedFolder, signal: str, query: str = QUESTION) -> dict[str, float]:
    """Return the signal's value of each file."""
    settings = SearchSettings(leg_deadline_ms=60_000)
    ranking = rank([folder.reader], [understand(query)], Meaning(folder.models.table), settings)
    return {
        file.path: reason.value
        for place, file in enumerate(ranking.candidates.files)
        for reason in ranking.scores.reasons(place)
        if reason.signal == signal
    }


@pytest.mark.parametrize(
    ("signal", "better", "worse"),
    [(NEAR_WORDS, "port/near.py", "port/far.py"), (WHOLE_FILE, "port/all.py", "port/cranes.py")],
)
def test_similar_words_and_chunks_count_for_their_file(
    folder: IndexedFolder, signal: str, better: str, worse: str
) -> None:
    found = values(folder, signal)
    assert found[better] > found.get(worse, 0.0)


def test_unsaved_text_is_compared(folder: IndexedFolder) -> None:
    folder.type("port/far.py", "def tie(rope):\n    # the boat, a vessel, is tied\n    return rope\n")
    folder.type("port/near.py", "def tie(rope):\n    # the crane is tied\n    return rope\n")
    assert values(folder, NEAR_WORDS)["port/far.py"] == 1.0
    assert values(folder, WHOLE_FILE)["port/far.py"] > 0


def test_a_name_gets_no_closer_look(folder: IndexedFolder) -> None:
    assert not values(folder, NEAR_WORDS, "tie_rope")


@pytest.mark.parametrize("count", [FIRST_FILES - 1, FIRST_FILES, FIRST_FILES + 5])
def test_only_the_first_files_are_compared(folder_of: FolderOf, count: int) -> None:
    text = "def tie(rope):\n    # the vessel\n    return rope\n"
    folder = folder_of({f"port/a{n}.py": text + f"# {n}\n" for n in range(count)})
    assert len(values(folder, NEAR_WORDS)) == min(count, FIRST_FILES)
