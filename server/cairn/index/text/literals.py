"""A literal to search for verbatim, and how a chunk's text contains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from attrs import field, frozen

EXACT, OTHER_CASE, INSIDE, INSIDE_OTHER_CASE = 1.0, 0.9, 0.8, 0.7
"""The scores of an occurrence: as a whole word, as a whole word in another case, inside a longer word, and
inside a longer word in another case."""

_MOST_COUNTED = 50
"""The maximum number of occurrences to count in a chunk. More occurrences would not change the order."""


@frozen
class Literal:
    text: str
    case: bool = False
    word: bool = False
    folded: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "folded", self.text.casefold())


@frozen
class TextHit:
    chunk_id: int
    score: float
    line: int
    """The 0-based line in the file of the literal's first occurrence with the highest score."""
    occurrences: int


@frozen
class ExactMatches:
    hits: tuple[TextHit, ...] = ()
    cut: bool = False


def best_first(hits: Iterable[TextHit], cut: bool) -> ExactMatches:
    order = sorted(hits, key=lambda hit: (-hit.score, -hit.occurrences, hit.chunk_id))
    return ExactMatches(tuple(order), cut)


def look(literal: Literal, text: str, chunk_id: int, start_line: int) -> TextHit | None:
    """Return how the chunk's text contains the literal; None if it does not."""
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
    """Yield where `wanted` occurs and whether it is a whole word there. With `word`, others are left out."""
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
