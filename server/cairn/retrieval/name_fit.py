"""Rate how well the name of a definition matches the text of a symbol search, in any case convention."""

from __future__ import annotations

import enum
import math
import re

from attrs import frozen
from rapidfuzz import fuzz

from cairn.index.reader.records import Outline
from cairn.text.identifiers import identifier_words
from cairn.text.nearest import letters_of
from cairn.workspace.collections import FileKind


class Fit(enum.IntEnum):
    """How well a name matches the typed text, from worst to best."""

    NONE = 0
    SCATTERED = 1
    """The name contains the typed letters in this order."""
    INSIDE = 2
    """The name contains the typed letters next to each other."""
    WORDS = 3
    """The words of the name begin with the typed words or letters: `aur` or `urlRule` for `add_url_rule`."""
    PREFIX = 4
    EXACT = 5
    """The name has the same letters, in another case or with other separators."""
    SAME = 6
    """The name is spelled as typed."""


_VENDORED = re.compile(
    r"(?:^|/)(?:vendor|vendored|third[_-]?party|node_modules|external|extern)/", re.IGNORECASE
)
_LONGEST = 100
"""The maximum number of characters of the typed text that are compared."""
_DEMOTION = 1.5
"""The number of steps by which definitions in tests, examples and vendored code are demoted."""

_TYPES = frozenset({"class", "interface", "struct", "trait", "enum", "type", "union", "object", "module"})
_VALUES = frozenset({"variable", "constant", "field", "property"})


@frozen
class Typed:
    text: str
    letters: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Typed:
        """Parse the text. Of a qualified name, only the last part counts: `Berth.moor`, `harbour::Berth`.
        Words with spaces between them are one name: `add url rule`."""
        last = re.split(r"[.:#/]+", text.strip().rstrip(".:#/()"))[-1].strip()
        last = last[:_LONGEST]
        return cls(last, letters_of(last), tuple(identifier_words(last)))


def fit(typed: Typed, name: str) -> Fit:
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
    """Return whether the letters are beginnings of words of the name, in order. Words may be skipped."""
    taken = {0}  # These are the possible numbers of letters matched so far.
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
    """Return the similarity, 0 to 1, that orders names of equal fit. Short and similar names come first."""
    return float(fuzz.ratio(typed.letters, letters_of(name))) / 100


def weight(place: Outline, name: str, in_degree: int) -> float:
    """Return the weight of the definition whatever the text, in steps of `Fit`. `in_degree` is the number of
    files that import its file."""
    is_demoted = place.kind in (FileKind.TESTS, FileKind.EXAMPLES) or bool(_VENDORED.search(place.path))
    kind = place.symbol_kind if name == place.symbol else ""
    by_kind = 0.2 if kind in _TYPES else 0.0 if kind in _VALUES else 0.1
    return by_kind + min(0.3, 0.05 * math.log2(1 + in_degree)) - (_DEMOTION if is_demoted else 0.0)
