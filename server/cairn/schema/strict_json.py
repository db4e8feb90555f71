"""Strict JSON, for untrusted requests and for answers that any parser can read.

Python's own parser accepts NaN and duplicate keys, and returns text that cannot be encoded as UTF-8.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

MAX_DEPTH = 64
"""The maximum nesting of lists and objects. Valid params have at most 6 levels."""


class MalformedJsonError(ValueError):
    """The body is not valid JSON, or exceeds a limit."""


def loads(body: bytes) -> Any:
    """Parse UTF-8 JSON. Raise MalformedJsonError, which says what is wrong."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise MalformedJsonError(f"the body is not UTF-8: {problem.reason} at byte {problem.start}") from None
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
        raise MalformedJsonError(f"the body is not JSON: {problem.msg} at {where}") from None
    except ValueError:  # Python limits the number of digits of an integer.
        raise MalformedJsonError("the body contains a whole number with too many digits") from None
    _check(data)
    return data


def dumps(data: Any) -> bytes:
    """Encode as compact UTF-8. Raise ValueError for NaN and infinity."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A file name that is not UTF-8 contains lone surrogates; JSON escapes them as Python does.
    return text.encode("utf-8", "backslashreplace")


_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_DEEP = f"the body is nested deeper than {MAX_DEPTH} levels"


def _constant(name: str) -> Any:
    raise MalformedJsonError(f"the body contains {name}, which JSON does not have")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise MalformedJsonError(f"the body contains a number that is too large, {text[:40]}")
    return number


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise MalformedJsonError(f"the body contains the key {_shown(twice)} twice in one object")
    return found


def _check(data: Any) -> None:
    level = [data]
    for depth in itertools.count(1):
        for text in level:
            if isinstance(text, str) and not text.isascii() and _SURROGATE.search(text):
                raise MalformedJsonError(f"the body contains half a surrogate pair, in {_shown(text)}")
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
