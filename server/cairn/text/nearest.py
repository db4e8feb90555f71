"""Find the known name that an unknown name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

_CHARACTERS = 60
"""The maximum number of compared characters, because a request may contain a long name."""
_LIKE = 60.0
"""The minimum similarity in percent. The usual value of 60 tolerates one or two typing errors in a word."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the entry of `known` most similar to `name`; "" if none is similar."""
    from rapidfuzz import fuzz, process

    match = process.extractOne(name[:_CHARACTERS], list(known), scorer=fuzz.ratio, score_cutoff=_LIKE)
    return str(match[0]) if match else ""
