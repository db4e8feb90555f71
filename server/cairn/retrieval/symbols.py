"""How well a definition's name fits what was typed into a symbol search, in any case convention."""

from __future__ import annotations

import enum
import math
import re

from attrs import frozen
from rapidfuzz import fuzz

from cairn.index.reader.records import DefinitionPlace
from cairn.text.identifiers import identifier_words
from cairn.workspace.collections import FileKind


class Fit(enum.IntEnum):
    """From the worst to the best."""

    NONE = 0
    SCATTERED = 1
    """The letters stand in it in this order."""
    INSIDE = 2
    """…one right after another."""
    WORDS = 3
    """It has words that begin with what was typed, or with its letters: `aur` or `urlRule` for `add_url_rule`."""
    PREFIX = 4
    EXACT = 5
    """The same letters, in another case or parted elsewhere."""
    SAME = 6
    """As it was typed."""


_PARTING = re.compile(r"[\W_]+")

_VENDORED = re.compile(
    r"(?:^|/)(?:vendor|vendored|third[_-]?party|node_modules|external|extern)/", re.IGNORECASE
)
_LONGEST = 100
"""Characters of a query that are compared."""
_HELD_BACK = 1.5
"""How many steps of fit a test's, an example's or somebody else's definition is worth less."""

_TYPES = frozenset({"class", "interface", "struct", "trait", "enum", "type", "union", "object", "module"})
_VALUES = frozenset({"variable", "constant", "field", "property"})


def letters_of(text: str) -> str:
    """What of a query is compared: lower case, without spaces, underscores and punctuation."""
    return _PARTING.sub("", text).lower()


@frozen
class Typed:
    """What was typed."""

    text: str
    letters: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Typed:
        """Of a qualified name (`Berth.moor`, `harbour::Berth`) the last part."""
        last = re.split(r"[.:#/\s]+", text.strip().rstrip(".:#/()"))[-1]
        last = last[:_LONGEST]
        return cls(last, letters_of(last), tuple(identifier_words(last)))


def fit(typed: Typed, name: str) -> Fit:
    """How the name fits."""
    if name == typed.text:
        return Fit.SAME
    letters = letters_of(name)
    if letters == typed.letters:
        return Fit.EXACT
    if letters.startswith(typed.letters):
        return Fit.PREFIX
    words = identifier_words(name)
    if _in_order(typed.words, words) or _begins_words(typed.letters, words):
        return Fit.WORDS
    if typed.letters in letters:
        return Fit.INSIDE
    rest = iter(letters)
    return Fit.SCATTERED if all(letter in rest for letter in typed.letters) else Fit.NONE


def _begins_words(letters: str, words: list[str]) -> bool:
    """Whether the letters are beginnings of words of the name, in order, words left out included."""
    # How many of the letters can be taken by the words so far.
    taken = {0}
    for word in words:
        for start in [start for start in taken if letters[start] == word[0]]:
            end = start
            while end < len(letters) and end - start < len(word) and letters[end] == word[end - start]:
                end += 1
                taken.add(end)
        if len(letters) in taken:
            return True
    return False


def _in_order(typed: tuple[str, ...], words: list[str]) -> bool:
    rest = iter(words)
    return bool(typed) and all(any(word.startswith(part) for word in rest) for part in typed)


def likeness(typed: Typed, name: str) -> float:
    """0 to 1: orders names that fit in the same way, the shortest and most alike first."""
    return float(fuzz.ratio(typed.letters, letters_of(name))) / 100


def weight(place: DefinitionPlace, name: str) -> float:
    """How much the definition matters, whatever was typed, in steps of fit."""
    held_back = place.kind in (FileKind.TESTS, FileKind.EXAMPLES) or bool(_VENDORED.search(place.path))
    kind = place.symbol_kind if name == place.symbol else ""
    by_kind = 0.2 if kind in _TYPES else 0.0 if kind in _VALUES else 0.1
    return by_kind + min(0.3, 0.05 * math.log2(1 + place.in_degree)) - (_HELD_BACK if held_back else 0.0)
