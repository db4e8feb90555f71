"""Windows divide all lines of a chunk into small, complete pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.windows import LEAST_LINES, MOST_LINES, indentation, windows

LINES = st.lists(
    st.one_of(st.sampled_from(["", "}", "    end", "def moor():", "\treturn 1"]), st.text()), max_size=120
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


@pytest.mark.parametrize(
    ("line", "columns"), [("", 0), ("   ", 0), ("x", 0), ("    x", 4), ("\tx", 4), ("\t  x", 6)]
)
def test_indentation_counts_columns(line: str, columns: int) -> None:
    assert indentation(line) == columns
