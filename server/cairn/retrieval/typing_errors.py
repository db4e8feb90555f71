"""Repair typing errors with the words of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from cairn.index.queries.known_words import IndexVocabulary, KnownWord, unlikeness
from cairn.retrieval.abbreviations import EXPANSIONS
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

MIN_LETTERS = 4
"""The minimum length of a word to repair. Shorter words are too similar to each other."""
_SHORT = MIN_LETTERS
"""The maximum length of a word that is repaired only to a name in the code, and never "rack" to "race"."""
_LONG = 8
"""The minimum length of a stem for two errors. Shorter words differ by two letters too easily."""
_CLEARLY = 2
"""How many times more frequent the best word must be than another one as similar."""
_MAX_REPAIRS = 3
"""The maximum number of repairs in one text. Each takes up to 20 ms in a large index."""
_KNOWN = EXPANSIONS.keys() | STOPWORDS | LIGHT_WORDS


@cache
def _common() -> frozenset[str]:
    """Return the stems of words common to many projects (scripts/common_words.py): these are not errors."""
    return frozenset(Path(__file__).with_name("common_words.txt").read_text(encoding="ascii").split())


def is_common(word: str) -> bool:
    """Return whether many projects use the lower-case English word, in the singular or plural."""
    return word in _common() or word.removesuffix("s") in _common()


def repairs(
    unknown: Iterable[str], vocabulary: IndexVocabulary, core_concepts: Sequence[str] = ()
) -> dict[str, str]:
    """Return the intended word for each lower-case word that no index contains, if it is clear."""
    core = {concept.lower() for concept in core_concepts}
    right = _KNOWN | core
    wrong = [
        word
        for word in unknown
        if len(word) >= MIN_LETTERS and word.isascii() and word.isalpha()
        if word not in right and stem(word) not in _common()
    ]
    found = ((word, repair(word, vocabulary, core)) for word in wrong[:_MAX_REPAIRS])
    return {word: meant for word, meant in found if meant}


def repair(word: str, vocabulary: IndexVocabulary, core: Iterable[str] = ()) -> str | None:
    """Return the known word that `word` was meant to be; None if no word is similar, or several are."""
    errors = 2 if len(stem(word)) >= _LONG else 1
    known = [*(KnownWord(concept, 1, named=True) for concept in core), *vocabulary.near(word, errors)]
    close = [(unlikeness(word, each.text), each) for each in known if _plausible(word, each)]
    close = [(rank, each) for rank, each in close if 0 < rank[0] <= errors]
    close.sort(key=lambda pair: (pair[0], not pair[1].named, -pair[1].documents, pair[1].text))
    if not close:
        return None
    (rank, best), others = close[0], close[1:]
    rivals = [each for r, each in others if r == rank and each.stem != best.stem and each.named >= best.named]
    if any(each.documents * _CLEARLY > best.documents for each in rivals):
        return None
    return best.text


def _plausible(word: str, known: KnownWord) -> bool:
    replaced = len(word) == len(known.text) and sorted(word) != sorted(known.text)
    if len(word) <= _SHORT and (replaced or not known.named):
        return False
    # Users seldom mistype the first letter, except by swapping it with the second.
    swapped = len(known.text) > 1 and word[:2] == known.text[1::-1] and word[2:] == known.text[2:]
    return word[0] == known.text[0] or swapped
