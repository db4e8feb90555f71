"""Find the name that was probably meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable

_CHARACTERS = 60
"""The maximum length that is compared, in characters, because a request may contain a long name."""
_LIKE = 60.0
"""The similarity, of 100, that counts: the usual 0.6 allows a typing error or two in a word."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the entry of `known` most similar to `name`; "" if none is similar."""
    from rapidfuzz import fuzz, process

    match = process.extractOne(name[:_CHARACTERS], list(known), scorer=fuzz.ratio, score_cutoff=_LIKE)
    return str(match[0]) if match else ""
