"""A search lets the best passage of each file count beside the file."""

from __future__ import annotations

from cairn.chunking.chunker import chunk_text
from cairn.index.reader.records import StoredChunk
from cairn.retrieval.passages.further import by_best_passage
from cairn.retrieval.passages.ranking import Passage
from cairn.retrieval.scores import Ranked


def stored(path: str) -> StoredChunk:
    return StoredChunk(1, path, "source", "p-source", chunk_text(path, "def moor():\n    pass\n")[0], "00")


def ranked(path: str, score: float) -> Ranked:
    return Ranked(0, stored(path), score, "hybrid", ())


def passage(path: str, score: float) -> Passage:
    return Passage(0, stored(path), 0, 2, score, "")


def test_of_files_that_are_nearly_alike_the_one_with_the_better_passage_comes_first() -> None:
    found = [ranked("a.py", 0.50), ranked("b.py", 0.48), ranked("c.py", 0.20)]
    passages = [passage("b.py", 4.0), passage("c.py", 3.9), passage("b.py", 3.0), passage("a.py", 1.0)]
    after = by_best_passage(found, passages)
    assert [result.stored.path for result in after] == ["b.py", "a.py", "c.py"]
    assert [result.score for result in after] == [0.50, 0.48, 0.20]


def test_without_passages_nothing_changes() -> None:
    found = [ranked("a.py", 0.50), ranked("b.py", 0.48)]
    assert by_best_passage(found, []) == found
    assert by_best_passage([], []) == []


def test_a_file_without_a_passage_counts_as_the_worst_of_them() -> None:
    found = [ranked("a.py", 0.50), ranked("b.py", 0.45)]
    passages = [passage("b.py", 4.0), passage("x.py", 1.0)]
    assert [result.stored.path for result in by_best_passage(found, passages)] == ["b.py", "a.py"]
