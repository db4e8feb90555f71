"""A JSON text by the places of its values: what to cite for something that a JSON file holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

# As lenient as what writes such files: control characters may stand in strings.
_DECODER = json.JSONDecoder(strict=False)
_BEFORE = re.compile(r"\ufeff?[ \t\r\n]*")
# Once all of the text has been read, what stands between two values need not be looked at.
_BETWEEN = re.compile(r"[ \t\r\n,:]*")


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
    value = _value_at(text, _skip(_BEFORE, text, 0))
    if text[value.end :].strip(" \t\r\n"):
        raise ValueError("there is more than one JSON value")
    return value


def members(text: str, value: Value) -> dict[str, Value]:
    """The values in an object of `text`, none if it is something else; of equal keys the last one counts."""
    parts = _parts(text, value) if isinstance(value.content, dict) else iter(())
    return {str(key.content): member for key, member in zip(parts, parts, strict=True)}


def items(text: str, value: Value) -> list[Value]:
    """The values in an array of `text`, none if it is something else."""
    return list(_parts(text, value)) if isinstance(value.content, list) else []


def _parts(text: str, value: Value) -> Iterator[Value]:
    """The values in an array; the keys and values of an object by turns."""
    at = _skip(_BETWEEN, text, value.start + 1)
    while text[at] not in "]}":
        part = _value_at(text, at)
        yield part
        at = _skip(_BETWEEN, text, part.end)


def _value_at(text: str, start: int) -> Value:
    content, end = _DECODER.raw_decode(text, start)
    return Value(content, start, end)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    skipped = pattern.match(text, at)
    return skipped.end() if skipped else at
