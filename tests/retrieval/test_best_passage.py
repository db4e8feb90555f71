"""A search ranks files by their best passages too."""

from __future__ import annotations

import pytest

from cairn.chunking.chunker import chunk_text
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.further_passages import by_best_passage
from cairn.retrieval.scores import Ranked
from cairn.retrieval.windows import Passage


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
