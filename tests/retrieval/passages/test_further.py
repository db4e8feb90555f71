"""A search adds further passages of the files that it shows, and ranks files by their best passages too."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.retrieval.passages.folder_with_passages import FolderOf

from cairn.chunking.chunker import chunk_text
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.scores import Ranked
from cairn.retrieval.window_ranking import by_best_passage
from cairn.retrieval.windows import Passage

STEPS = (
    "berth ship mooring",
    "tide water pilot",
    "crane crate unloading",
    "customs duty paper",
    "fuel bunker barge",
    "anchor chain winch",
    "ship berth mooring rope",
    "ship berth mooring fee",
)


def long_file(gap: int) -> str:
    """Return eight functions with `gap` lines of other code between them."""
    parts = []
    for number, words in enumerate(STEPS):
        name = words.replace(" ", "_")
        parts.append(f'def {name}_{number}(harbour, ship):\n    """Handle the {words} of the ship."""\n')
        parts += [f"    harbour.do_{name}(ship, {line})\n" for line in range(6)]
        parts += [f"    ledger.append(entry_{number}_{line})\n" for line in range(gap)]
        parts.append("\n\n")
    return "".join(parts)


OTHER = (
    'def leave(ship):\n    """Let the ship leave the berth, and its mooring be free."""\n    ship.leave()\n'
)
FILES = {"port/steps.py": long_file(12), "port/leaving.py": OTHER}
QUESTION = "how is the mooring of a ship at a berth handled"


@pytest.mark.parametrize("gap", [0, 12, 40])
def test_further_passages_do_not_overlap(folder_of: FolderOf, gap: int) -> None:
    folder = folder_of({"port/steps.py": long_file(gap), "port/leaving.py": OTHER})
    found = 0
    for result, further in folder.further(QUESTION, most=2):
        chunk = result.stored.chunk
        spans = sorted([(chunk.start_line, chunk.end_line), *((each.first, each.last) for each in further)])
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans
        assert len(further) <= 2
        found += len(further)
    assert found


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_further_passages_are_lines_of_the_file(folder_of: FolderOf, line_end: str) -> None:
    text = long_file(12)
    folder = folder_of({"port/steps.py": text.replace("\n", line_end), "port/leaving.py": OTHER})
    lines = text.split("\n")
    every = [each for result, further in folder.further(QUESTION, most=2) for each in further]
    assert every
    for each in every:
        assert each.text == "\n".join(lines[each.first : each.last])
        assert lines[each.first].strip()
        assert lines[each.last - 1].strip()


@pytest.mark.parametrize(("query", "most"), [(QUESTION, 0), ("ship_berth_mooring_rope_6", 2)])
def test_a_limit_of_0_or_a_name_has_no_further_passages(folder_of: FolderOf, query: str, most: int) -> None:
    shown = folder_of(FILES).further(query, most)
    assert shown
    assert not any(further for _, further in shown)


def test_further_passages_have_unsaved_text(folder_of: FolderOf) -> None:
    folder = folder_of(FILES)
    typed = "# typed\n" + long_file(12).replace("the ship.", "the vessel and her ship.")
    folder.type("port/steps.py", typed)
    lines = typed.split("\n")
    every = [
        each
        for result, further in folder.further(QUESTION, most=2)
        for each in further
        if result.stored.path == "port/steps.py"
    ]
    assert every
    assert all(each.text == "\n".join(lines[each.first : each.last]) for each in every)


def stored(path: str) -> StoredChunk:
    return StoredChunk(1, path, "source", "p-source", chunk_text(path, "def moor():\n    pass\n")[0], "00")


@pytest.mark.parametrize(
    ("files", "passages", "order"),
    [
        ({"a": 0.50, "b": 0.48, "c": 0.20}, [("b", 4.0), ("c", 3.9), ("b", 3.0), ("a", 1.0)], "bac"),
        ({"a": 0.50, "b": 0.45}, [("b", 4.0), ("x", 1.0)], "ba"),  # without a passage, the worst one counts
        ({"a": 0.50, "b": 0.48}, [], "ab"),
        ({}, [], ""),
    ],
    ids=["nearly equal files", "a file without passages", "no passages", "nothing"],
)
def test_the_better_passage_decides(
    files: dict[str, float], passages: list[tuple[str, float]], order: str
) -> None:
    found = [Ranked(0, stored(path), score, "hybrid", ()) for path, score in files.items()]
    ranked = by_best_passage(found, [Passage(0, stored(path), 0, 2, score, "") for path, score in passages])
    assert "".join(result.stored.path for result in ranked) == order
    assert [result.score for result in ranked] == list(files.values())
