"""Decide whether cited lines contain a text.

The lines are compared as a reader sees them: without leading comment and quotation marks, without inline
markup, and with whitespace collapsed. A text of several parts, joined by `OMISSION`, must occur part by part.
"""

from __future__ import annotations

import functools
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from cairn.text.inline_markup import strip_inline

OMISSION = " … "
"""The separator between parts of a quotation that are not adjacent in the file."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT = r"(?:#:|#!?|///|//!|//|/\*+!?|\*|--|;;+|%+)(?=\s|\Z)"
_QUOTATION = r"(?:>\s?)*>(?!>)(?=\s|\Z)"
_LEADING_MARK = re.compile(rf"{_COMMENT}(?:\s*{_QUOTATION})?|{_QUOTATION}")
_PASSED_OVER = re.compile(r"\*/|[*_~\\]")
_WORD = re.compile(r"\w")


def lines_of(text: str) -> list[str]:
    """Return the lines of `text` as editors count them: only `\\n`, `\\r\\n` and `\\r` end a line."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


def lines_with_ends(text: str) -> list[str]:
    """Return the lines of `text` with their ends, as editors count them."""
    return io.StringIO(text, newline="").readlines()


def without_mark(line: str) -> str:
    """Return `line` without surrounding whitespace and without a leading comment or quotation mark."""
    line = line.strip()
    mark = _LEADING_MARK.match(line)
    return line[mark.end() :].strip() if mark else line


def starts_with_mark(text: str) -> bool:
    """Return whether the text starts with a mark that quotations lose (see `without_mark`)."""
    return bool(_LEADING_MARK.match(text))


def stands_in(text: str, lines: Iterable[str]) -> bool:
    """Return whether `lines` contain `text`, in order, as whole words. Every citation has to pass this check.

    The lines may contain the text as it is, like code, or without inline markup. `*`, `_`, `~`, `\\` and the
    end of a block comment are ignored, because an emphasis may begin or end on another line.
    """
    readings = _readings(tuple(lines))
    parts = [_folded(without_mark(part)) for part in text.split(OMISSION)]
    return any(_span(parts, reading) for reading in readings)


@functools.lru_cache(16)  # A long line contains many sentences.
def _readings(lines: tuple[str, ...]) -> frozenset[str]:
    """Return the lines, joined, as they are and without inline markup."""
    bare = [without_mark(line) for line in lines]
    return frozenset((_folded(" ".join(bare)), _folded(strip_inline("\n".join(bare)).text)))


def _folded(text: str) -> str:
    return " ".join(_PASSED_OVER.sub("", text).split())


def find_lines(text: str, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the first lines `[first, last)` that contain `text` with its markup; None if none do."""
    reading, starts, numbers = _numbered_reading(tuple(lines))
    span = _span(list(map(_folded, text.split(OMISSION))), reading)
    if span is None:
        return None
    first, last = (numbers[bisect_right(starts, place) - 1] for place in (span[0], span[1] - 1))
    return first, last + 1


@functools.lru_cache(1)
def _numbered_reading(lines: tuple[str, ...]) -> tuple[str, list[int], list[int]]:
    """Return the lines with text, joined, and for each its offset there and its number."""
    folded = {number: bare for number, line in enumerate(lines) if (bare := _folded(without_mark(line)))}
    starts = accumulate((len(bare) + 1 for bare in folded.values()), initial=0)
    return " ".join(folded.values()), list(starts), list(folded)


def _span(parts: Sequence[str], reading: str) -> tuple[int, int] | None:
    """Return the range of `reading` that contains all parts, in order; None if it does not contain them."""
    if not all(parts):
        return None
    first = position = find_words(parts[0], reading)
    for part in parts:
        start = find_words(part, reading, max(position, 0))
        if start < 0:
            return None
        position = start + len(part)
    return first, position


def find_words(part: str, reading: str, position: int = 0) -> int:
    """Return the offset of `part` in `reading`, from `position` on, at word boundaries; -1 if absent."""
    start = reading.find(part, position)
    while start >= 0:
        end = start + len(part)
        cut_before = start and _WORD.match(reading[start - 1]) and _WORD.match(part[0])
        cut_after = end < len(reading) and _WORD.match(reading[end]) and _WORD.match(part[-1])
        if not cut_before and not cut_after:
            return start
        start = reading.find(part, start + 1)
    return -1
