"""Cut chunks into windows: the fewest lines worth showing, not cut within a statement."""

from __future__ import annotations

import re
from collections.abc import Sequence

LEAST_LINES, MOST_LINES = 6, 12
"""The minimum and maximum number of lines of a window. A shorter chunk, such as a small function, stays
whole. The share of facts found within 4,000 tokens for 35 questions was 0.02 lower with 12 to 20 lines, and
0.05 lower with 20 to 40 (docs/ranking.md)."""

_CLOSES = re.compile(r"[)}\]]|(?:end|else|elif|except|catch|finally|done|fi)\b")
_TAB = "    "

# These are the costs of a cut before a line. Deeper indentation adds to the cost.
_AFTER_BLANK = -3.0
_AT_BLANK = 4.0
_BEFORE_CLOSING = 3.0
_DEPTH = 1 / 8
_DEEPEST = 24


def windows(lines: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the windows `[first, last)` into which `lines` are cut, in order."""
    found, first = [], 0
    while len(lines) - first > MOST_LINES:
        places = range(first + LEAST_LINES, first + MOST_LINES + 1)
        last = min(places, key=lambda place: _loss(lines, place, first))
        found.append((first, last))
        first = last
    return (*found, (first, len(lines)))


def _loss(lines: Sequence[str], place: int, first: int) -> float:
    line, before = lines[place], lines[place - 1]
    bare = line.strip()
    middle = first + (LEAST_LINES + MOST_LINES) / 2
    loss = abs(place - middle) / (MOST_LINES - LEAST_LINES + 1)
    loss += _AFTER_BLANK * (not before.strip()) + _AT_BLANK * (not bare)
    return loss + _BEFORE_CLOSING * bool(_CLOSES.match(bare)) + _DEPTH * min(_DEEPEST, indentation(line))


def indentation(line: str) -> int:
    """Return the width of the white space before a line's text in columns; 0 for a blank line."""
    wide = line.replace("\t", _TAB)
    bare = wide.lstrip()
    return len(wide) - len(bare) if bare else 0
