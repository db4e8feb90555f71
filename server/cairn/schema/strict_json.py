"""JSON as its standard has it, and nothing else: for requests of strangers, and for answers that any parser reads.

Python's own parser takes NaN, lets the last of two equal keys win, and gives text that cannot be written as UTF-8.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

MAX_DEPTH = 64
"""Of lists and objects in each other; the deepest params have 6."""


class MalformedJsonError(ValueError):
    """What was read is no JSON, or none that is taken."""


def loads(body: bytes) -> Any:
    """The data in UTF-8 JSON. Raises MalformedJsonError, whose text says what is wrong."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise MalformedJsonError(f"the body is no UTF-8: {problem.reason} at byte {problem.start}") from None
    try:
        data = json.loads(
            text, parse_constant=_constant, parse_float=_number, object_pairs_hook=_without_duplicates
        )
    except MalformedJsonError:
        raise
    except RecursionError:
        raise MalformedJsonError(_TOO_DEEP) from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise MalformedJsonError(f"the body is no JSON: {problem.msg} at {where}") from None
    except ValueError:  # Python's limit of digits
        raise MalformedJsonError("the body holds a whole number of too many digits") from None
    _check(data)
    return data


def dumps(data: Any) -> bytes:
    """Compact UTF-8. Raises ValueError for a number that JSON has not."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A file's name that is no UTF-8 reads as half a pair of surrogates, whose escape in JSON is Python's.
    return text.encode("utf-8", "backslashreplace")


_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_DEEP = f"the body is nested deeper than {MAX_DEPTH} levels"


def _constant(name: str) -> Any:
    raise MalformedJsonError(f"the body holds {name}, which JSON does not have")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise MalformedJsonError(f"the body holds a number that is too large, {text[:40]}")
    return number


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise MalformedJsonError(f"the body holds the key {_shown(twice)} twice in one object")
    return found


def _check(data: Any) -> None:
    level = [data]
    for depth in itertools.count(1):
        for text in level:
            if isinstance(text, str) and not text.isascii() and _SURROGATE.search(text):
                raise MalformedJsonError(f"the body holds half a surrogate pair, in {_shown(text)}")
        containers = [each for each in level if isinstance(each, dict | list)]
        if not containers:
            return
        if depth > MAX_DEPTH:
            raise MalformedJsonError(_TOO_DEEP)
        level = [
            *itertools.chain(*containers, *(each.values() for each in containers if isinstance(each, dict)))
        ]


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:39] + "…")
