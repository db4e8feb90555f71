"""The words of a question that carry meaning, and how often a text holds them.

Questions come in English and Portuguese (S1's own example is Portuguese), so both languages' function
words are left out. Words compare by their stem and identifiers by their parts, so that "routing"
finds "routes" and "session cookie" finds `SessionCookie`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer
from attrs import frozen

from cairn.chunking.identifiers import identifier_words

_ENGLISH = """
    a about after all am an and any are as at be because been before being between both but by can
    cannot could did do does doing done during each for from had has have having he her here hers him
    his how i if in into is isn't it it's its itself just let like many may me might more most much
    must my no nor not of off on once one only or other our out over own per please same shall she
    should so some such than that that's the their them then there these they this those through to
    too under until up us very via was we were what what's when where whether which while who whom
    whose why will with within without would you your
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

_LIGHT = """
    describe difference differences exist exists explain find get give happen happening happens
    kind list mean means need outline overview purpose show summarise summarize summary tell use
    used uses using way ways work working works
    acontece descreva diferença existe explica explicar explique faz fazem fazer funciona
    funcionam funcionar liste mostra mostre objetivo resumo serve significa usa usado usam usar
"""
LIGHT_WORDS = frozenset(_LIGHT.split())
"""What a question asks for, and verbs that say no more than "does": the subject stands beside them."""

_WORD = re.compile(r"\w+")
EDGE_PUNCTUATION = " \t\n\r.,;:!?¿¡…\"'`´“”‘’«»()[]{}<>*"
_PREFIX = 2
"""English stemming keeps a word's first two letters (all but "dying" and its like), so a word that starts
otherwise than every term need not be stemmed, which takes 30 µs."""

_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The Snowball (Porter 2, English) stem of a lower-case word."""
    return str(_stemmer.stemWord(word))


def is_stopword(word: str) -> bool:
    """Whether `word`, in any case and Unicode form, is a function word of English or Portuguese."""
    return unicodedata.normalize("NFC", word).lower().replace("’", "'") in STOPWORDS


def bare_words(text: str) -> list[str]:
    """The whitespace-separated words of `text` without the punctuation around them; case is kept."""
    words = (word.strip(EDGE_PUNCTUATION) for word in text.split())
    return [word for word in words if word]


def content_words(text: str) -> list[str]:
    """The words of `text` that say what it is about, in order and as written.

    Light words count only where there is nothing else: "explain show" is about "show".
    """
    words = [word for word in bare_words(text) if not is_stopword(word)]
    return [word for word in words if word.lower() not in LIGHT_WORDS] or words


@frozen
class QueryTerms:
    """The distinct stems of a question's content words."""

    stems: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> QueryTerms:
        """The terms of `query`; none when it is empty or made of function words alone."""
        parts = [part for word in content_words(query) for part in _parts(word)]
        return cls(tuple(dict.fromkeys(stem(part) for part in parts if not is_stopword(part))))

    def counts(self, text: str) -> Counter[str]:
        """How often each term occurs in `text`; terms that do not occur are left out."""
        prefixes = {term[:_PREFIX] for term in self.stems}
        wanted = frozenset(self.stems)
        return Counter(
            found for part in _parts(text) if part[:_PREFIX] in prefixes and (found := stem(part)) in wanted
        )

    def coverage(self, text: str) -> float:
        """The share of the terms that `text` holds, 0 to 1; 0 when there are no terms."""
        return len(self.counts(text)) / len(self.stems) if self.stems else 0.0


def _parts(text: str) -> Iterable[str]:
    """The lower-case words of `text`, identifiers split."""
    for word in _WORD.findall(text):
        if word.islower() and "_" not in word:
            yield word
        else:
            yield from _identifier_parts(word)


@lru_cache(maxsize=65_536)
def _identifier_parts(word: str) -> tuple[str, ...]:
    return tuple(identifier_words(word))
