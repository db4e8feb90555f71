"""The words of a language and what they mean in English, in any inflection.

A list of words is one file: lines of `meaning = word, phrase, …`; of a word on several lines, or of `a / b`, the first
meaning is what a question is read with. Inflections need no list: words are compared as they stand, and then by stem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

import Stemmer
from attrs import field, frozen

from cairn.text.unicode import without_accents

_STEMMERS = {"es": "spanish", "de": "german", "fr": "french", "ru": "russian"}
"""Snowball's. Its Portuguese one takes little away ("erro", "erros", "abre", "abrir" have four stems); see `_portuguese`."""
_PORTUGUESE_ENDINGS = re.compile(
    r"(?<=.{4})(?:acoes|acao|amentos?|imentos?|ando|endo|indo|aram|eram|iram|amos|emos|imos|ad[oa]s?|id[oa]s?)\Z"
    r"|(?<=.{3})(?:oes|aos|ao|ais|eis|al|el|ens|em|am|ou|eu|iu|[aei]r|[aeo]s|[aeos])\Z"
)
_MAX_PHRASE = 6
_MAX_MEANINGS = 4
_LONG = 6
"""Letters of a word that is no other one without its accents: "donde", "ou" and "que" may be."""
_FEWEST_LETTERS = 4
"""Of a word that has inflections, and of a part of a German compound."""
_ASKING = re.compile(r"(?:what|which|where|why|how|who|when)\b")
_LINKS = ("", "s", "n", "en", "es", "e", "-")
"""What German puts between the parts of a compound."""
_NO_LETTER = re.compile(r"['’ʼ-]")
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue"))
_SEPARABLE = (
    "zurück zusammen hinzu weiter wieder durch heraus herunter hinaus unter über fest nach ein aus auf ab an um vor mit los"
    " her hin weg zu"
).split()
"""What German verbs begin with, "ge" and "zu" standing behind it: "aufgerufen", "aufzurufen"."""


@frozen
class WordMeaning:
    """What a word or phrase means."""

    words: tuple[str, ...]
    """The English words, the usual one first; none for a word that is left out."""
    is_name: bool = True
    """Whether it is the name of something, which may stand in a text of its language: not so for phrases that ask."""


@frozen
class Lexicon:
    """A list of words, ready to be looked up."""

    code: str
    exact: dict[str, WordMeaning]
    stemmed: dict[str, WordMeaning]
    careless: dict[str, WordMeaning]
    """Words and stems without accents; of German nouns, without their capital."""
    longest: int
    """Words of the longest phrase; of Chinese and Japanese, characters."""
    _stem: Callable[[str], str] = field(repr=False, eq=False)

    def has_script_of(self, word: str) -> bool:
        """Whether a word may be of this language by its letters."""
        return self.code != "ru" or not word.isascii()

    def meaning(
        self, words: Sequence[str], *, careless: bool = False, only_exact: bool = False
    ) -> WordMeaning | None:
        """What the words mean together, each in any inflection; None where the list has no such phrase.

        `careless` says that the whole question has no accents, or of German no capitals: it may lack some.
        """
        typed = " ".join(words)
        for spelled in _spellings(self.code, typed):
            if found := self.exact.get(spelled):
                return found
        if only_exact:
            return None
        for spelled in _spellings(self.code, typed):
            if found := self.stemmed.get(_stems(self._stem, spelled)):
                return found
        if careless or (len(typed) >= _LONG and len(words) == 1):
            plain = _careless(typed)
            if found := self.careless.get(plain) or self.careless.get(_stems(self._stem, plain)):
                return found
        return self._german(words[0]) if self.code == "de" and len(words) == 1 else None

    def _german(self, word: str) -> WordMeaning | None:
        """What a participle, or a compound, means by its parts."""
        lowered = word.lower()
        for plain in _without_ge(lowered):
            for ending in ("en", "n", "t", ""):
                if found := self.exact.get(plain + ending):
                    return found
            if found := self.stemmed.get(self._stem(plain)):
                return found
        parts = self._compound(lowered)
        return WordMeaning((" ".join(part.words[0] for part in parts),)) if parts else None

    def _compound(self, word: str) -> list[WordMeaning]:
        for end in range(len(word) - _FEWEST_LETTERS, _FEWEST_LETTERS - 1, -1):
            head = next(filter(None, (self._part(word[:end].removesuffix(link)) for link in _LINKS)), None)
            if head is None:
                continue
            if tail := self._part(word[end:]):
                return [head, tail]
            if tails := self._compound(word[end:]):
                return [head, *tails]
        return []

    def _part(self, word: str) -> WordMeaning | None:
        if len(word) < _FEWEST_LETTERS:
            return None
        stem = self._stem(word)
        forms = (word.capitalize(), word, f"{word}en")
        found = next(filter(None, map(self.exact.get, forms)), None)
        found = found or self.stemmed.get(stem.capitalize()) or self.stemmed.get(stem)
        return found if found and found.words else None


