"""What a closer look at the first files sees of each."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.retrieval.meaning import StaticMeaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import Ranking, rank
from cairn.retrieval.scores import FIRST_FILES
from cairn.settings.tree import SearchSettings

LONG = "".join(f"    step_{line} = rope_{line} + anchor_{line}\n" for line in range(60))
FILES = {
    "port/near.py": "def tie(rope):\n    # the vessel is tied\n    return rope\n",
    "port/far.py": "def tie(rope):\n    # the rope is tied\n    return rope\n",
    "port/all.py": f"def tie(rope):\n    return rope\n\n\ndef vessel(rope):\n{LONG}\n\ndef boat(rope):\n{LONG}",
    "port/cranes.py": f"def tie(rope):\n    return rope\n\n\ndef crane(rope):\n{LONG}\n\ndef hoist(rope):\n{LONG}",
}


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def ask(folder: IndexedFolder, question: str) -> Ranking:
    table = folder.models.static_table()
    assert table is not None
    settings = SearchSettings(leg_deadline_ms=60_000)
    return rank([folder.reader], [understand(question)], StaticMeaning(table), settings)


def seen(ranking: Ranking, signal: str) -> dict[str, float]:
    """What a signal says of each file."""
    files = ranking.candidates.files
    return {
        file.path: reason.value
        for place, file in enumerate(files)
        for reason in ranking.scores.reasons(place)
        if reason.signal == signal
    }


def test_a_word_that_is_near_in_meaning_counts_for_its_file(folder: IndexedFolder) -> None:
    near = seen(ask(folder, "how to tie the ship rope"), "near words in its best chunk")
    assert near["port/near.py"] > near.get("port/far.py", 0.0)


def test_all_chunks_of_a_file_say_what_it_is_about(folder: IndexedFolder) -> None:
    whole = seen(ask(folder, "how to tie the ship rope"), "meaning of the whole file")
    assert whole["port/all.py"] > whole.get("port/cranes.py", 0.0)


def test_unsaved_text_is_looked_at_as_it_stands(folder: IndexedFolder) -> None:
    folder.type("port/far.py", "def tie(rope):\n    # the boat, a vessel, is tied\n    return rope\n")
    folder.type("port/near.py", "def tie(rope):\n    # the crane is tied\n    return rope\n")
    ranking = ask(folder, "how to tie the ship rope")
    assert seen(ranking, "near words in its best chunk")["port/far.py"] == 1.0
    assert seen(ranking, "meaning of the whole file")["port/far.py"] > 0


def test_who_asks_for_a_name_gets_no_closer_look(folder: IndexedFolder) -> None:
    assert not seen(ask(folder, "tie_rope"), "near words in its best chunk")


@pytest.mark.parametrize("count", [FIRST_FILES - 1, FIRST_FILES, FIRST_FILES + 5])
def test_only_the_first_files_are_looked_at(folder_of: FolderOf, count: int) -> None:
    text = "def tie(rope):\n    # the vessel\n    return rope\n"
    folder = folder_of({f"port/a{n}.py": text + f"# {n}\n" for n in range(count)})
    near = seen(ask(folder, "how to tie the ship rope"), "near words in its best chunk")
    assert len(near) == min(count, FIRST_FILES)
