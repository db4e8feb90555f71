"""What somebody probably meant who wrote a name that there is not."""

from __future__ import annotations

from collections.abc import Iterable

_CHARACTERS = 60
"""Of a name that are compared; nothing that can be named here is longer, and anybody may send a long one."""
_LIKE = 60.0
"""Of 100, by which names are alike: the usual 0.6, at which a typing error or two in a word still count."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of `known` that is most like `name`; "" if none is like it."""
    from rapidfuzz import fuzz, process  # seldom needed

    match = process.extractOne(name[:_CHARACTERS], list(known), scorer=fuzz.ratio, score_cutoff=_LIKE)
    return str(match[0]) if match else ""
