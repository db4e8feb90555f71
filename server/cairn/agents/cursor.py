"""Where an answer goes on: a small word that says how far the one before it came, and of which question.

Nothing is kept for it. Where the index has changed meanwhile, what follows is taken from the index as it is now.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from cairn.errors import InvalidRequestError

Steps = tuple[tuple[int, int], ...]
"""Pairs of numbers, one for each answer before: what they mean is the tool's own."""

_CURSOR = re.compile(
    r"(?:cursor=)?(?P<steps>[0-9]{1,9}(?:-[0-9]{1,9})?(?:_[0-9]{1,9}(?:-[0-9]{1,9})?){0,20})\.(?P<mark>[0-9a-f]{4})"
)


def cursor_of(steps: Steps, *asked: Any) -> str:
    """The cursor after these steps of the question that is `asked`."""
    written = (f"{first}-{second}" if second else str(first) for first, second in steps)
    return f"{'_'.join(written)}.{_mark(asked)}"


def steps_of(cursor: str, *asked: Any) -> Steps:
    """The steps of a cursor; none for "". Raises InvalidRequestError for what is none, or belongs to another question."""
    if not cursor:
        return ()
    found = _CURSOR.fullmatch(cursor.strip().strip("'\"`"))
    if found is None:
        raise InvalidRequestError(
            "cursor", f"{cursor[:60]!r} is none; copy it from the line `more:` of an answer, or leave it out"
        )
    if found["mark"] != _mark(asked):
        raise InvalidRequestError(
            "cursor",
            "belongs to another question; repeat the arguments of the answer that it is from, or leave it out",
        )
    pairs = (step.partition("-") for step in found["steps"].split("_"))
    return tuple((int(first), int(second or 0)) for first, _, second in pairs)


def _mark(asked: Sequence[Any]) -> str:
    """Tells one question from another."""
    return hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()[:4]


def require_none(cursor: str) -> None:
    """Raises InvalidRequestError where a cursor is given: answers as data are not cut."""
    if cursor:
        raise InvalidRequestError(
            "cursor", "belongs to answers as text; data is not cut, so ask for a higher limit"
        )
