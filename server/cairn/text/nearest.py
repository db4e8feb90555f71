"""Find the known names that an unknown name was probably meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CHARACTERS = 60
"""The maximum number of compared characters, because a request may contain a long name."""
_LETTERS_PER_ERROR = 3
"""A typing error is tolerated for each three letters: `serch` means `search`, but `ts` does not mean `js`."""
_MOST_ERRORS = 3
_BEGUN = 4
"""The minimum number of letters that mean a longer name which begins with them, at most twice as long."""
_PARTING = re.compile(r"[\W_]+")


def letters_of(name: str) -> str:
    """Return the letters and digits of a name in lower case, which are compared."""
    return (name if name.isalnum() else _PARTING.sub("", name)).lower()


def near(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return up to `most` entries of `known` that differ from `name` by few typing errors, the nearest first.

    Case and separators do not count. A name that was only begun is near, too: `fetch` means `fetch_page`.
    """
    from rapidfuzz.distance import OSA, Indel

    letters = letters_of(name[:_CHARACTERS])
    allowed = min(_MOST_ERRORS, len(letters) // _LETTERS_PER_ERROR)
    found = []
    for each in dict.fromkeys(known) if letters else ():
        other = letters_of(each[: 2 * _CHARACTERS])
        errors = allowed + 1
        if abs(len(other) - len(letters)) <= allowed:  # Otherwise there are more errors than that.
            errors = OSA.distance(letters, other, score_cutoff=allowed)
        is_begun = len(letters) >= _BEGUN and len(other) <= 2 * len(letters) and other.startswith(letters)
        if errors <= allowed or is_begun:
            found.append((errors, Indel.normalized_distance(letters, other), each))
    return [each for *_, each in sorted(found)[:most]]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the entry of `known` that is nearest to `name`; "" if none is near."""
    return next(iter(near(name, known)), "")
