"""Words as questions and texts are compared: function words known, identifiers split, inflections stemmed.

Questions come in English and Portuguese (S1's own example is Portuguese), so both languages' function words
are left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from cairn.text.identifiers import identifier_words

_ENGLISH = """
    a about all am an and any are as at be because been being both but by can
    cannot could did do does doing done each for from had has have having he her here hers him
    his how i if in into is isn't it it's its itself just let like many may me might more most much
    must my no nor not of off on one only or other our out over own per please same shall she
    should so some such than that that's the their them then there these they this those through to
    too under up us very via was we were what what's when where whether which while who whom
    whose why will with within without would you your thing things stuff something anything really
"""
_PORTUGUESE = """
    à ao aos aquela aquelas aquele aqueles aquilo as às até com como da das de dela dele deles depois
    do dos e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas este
    estes eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos
    nossa nosso num numa o onde os ou para pela pelas pelo pelos pode podem por porque porquê qual
    quais quando quanto que quê quem se sem ser seu seus são só sua suas também te tem têm tinha um
    uma umas uns você vocês
"""
STOPWORDS = frozenset((_ENGLISH + _PORTUGUESE).split())
"""Articles, pronouns, prepositions, conjunctions, auxiliaries, question words: they occur in any text,
whatever it is about."""

RELATIONS = frozenset(("after", "before", "between", "during", "once", "until"))
"""Prepositions that hooks and filters are called by: they are searched for, but are nobody's subject."""

_LIGHT = """
    get gets give gives given go got lot make makes need needs see want
    describe difference differences exist exists explain find get give happen happening happens
    kind list mean means need outline overview purpose show summarise summarize summary tell use
    used uses using way ways work working works
    acontece descreva diferença existe explica explicar explique faz fazem fazer funciona
    funcionam funcionar liste mostra mostre objetivo resumo serve significa usa usado usam usar
"""
LIGHT_WORDS = frozenset(_LIGHT.split())
"""What a question asks for, and verbs that say no more than "does": the subject stands beside them."""

_WORD = re.compile(r"[^\W_](?:\w*[^\W_])?")

_stemmer = Stemmer.Stemmer("english")


def is_stopword(word: str) -> bool:
    """Whether `word`, in any case and Unicode form, is a function word of English or Portuguese."""
    return unicodedata.normalize("NFC", word).lower().replace("’", "'") in STOPWORDS


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The Snowball (Porter 2, English) stem of a lower-case word; 1 µs, of which Python's own Snowball takes 23."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=100_000)
def stems(identifier: str) -> tuple[str, ...]:
    """The stems of an identifier's words: `addUrlRules` → add, url, rule."""
    return tuple(stem(word) for word in identifier_words(identifier))


def text_stems(text: str) -> set[str]:
    """The stems of all words of a text, those inside identifiers included."""
    found: set[str] = set()
    for word in set(_WORD.findall(text)):
        found.update(stems(word))
        found.add(stem(word.lower()))
    return found
