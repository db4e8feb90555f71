"""Look up words of a language, in any inflection, and their meanings in English. Each line of a word list is
`meaning = word, phrase, …`. A word may have several meanings, on several lines or as `a / b`; translations
use the first. The lists have no inflections: a word is looked up as it is, then by its stem."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

import Stemmer
from attrs import field, frozen

from cairn.text.unicode import without_accents

BY_HAND = Path(__file__).parent
ALIGNED = BY_HAND / "aligned"
"""The lists that scripts/aligned_words.py learns from translated texts."""
_STEMMERS = {"es": "spanish", "de": "german", "fr": "french", "ru": "russian"}
"""The Snowball stemmers. The one for Portuguese is not used: it gives "abre" and "abrir" two stems."""
_PORTUGUESE_ENDINGS = re.compile(
    r"(?<=.{4})(?:acoes|acao|amentos?|imentos?|ando|endo|indo|aram|eram|iram|amos|emos|imos|ad[oa]s?|id[oa]s?)\Z"
    r"|(?<=.{3})(?:oes|aos|ao|ais|eis|al|el|ens|em|am|ou|eu|iu|[aei]r|[aeo]s|[aeos])\Z"
)
_MAX_PHRASE = 6
_MAX_MEANINGS = 4
_LONG = 6
"""The minimum length of a word that is unambiguous without accents, unlike "donde", "ou" and "que"."""
_MOST_LETTERS = 60
"""The maximum length of a German compound. Every division of a word is tried."""
_FEWEST_LETTERS = 4
"""The minimum number of letters of a word that is inflected, and of each part of a German compound."""
_ASKING = re.compile(r"(?:what|which|where|why|how|who|when)\b")
_LINKS = ("", "s", "n", "en", "es", "e", "-")
_WORD_SIGNS = re.compile(r"['’ʼ-]")
_UMLAUTS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue"))
_SEPARABLE = (
    "zurück zusammen hinzu weiter wieder durch heraus herunter hinaus unter über fest nach ein aus auf ab an um vor mit los"  # noqa: E501
    " her hin weg zu"
).split()
"""Prefixes of German verbs before "ge" and "zu", as in "aufgerufen" and "aufzurufen"."""


@frozen
class WordMeaning:
    words: tuple[str, ...]
    """The English words, the most usual first. The tuple is empty for a word that translations drop."""
    is_name: bool = True
    """Whether the meaning may occur in indexed texts, unlike a question word or a phrase that asks."""


@frozen
class Lexicon:
    code: str
    exact: dict[str, WordMeaning]
    stemmed: dict[str, WordMeaning]
    careless: dict[str, WordMeaning]
    """The words and stems without accents, for German also without capitals."""
    longest: int
    """The length of the longest phrase in words; for Chinese and Japanese, in characters."""
    _stem: Callable[[str], str] = field(repr=False, eq=False)

    def has_script_of(self, word: str) -> bool:
        return self.code != "ru" or not word.isascii()

    def stem(self, words: str) -> str:
        """Return the stem of each word. Words with a capital keep it, since these are nouns in German."""
        return _stems(self._stem, words)

    def meaning(
        self, words: Sequence[str], *, careless: bool = False, only_exact: bool = False
    ) -> WordMeaning | None:
        """Return the meaning of the words as a phrase, each in any inflection, or None. `careless` says that
        the whole question lacks accents (in German: also capitals), so they may be missing here."""
        typed = " ".join(words)
        for spelled in _spellings(self.code, typed):
            if found := self.exact.get(spelled):
                return found
        if only_exact:
            return None
        for spelled in _spellings(self.code, typed):
            if found := self.stemmed.get(self.stem(spelled)):
                return found
        if careless or (len(typed) >= _LONG and len(words) == 1):
            plain = _simplified(typed)
            if found := self.careless.get(plain) or self.careless.get(self.stem(plain)):
                return found
        return self._german(words[0]) if self.code == "de" and len(words) == 1 else None

    def _german(self, word: str) -> WordMeaning | None:
        """Return the meaning of a participle, or that of a compound from its parts."""
        lowered = word.lower()
        for plain in _without_ge(lowered):
            for ending in ("en", "n", "t", ""):
                if found := self.exact.get(plain + ending):
                    return found
            if found := self.stemmed.get(self._stem(plain)):
                return found
        parts = self._compound(lowered) if len(word) <= _MOST_LETTERS else ()
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
    """Return the words of the language, which are read only once."""
    return read_lexicon(code, (BY_HAND, ALIGNED))


def read_lexicon(code: str, folders: Sequence[Path]) -> Lexicon:
    """Read the word lists of the language in the folders. The meaning in the first list wins."""
    is_spaced = code in _STEMMERS or code == "pt"
    plain = Stemmer.Stemmer(_STEMMERS[code]).stemWord if code in _STEMMERS else _portuguese
    stem = lru_cache(maxsize=10_000)(plain if is_spaced else str)
    exact: dict[str, WordMeaning] = {}
    stemmed: dict[str, WordMeaning] = {}
    careless: dict[str, WordMeaning] = {}
    for folder in folders:
        for word, found in _meanings(folder / f"{code}.txt").items():
            for spelled in _spellings(code, word, listed=True):
                exact.setdefault(spelled, found)
                stemmed.setdefault(_stems(stem, spelled), found)
            if is_spaced:
                careless.setdefault(_simplified(word), found)
                careless.setdefault(_stems(stem, _simplified(word)), found)
    size = _MAX_PHRASE if is_spaced else max(map(len, exact))
    return Lexicon(code, exact, stemmed, careless, size, stem)


def _meanings(file: Path) -> dict[str, WordMeaning]:
    """Return the meanings of each word of the list; none if there is no list."""
    texts: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line and not line.startswith("#"):
            meaning, _, words = line.partition("=")
            english = [text.strip() for text in meaning.split("/") if text.strip()]
            for word in words.split(","):
                if known := texts.get(word.strip()):
                    known += [text for text in english if text not in known]
                elif known is None:
                    texts[word.strip()] = list(english)
    return {
        word: WordMeaning(tuple(each[:_MAX_MEANINGS]), not (each and _ASKING.match(each[0])))
        for word, each in texts.items()
    }


def _portuguese(word: str) -> str:
    return _PORTUGUESE_ENDINGS.sub("", without_accents(word), count=1)


def _spellings(code: str, words: str, *, listed: bool = False) -> Iterator[str]:
    """Yield possible spellings of the words. German nouns and the beginnings of sentences have capitals."""
    words = _WORD_SIGNS.sub(" ", words)
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


def _simplified(words: str) -> str:
    return without_accents(_WORD_SIGNS.sub(" ", words).lower().replace("ß", "ss"))


def _stems(stem: Callable[[str], str], words: str) -> str:
    def stemmed(word: str) -> str:
        if len(word) < _FEWEST_LETTERS:
            return word
        return stem(word.lower()).capitalize() if word[0].isupper() else stem(word)

    return " ".join(map(stemmed, words.split()))


def _without_ge(word: str) -> Iterator[str]:
    for before in ("", *_SEPARABLE):
        for sign in ("ge", "zu"):
            if word.startswith(before + sign) and len(word) > len(before) + 5 and (before or sign == "ge"):
                rest = word[len(before) + 2 :]
                yield before + rest
                yield before + rest.removesuffix("t") + "en"