@cache
def lexicon(code: str) -> Lexicon:
    """The list of words of the language, read once."""
    is_spaced = code in _STEMMERS or code == "pt"
    plain = Stemmer.Stemmer(_STEMMERS[code]).stemWord if code in _STEMMERS else _portuguese
    stem = lru_cache(maxsize=10_000)(plain if is_spaced else str)
    meanings: dict[str, list[str]] = {}
    for meaning, words in _entries(code):
        for word in words:
            if known := meanings.get(word):
                known += [text for text in meaning if text not in known]
            elif known is None:
                meanings[word] = list(meaning)
    exact: dict[str, WordMeaning] = {}
    stemmed: dict[str, WordMeaning] = {}
    careless: dict[str, WordMeaning] = {}
    for word, texts in meanings.items():
        found = WordMeaning(
            tuple(texts[:_MAX_MEANINGS]), is_name=not _ASKING.match(texts[0] if texts else "")
        )
        for spelled in _spellings(code, word, listed=True):
            exact.setdefault(spelled, found)
            stemmed.setdefault(_stems(stem, spelled), found)
        if is_spaced:
            careless.setdefault(_careless(word), found)
            careless.setdefault(_stems(stem, _careless(word)), found)
    size = _MAX_PHRASE if is_spaced else max(map(len, exact))
    return Lexicon(code, exact, stemmed, careless, size, stem)


def _portuguese(word: str) -> str:
    """The stem of a Portuguese word, without accents."""
    return _PORTUGUESE_ENDINGS.sub("", without_accents(word), count=1)


def _entries(code: str) -> Iterator[tuple[list[str], list[str]]]:
    """The meanings and the words of each line."""
    for line in Path(__file__).with_name(f"{code}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            meaning, _, words = line.partition("=")
            english = [text.strip() for text in meaning.split("/") if text.strip()]
            yield english, [word.strip() for word in words.split(",")]


def _spellings(code: str, words: str, *, listed: bool = False) -> Iterator[str]:
    """How words are written; German nouns with a capital, which stands before other words at the beginning of a sentence."""
    words = _NO_LETTER.sub(" ", words)
    if code != "de":
        yield words.lower().replace("ё", "е")
        return
    every = [words] if listed else [words, words[:1].lower() + words[1:], words.lower()]
    for spelled in dict.fromkeys(every):
        yield spelled
        if listed:
            for letter, plain in _UMLAUTS:
                spelled = spelled.replace(letter, plain)
            yield spelled


def _careless(words: str) -> str:
    """As somebody types who leaves out accents, umlauts and capitals."""
    return without_accents(_NO_LETTER.sub(" ", words).lower().replace("ß", "ss"))


def _stems(stem: Callable[[str], str], words: str) -> str:
    """The words of a phrase by their stems, a capital letter kept."""
    return " ".join(
        word
        if len(word) < _FEWEST_LETTERS
        else stem(word.lower()).capitalize()
        if word[0].isupper()
        else stem(word)
        for word in words.split()
    )


def _without_ge(word: str) -> Iterator[str]:
    for before in ("", *_SEPARABLE):
        for sign in ("ge", "zu"):
            if word.startswith(before + sign) and len(word) > len(before) + 5 and (before or sign == "ge"):
                rest = word[len(before) + 2 :]
                yield before + rest
                yield before + rest.removesuffix("t") + "en"
