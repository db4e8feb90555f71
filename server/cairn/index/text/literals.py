"""A text that is looked for as it is written, and how a chunk's text contains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from attrs import field, frozen

EXACT, OTHER_CASE, INSIDE, INSIDE_OTHER_CASE = 1.0, 0.9, 0.8, 0.7
"""The score of an occurrence: as a whole word, in another case, inside a longer word, and both."""

_MOST_COUNTED = 50
"""Occurrences counted in a chunk: beyond these, how often no longer tells."""


@frozen
class Literal:
    """A text to find."""

    text: str
    case: bool = False
    """Whether upper and lower case must be the same."""
    word: bool = False
    """Whether it may not be part of a longer word."""
    folded: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "folded", self.text.casefold())


@frozen
class TextHit:
    """A chunk that has the literal."""

    chunk_id: int
    score: float
    line: int
    """Of the first of its best occurrences, 0-based, in the file."""
    occurrences: int


@frozen
class ExactMatches:
    """The chunks found, best first."""

    hits: tuple[TextHit, ...] = ()
    cut: bool = False
    """Whether there may be more."""


def best_first(hits: Iterable[TextHit], cut: bool) -> ExactMatches:
    """An answer of these hits."""
    order = sorted(hits, key=lambda hit: (-hit.score, -hit.occurrences, hit.chunk_id))
    return ExactMatches(tuple(order), cut)


def look(literal: Literal, text: str, chunk_id: int, start_line: int) -> TextHit | None:
    """How the chunk's text contains the literal; None where it does not."""
    places = list(_places(text, literal.text, literal.word))
    found = [(EXACT if whole else INSIDE, text, place) for place, whole in places]
    if not literal.case and not any(whole for _, whole in places):
        folded = text.casefold()
        places = list(_places(folded, literal.folded, literal.word))
        found += [(OTHER_CASE if whole else INSIDE_OTHER_CASE, folded, place) for place, whole in places]
    if not found:
        return None
    score, within, place = max(found, key=itemgetter(0))
    return TextHit(chunk_id, score, start_line + within.count("\n", 0, place), len(places))


def _places(text: str, wanted: str, word: bool) -> Iterator[tuple[int, bool]]:
    """Where `wanted` stands in the text, and whether it is no part of a longer word there; with `word` it may not be."""
    place = text.find(wanted)
    for _ in range(_MOST_COUNTED):
        if place < 0:
            return
        end = place + len(wanted)
        whole = not (place and _in_word(text[place - 1]) and _in_word(wanted[0]))
        whole = whole and not (end < len(text) and _in_word(text[end]) and _in_word(wanted[-1]))
        if whole or not word:
            yield place, whole
        place = text.find(wanted, place + 1)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
