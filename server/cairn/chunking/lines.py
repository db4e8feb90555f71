"""Split a text into lines, and choose where to cut a run of lines that is too long.

A line ends with `\\n`, `\\r\\n` or `\\r`, as in LSP. `str.splitlines` also ends lines at form feeds and
Unicode separators and so numbers lines differently from every editor.
"""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

# A line that starts with one of these closes the lines above it, so no chunk should begin there.
_CLOSERS = ("}", ")", "]", "end", "else", "fi", "done", "esac", "*/", "</", '"""', "'''")
_COMMENT_MARKS = "/*#-;!%"
# The minimum size of a piece, as a share of the maximum. It leaves room to choose a good cut.
_LEAST_FILL = 0.5
# A run of lines of up to _TWO_PIECES times the maximum is cut into two pieces, each with at least
# _LEAST_SHARE of the run.
_TWO_PIECES = 1.7
_LEAST_SHARE = 0.3
# The indentation beyond which a cut does not become worse.
_DEEPEST_INDENT = 12


class Lines:
    """The lines of a text, each with its line end, and the sizes of runs of lines in characters."""

    def __init__(self, text: str) -> None:
        # newline="" splits at all three line ends and keeps them.
        self.lines: Sequence[str] = io.StringIO(text, newline="").readlines()
        self._offsets = list(accumulate(map(len, self.lines), initial=0))
        self._whole = text

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> str:
        return self.lines[index]

    def size(self, start: int, end: int) -> int:
        return self._offsets[end] - self._offsets[start]

    def text(self, start: int, end: int) -> str:
        return self._whole[self._offsets[start] : self._offsets[end]]

    def line_at(self, offset: int) -> int:
        """Return the line of the character at `offset` of the text; the last line for the end of the text."""
        return min(bisect_right(self._offsets, offset), len(self.lines)) - 1

    def is_blank(self, start: int, end: int) -> bool:
        return not self.text(start, end).strip()

    def pieces(self, start: int, end: int, maximum: int) -> Iterator[tuple[int, int]]:
        """Return the pieces `[start, end)` that `cuts` makes of the lines."""
        return pairwise([start, *self.cuts(start, end, maximum), end])

    def cuts(self, start: int, end: int, maximum: int) -> list[int]:
        """Return the lines at which to cut `[start, end)` into pieces of at most `maximum` characters.

        Cuts prefer to follow blank lines and to have little indentation. A line longer than `maximum` becomes
        a piece of its own. Blank lines at either end of a piece do not count, and no piece is blank. The
        result is sorted and contains neither `start` nor `end`.
        """
        while start < end and not self.lines[start].strip():
            start += 1
        while end > start and not self.lines[end - 1].strip():
            end -= 1
        result: list[int] = []
        while (left := self.size(start, end)) > maximum:
            if left > _TWO_PIECES * maximum:
                least, most = _LEAST_FILL * maximum, float(maximum)
            else:
                least, most = (
                    max(left - maximum, _LEAST_SHARE * left),
                    min(maximum, left - _LEAST_SHARE * left),
                )
            first = bisect_left(self._offsets, self._offsets[start] + least)
            last = bisect_right(self._offsets, self._offsets[start] + most) - 1
            candidates = range(max(first, start + 1), min(last, end - 1) + 1)
            fallback = max(bisect_right(self._offsets, self._offsets[start] + maximum) - 1, start + 1)
            start = max(candidates, key=self._cut_quality, default=fallback)
            while start < end and not self.lines[start].strip():
                start += 1
            if start >= end:
                break
            result.append(start)
        return result

    def _cut_quality(self, index: int) -> tuple[int, int]:
        """Return how well a chunk could begin at line `index`. Of equal lines, the last one wins."""
        line = self.lines[index]
        stripped = line.strip()
        if not stripped:
            return -_DEEPEST_INDENT * 2, index
        quality = -min(len(line) - len(line.lstrip()), _DEEPEST_INDENT)
        before = self.lines[index - 1].strip()
        if not before:
            quality += _DEEPEST_INDENT
        elif not before.strip(_COMMENT_MARKS):
            quality += _DEEPEST_INDENT // 2
        if stripped.startswith(_CLOSERS):
            quality -= 2 * _DEEPEST_INDENT
        return quality, index
