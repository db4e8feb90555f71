"""Cursors of answers in several parts: short texts that say how much earlier answers to a question contained.

The server keeps no state for a cursor. If the index has changed, the next answer comes from the new index.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from cairn.errors import InvalidRequestError

Steps = tuple[tuple[int, int], ...]
"""Pairs of numbers, one for each earlier answer. Each tool gives them its own meaning."""

_CURSOR = re.compile(
    r"(?:cursor=)?(?P<steps>[0-9]{1,9}(?:-[0-9]{1,9})?(?:_[0-9]{1,9}(?:-[0-9]{1,9})?){0,20})"
    r"\.(?P<mark>[0-9a-f]{4})"
)


def cursor_of(steps: Steps, *question: Any) -> str:
    """Return the cursor after these steps of the answer to `question`."""
    written = (f"{first}-{second}" if second else str(first) for first, second in steps)
    return f"{'_'.join(written)}.{_mark(question)}"


def steps_of(cursor: str, *question: Any) -> Steps:
    """Return the steps of a cursor, none for "". Raise InvalidRequestError for another question's cursor."""
    if not cursor:
        return ()
    found = _CURSOR.fullmatch(cursor.strip().strip("'\"`"))
    if found is None:
        problem = (
            f"{cursor[:60]!r} is not a cursor; copy it from the line `more:` of an answer, or leave it out"
        )
        raise InvalidRequestError("cursor", problem)
    if found["mark"] != _mark(question):
        raise InvalidRequestError(
            "cursor",
            (
                "belongs to another question; repeat the arguments of the answer that it is from, or leave "
                "it out"
            ),
        )
    pairs = (step.partition("-") for step in found["steps"].split("_"))
    return tuple((int(first), int(second or 0)) for first, _, second in pairs)


def _mark(question: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(question, default=str).encode()).hexdigest()[:4]


def require_none(cursor: str) -> None:
    """Raise InvalidRequestError for any cursor: structured answers are not split into parts."""
    if cursor:
        raise InvalidRequestError(
            "cursor", "belongs to answers as text; data is not cut, so ask for a higher limit"
        )
