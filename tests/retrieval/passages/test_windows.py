"""Windows divide all lines of a chunk into small, complete pieces. The best ones show how well a question is
answered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.chunking.model import Chunk
from cairn.embedding.static import StaticTable
from cairn.index.reader.records import StoredChunk
from cairn.protocol.search_messages import ChunkType
from cairn.retrieval.query import understand
from cairn.retrieval.window_columns import Windows
from cairn.retrieval.window_ranking import Strength, strength
from cairn.retrieval.windows import LEAST_LINES, MOST_LINES, read_chunks, windows

LINES = st.lists(
    st.one_of(st.sampled_from(["", "}", "    end", "def moor():", "\treturn 1"]), st.text()), max_size=40
)


@given(LINES)
def test_windows_contain_every_line_once_and_in_order(lines: list[str]) -> None:
    spans = windows(lines)
    assert [n for first, last in spans for n in range(first, last)] == list(range(len(lines)))


@given(LINES)
def test_only_the_last_window_may_be_short(lines: list[str]) -> None:
    heights = [last - first for first, last in windows(lines)]
    assert max(heights) <= MOST_LINES
    assert all(height >= LEAST_LINES for height in heights[:-1])


def test_a_small_function_stays_whole() -> None:
    assert windows(["def moor():", *["    wait()"] * (MOST_LINES - 1)]) == ((0, MOST_LINES),)


@pytest.mark.parametrize("closing", ["}", "    })", "];", "end", "else:", "except ValueError:"])
def test_no_cut_precedes_the_end_of_a_block(closing: str) -> None:
    for place in range(7, 12):
        lines = ["moor()"] * 24
        lines[place] = closing
        assert place not in [first for first, _ in windows(lines)]


@pytest.mark.parametrize("place", range(LEAST_LINES, MOST_LINES))
def test_a_cut_follows_a_blank_line(place: int) -> None:
    lines = ["moor()"] * 24
    lines[place - 1] = ""
    assert windows(lines)[0] == (0, place)


def test_a_cut_precedes_a_definition() -> None:
    body = [f"        step_{n}()" for n in range(8)]
    lines = ["class Berth:", "    def moor(self):", *body[:6], "    def leave(self):", *body, *body]
    assert windows(lines)[0] == (0, 8)
    assert all(first < last for first, last in pairwise([first for first, _ in windows(lines)]))


def test_a_tab_counts_as_four_columns() -> None:
    deep, shallow = ["\t\t\twait()"] * 9, ["\tmoor()"]
    lines = [*deep, *shallow, *deep]
    assert windows(lines)[0] == (0, 9)
    assert windows(lines) == windows([line.replace("\t", "    ") for line in lines])


TABLE = cast(StaticTable, object())


def strength_of(
    question: str,
    files: Sequence[tuple[str, str]],
    scores: Sequence[float],
    table: StaticTable | None = TABLE,
) -> Strength:
    """Return the strength of files, given by path and text, with one window each."""
    chunks = [
        StoredChunk(number, path, "docs", "docs", Chunk(0, 0, 1, text, ChunkType.PROSE), "")
        for number, (path, text) in enumerate(files)
    ]
    read = read_chunks(chunks, None)
    places, folders, spans = np.arange(len(files)), [0] * len(files), [each.spans[0] for each in read]
    windows = Windows(understand(question), table, chunks, folders, read, places, spans, (), (), {})
    return strength(windows, np.array(scores), np.array(scores) / 10)


def test_the_best_three_passages_count() -> None:
    files = [(f"{n}.md", "tide") for n in range(5)]
    assert strength_of("tide tables", files, [1, 5, 4, 3, 2]).similarity == pytest.approx(0.4)
    assert strength_of("tide tables", files, [1, 5, 4, 3, 2], table=None).similarity is None


def test_terms_are_collected_by_file() -> None:
    files = [("a.md", "the tide"), ("b.md", "tables"), ("a.md", "of the harbour")]
    found = strength_of("tide tables harbour", files, [3, 2, 1])
    assert found.terms_by_file == (frozenset({0, 2}), frozenset({1}))


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Which option writes tide tables as YAML?", 1),
        ("Which option keeps Redis connections to the harbour?", 1),
        ("Which option speaks HTTP2 to Kafka?", 2),
        ("Which option writes Tide tables?", 0),
        ("Where do I find moorings? Kept in what?", 0),
        ("which option writes yaml", 0),
        ("What do I have to change to add YAML as another format of the tide tables?", 0),
        ("It fails with: no harbour of the name PIER7 is known. Where is that checked?", 0),
    ],
)
def test_names_without_a_passage_are_counted(question: str, missing: int) -> None:
    files = [("a.md", "the tide tables of the harbour")]
    assert strength_of(question, files, [1]).missing_names == missing
