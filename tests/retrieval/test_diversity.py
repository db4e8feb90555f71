"""Near-duplicates come last; a repeated file is damped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol.search_messages import ChunkType
from cairn.retrieval.scores import Ranked, diversify
from cairn.settings.tree import DiversitySettings

DAMPED = DiversitySettings(file=0.85)
OFF = DiversitySettings(file=1.0, near_duplicate=1.0)
TEXT = "the harbour master assigns each arriving ship to the shortest berth that is free and long enough"
LONG = " ".join(f"word{n}" for n in range(60))


def result(score: float, path: str, text: str, key: int = 0, folder: int = 0) -> Ranked:
    chunk = Chunk(0, 0, 1, text, ChunkType.CODE)
    return Ranked(folder, StoredChunk(key, path, "source", "", chunk, ""), score, "keyword", ())


def ranked(*paths: str, scores: tuple[float, ...] = (1.0,) * 9) -> list[Ranked]:
    return [
        result(score, path, f"text number {place}", key=place)
        for place, (path, score) in enumerate(zip(paths, scores, strict=False))
    ]


def by_key(results: list[Ranked]) -> dict[int, float]:
    return {each.stored.id: round(each.score, 6) for each in results}


def paths_of(results: list[Ranked]) -> list[str]:
    return [each.stored.path for each in results]


def test_further_results_of_a_file_are_damped_and_fall_below_others() -> None:
    found = diversify(ranked("a/1.py", "a/1.py", "b/1.py", "a/1.py", scores=(1.0, 0.9, 0.8, 0.7)), DAMPED)
    assert paths_of(found) == ["a/1.py", "b/1.py", "a/1.py", "a/1.py"]
    assert by_key(found) == {0: 1.0, 2: 0.8, 1: 0.765, 3: 0.595}


def test_files_of_two_folders_are_different() -> None:
    found = [result(1.0, "a/1.py", f"t {n}", key=n, folder=n) for n in range(2)]
    assert set(by_key(diversify(found, DAMPED)).values()) == {1.0}


@pytest.mark.parametrize(
    ("text", "copy", "is_copy"),
    [
        (TEXT, TEXT, True),
        (TEXT, f"\n{TEXT}  \n", True),
        (TEXT, TEXT.upper(), True),
        (LONG, LONG.replace("word30", "changed"), True),
        (TEXT, TEXT.replace("harbour", "port"), False),  # one word of sixteen is two of fifteen pairs
        (TEXT, " ".join(reversed(TEXT.split())), False),
        (TEXT, "something else entirely, which says nothing about any harbour or any ship at all", False),
        ("import os", "import os", True),  # short texts must be equal
        ("import os", "import sys", False),
    ],
)
def test_near_duplicates_come_last(text: str, copy: str, is_copy: bool) -> None:
    found = diversify(
        [result(1.0, "a.py", text), result(0.9, "b.py", copy), result(0.1, "c.py", "x")], DAMPED
    )
    assert paths_of(found) == (["a.py", "c.py", "b.py"] if is_copy else ["a.py", "b.py", "c.py"])
    assert not is_copy or found[2].score <= 0.45


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1), st.sampled_from(["a/x", "a/y", "b/x", "c"]), st.sampled_from(["p", "q", TEXT])
        )
    )
)
def test_all_results_stay_and_are_ordered(rows: list[tuple[float, str, str]]) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    results = [result(score, path, text, key=place) for place, (score, path, text) in enumerate(rows)]
    found = diversify(results, DAMPED)
    assert sorted(r.stored.id for r in found) == list(range(len(rows)))
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(r.score <= results[r.stored.id].score for r in found)
    assert diversify(results, OFF) == results
