"""Ranges of whole numbers, such as those of lines."""

from __future__ import annotations

from collections.abc import Iterable


def ranges_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return different numbers as ranges `[start, end)` of neighbours, in order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        begin = ranges.pop()[0] if ranges and ranges[-1][1] == number else number
        ranges.append((begin, number + 1))
    return ranges
