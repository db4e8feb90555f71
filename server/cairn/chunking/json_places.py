"""A JSON text by the places of its values: what to cite for something that a JSON file holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

_SPACE = re.compile(r"[ \t\r\n]*")
# As lenient as what writes such files: control characters may stand in strings.
_DECODER = json.JSONDecoder(strict=False)


@frozen
class Value:
    """A value and the offsets `[start, end)` of its text."""

    content: Any
    start: int
    end: int


def read_json(text: str) -> Value:
    """The value that `text` is, a byte order mark before it or not.

    Raises ValueError if it is no JSON, RecursionError if it is nested too deeply to be read.
    """
    start = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    value = _value_at(text, start)
    if _after_space(text, value.end) != len(text):
        raise ValueError("there is more than one JSON value")
    return value


def members(text: str, value: Value) -> dict[str, Value]:
    """The values in an object of `text`, none if it is something else; of equal keys the last one counts."""
    found: dict[str, Value] = {}
    if not isinstance(value.content, dict):
        return found
    at = _after_space(text, value.start + 1)
    while text[at] != "}":
        key = _value_at(text, at)
        # Past the colon.
        member = _value_at(text, _after_space(text, _after_space(text, key.end) + 1))
        found[str(key.content)] = member
        at = _next(text, member.end)
    return found


def items(text: str, value: Value) -> Iterator[Value]:
    """The values in an array of `text`, none if it is something else."""
    if not isinstance(value.content, list):
        return
    at = _after_space(text, value.start + 1)
    while text[at] != "]":
        item = _value_at(text, at)
        yield item
        at = _next(text, item.end)


def _value_at(text: str, start: int) -> Value:
    content, end = _DECODER.raw_decode(text, start)
    return Value(content, start, end)


def _next(text: str, end: int) -> int:
    """Where the next value, or the closing bracket, stands."""
    at = _after_space(text, end)
    return _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
