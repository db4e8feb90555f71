"""Normalise English words to compare queries with texts: drop function words, split and stem identifiers."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from cairn.text.identifiers import identifier_words
from cairn.text.unspaced import spread

_ENGLISH = """
    a about all am an and any are as at be because been being both but by can
    cannot could did do does doing done each for from had has have having he her here hers him
    his how i if in into is isn't it it's its itself just let like many may me might more most much
    must my no nor not of off on one only or other our out over own per please same shall she
    should so some such than that that's the their them then there these they this those through to
    too under up us very via was we were what what's when where whether which while who whom
    whose why will with within without would you your thing things stuff something anything really
"""
STOPWORDS = frozenset(_ENGLISH.split())
"""Articles, pronouns, prepositions, conjunctions, auxiliaries and question words, which occur in any text."""

RELATIONS = frozenset(("after", "before", "between", "during", "once", "until"))
"""Prepositions that also name hooks and filters. They are searched for but are not a query's subject."""

_LIGHT = """
    get gets give gives given go got lot make makes need needs see want
    describe difference differences exist exists explain find get give happen happening happens
    kind list mean means need outline overview purpose show summarise summarize summary tell use
    used uses using way ways work working works
"""
LIGHT_WORDS = frozenset(_LIGHT.split())
"""Words for the kind of answer, and verbs that mean little more than "does". None is a query's subject."""

_WORD = re.compile(r"[^\W_](?:\w*[^\W_])?")

_stemmer = Stemmer.Stemmer("english")


def is_stopword(word: str) -> bool:
    """Return whether `word`, in any case and Unicode form, is an English function word."""
    return unicodedata.normalize("NFC", word).lower().replace("’", "'") in STOPWORDS


@lru_cache(maxsize=30_000)
def stem(word: str) -> str:
    """Return the Snowball (Porter 2, English) stem of a lower-case word in 1 µs."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=30_000)
def stems(identifier: str) -> tuple[str, ...]:
    """Return the stems of an identifier's words: `addUrlRules` → add, url, rule. A word of a script without
    spaces becomes its pairs of letters."""
    return tuple(stem(word) for word in identifier_words(spread(identifier)))


def text_stems(text: str) -> set[str]:
    found: set[str] = set()
    for word in set(_WORD.findall(spread(text))):
        found.update(stems(word))
        found.add(stem(word.lower()))
    return found
