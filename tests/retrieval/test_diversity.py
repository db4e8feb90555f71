"""Copies fall behind; a repeated directory, name or file is damped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.chunking.model import Chunk
from cairn.index.reader.records import StoredChunk
from cairn.protocol.chunk_type import ChunkType
from cairn.retrieval.diversity import diversify
from cairn.retrieval.scores import Ranked
from cairn.settings.tree import DiversitySettings

S5 = DiversitySettings(directory=0.8, file_name=0.85, file=0.85)
OFF = DiversitySettings(directory=1.0, file_name=1.0, file=1.0, near_duplicate=1.0)
TEXT = "the harbour master assigns each arriving ship to the shortest berth that is free and long enough"


def result(score: float, path: str, text: str, key: int = 0, folder: int = 0) -> Ranked:
    chunk = Chunk(0, 0, 1, text, ChunkType.CODE)
    return Ranked(folder, StoredChunk(key, path, "source", "", chunk, ""), score, "keyword", ())


def ranked(*paths: str, scores: list[float] | None = None) -> list[Ranked]:
    return [
        result((scores or [1.0] * len(paths))[place], path, f"text number {place}", key=place)
        for place, path in enumerate(paths)
    ]


def by_key(results: list[Ranked]) -> dict[int, float]:
    return {each.stored.id: round(each.score, 6) for each in results}


def paths_of(results: list[Ranked]) -> list[str]:
    return [each.stored.path for each in results]


def test_the_third_file_of_a_directory_is_damped() -> None:
    scores = by_key(diversify(ranked("a/1.py", "a/2.py", "a/3.py", "a/4.py", "b/5.py"), S5))
    assert scores == {0: 1.0, 1: 1.0, 2: 0.8, 3: 0.8, 4: 1.0}


def test_a_repeated_name_and_a_repeated_file_are_damped() -> None:
    found = diversify(ranked("a/mod.rs", "b/mod.rs", "c/lib.rs", "c/lib.rs"), S5)
    assert by_key(found) == {0: 1.0, 1: 0.85, 2: 1.0, 3: 0.85}


def test_what_is_damped_falls_below_others() -> None:
    paths = ranked("a/1.py", "a/2.py", "a/3.py", "b/4.py", scores=[1.0, 0.9, 0.8, 0.7])
    assert paths_of(diversify(paths, S5)) == [
        "a/1.py", "a/2.py", "b/4.py", "a/3.py",
    ]  # fmt: skip


def test_the_same_directory_in_two_folders_is_not_one() -> None:
    found = [result(1.0, f"a/{n}.py", f"t {n}", key=n, folder=n % 2) for n in range(4)]
    assert set(by_key(diversify(found, S5)).values()) == {1.0}


@pytest.mark.parametrize(
    ("copy", "is_copy"),
    [
        (TEXT, True),
        (f"\n{TEXT}  \n", True),
        (TEXT.upper(), True),
        (TEXT.replace("harbour", "port"), False),  # one word of sixteen is two of fifteen pairs
        (" ".join(reversed(TEXT.split())), False),
        ("something else entirely, which says nothing about any harbour or any ship at all", False),
    ],
)
def test_a_near_duplicate_stands_behind_all_others(copy: str, is_copy: bool) -> None:
    found = [result(1.0, "a.py", TEXT), result(0.9, "b.py", copy), result(0.1, "c.py", "other")]
    paths = paths_of(diversify(found, S5))
    assert paths == (["a.py", "c.py", "b.py"] if is_copy else ["a.py", "b.py", "c.py"])


def test_a_long_text_with_a_changed_word_is_a_copy() -> None:
    long = " ".join(f"word{n}" for n in range(60))
    found = [
        result(1.0, "a.py", long),
        result(0.9, "b.py", long.replace("word30", "changed")),
        result(0.1, "c.py", "x"),
    ]
    assert paths_of(diversify(found, S5)) == ["a.py", "c.py", "b.py"]


def test_short_texts_are_copies_only_where_they_are_equal() -> None:
    found = [
        result(1.0, "a.py", "import os"),
        result(0.9, "b.py", "import sys"),
        result(0.8, "c.py", "import os"),
    ]
    assert paths_of(diversify(found, S5)) == ["a.py", "b.py", "c.py"]
    assert diversify(found, S5)[2].score <= 0.45


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1), st.sampled_from(["a/x", "a/y", "b/x", "c"]), st.sampled_from(["p", "q", TEXT])
        )
    )
)
def test_nothing_is_lost_and_all_stays_ordered(rows: list[tuple[float, str, str]]) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    given_ = [result(score, path, text, key=place) for place, (score, path, text) in enumerate(rows)]
    found = diversify(given_, S5)
    assert sorted(r.stored.id for r in found) == list(range(len(rows)))
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(r.score <= given_[r.stored.id].score for r in found)
    assert diversify(given_, OFF) == given_
