"""Limits of a field's value, declared beside the field.

`field(default=10, metadata=within(1, 200))` declares limits. `cairn.schema.convert` checks the data that it
reads, `cairn.settings.layers` checks each setting, and `cairn.schema.json_schema` describes the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs
from attrs import frozen

_KEY = "bounds"

MAX_NUMBER = 1_000_000_000
"""The limit of line numbers, positions and counts. It is far below the range of SQLite's 64-bit integers."""

NOT_BLANK = r"\S"
"""The pattern of a text that is not only whitespace."""


@frozen
class Bounds:
    """The limits of a value; for a list or mapping, of each item."""

    low: float | None = None
    high: float | None = None
    """A range of numbers has both ends or neither, so that infinity is never valid."""
    max_chars: int | None = None
    max_items: int | None = None
    far_apart: bool = False
    """Whether an error message names only the violated end of the range."""
    pattern: str | None = None
    """The pattern of a string. It is only for schemas: the class itself checks the string."""

    def problem_with(self, value: Any) -> str | None:
        """Return what is wrong with a value of the right type; None if nothing is."""
        if isinstance(value, str):
            if self.max_chars is not None and len(value) > self.max_chars:
                return f"expected {self.max_chars:,} characters at most, got {len(value):,}"
            return None
        if isinstance(value, Mapping):
            named = ((key, self.problem_with(each)) for key, each in value.items())
            return next((f"{key}: {problem}" for key, problem in named if problem), None)
        if isinstance(value, tuple | list):
            if self.max_items is not None and len(value) > self.max_items:
                return f"expected {self.max_items:,} at most, got {len(value):,}"
            return next(filter(None, map(self.problem_with, value)), None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._problem_with_number(value)
        return None

    def _problem_with_number(self, value: float) -> str | None:
        low, high = self.low, self.high
        if low is None or high is None or (low <= value <= high):
            return None
        if not self.far_apart:
            expected = f"{low:,} to {high:,}"
        elif value > high:
            expected = f"{high:,} at most"
        else:
            expected = f"{low:,} or more" if low else "zero or more"
        # Python does not convert an integer of more than 4,300 digits to text.
        is_huge = isinstance(value, int) and value.bit_length() > 256
        got = f"one of {cast(int, value).bit_length():,} bits" if is_huge else str(value)
        return f"expected {expected}, got {got}"


ANY_NUMBER = Bounds(low=0, high=MAX_NUMBER, far_apart=True)
"""The limits of numbers whose field declares none."""


def within(low: float, high: float) -> dict[str, Any]:
    """Return the metadata of a number from `low` to `high`, inclusive."""
    return {_KEY: Bounds(low=low, high=high)}


def at_most(
    *, chars: int | None = None, items: int | None = None, pattern: str | None = None
) -> dict[str, Any]:
    """Return the metadata of a string, or of a list and its strings."""
    return {_KEY: Bounds(max_chars=chars, max_items=items, pattern=pattern)}


def bounds_of(attribute: attrs.Attribute[Any]) -> Bounds | None:
    """Return the declared limits of a field."""
    return cast("Bounds | None", attribute.metadata.get(_KEY))
