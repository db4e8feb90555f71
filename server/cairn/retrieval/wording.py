"""Read the content words of a query, and the alternatives of each word."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from cairn.retrieval.abbreviations import other_lengths
from cairn.text.identifiers import identifier_words
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

_WORD = re.compile(r"\w+(?:'\w+)?")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w")
_NUMBERED = re.compile(r"(?:([^\W\d_]+)\d|\d+[^\W\d_])[^\W_]*")
"""Matches a word that is not split, such as `oauth2`, `s3`, `k8s` or `2fa`."""
_FEWEST_LETTERS = 4
"""The minimum number of letters before a number that are a word without the number, such as "oauth"."""
_KEBAB_NAME = re.compile(r"[^\W\d_]\w*(?:-\w+)+(?:\(\))?")


@frozen
class Wording:
    terms: tuple[str, ...]
    """Lower-case content words in order of first use, including those inside identifiers."""
    compounds: tuple[str, ...]


def read_words(
    text: str, *, is_name: bool = False, is_code: bool = False, codes: Collection[str] = ()
) -> Wording:
    """Return the words of `text`: all of a name, all but function words of code. `codes` are not split."""
    words = [word.removesuffix("'s") for word in _WORD.findall(text)]
    compounds = dict.fromkeys(filter(is_compound, words))
    if is_name and _KEBAB_NAME.fullmatch(text.strip()):
        compounds = {text.strip().removesuffix("()"): None}
    every = is_name or len(words) == 1
    terms = dict.fromkeys(
        part
        for word in words
        for part in ([word.lower()] if _is_whole(word, codes) else identifier_words(word))
        if every or (part not in STOPWORDS and len(part) > 1)
    )
    weighty = () if is_name or is_code else tuple(term for term in terms if term not in LIGHT_WORDS)
    return Wording(weighty or tuple(terms), tuple(compounds))


def _is_whole(word: str, codes: Collection[str]) -> bool:
    if word in codes:
        return "_" not in word
    return bool(_NUMBERED.fullmatch(word)) and not _COMPOUND.search(word)


def is_compound(word: str) -> bool:
    return bool(_COMPOUND.search(word))


def without_numbers(terms: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each term that ends in a number, its letters alone if they are a word."""
    found = ((term, match[1]) for term in terms if (match := _NUMBERED.fullmatch(term)))
    return {term: (letters,) for term, letters in found if len(letters or "") >= _FEWEST_LETTERS}


def words_of(pieces: Iterable[str]) -> set[str]:
    return {
        part
        for piece in pieces
        for word in _WORD.findall(piece)
        for part in (word.lower(), *identifier_words(word))
    }


def rewrite_phrases(text: str, synonyms: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Replace phrases by synonyms, longest first. Return the text, and the old phrases by the new ones."""
    phrases = {" ".join(old.lower().split()): new for old, new in synonyms.items() if len(old.split()) > 1}
    if not phrases:
        return text, {}
    spelled = sorted(phrases, key=lambda phrase: -len(phrase))
    either = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in spelled)
    replaced: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        old = " ".join(match.group().lower().split())
        replaced[phrases[old]] = old
        return phrases[old]

    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", replacement, text, flags=re.IGNORECASE), replaced


def word_synonyms(synonyms: Mapping[str, str]) -> dict[str, str]:
    return {old.strip().lower(): new for old, new in synonyms.items() if len(old.split()) == 1}


def with_synonyms(
    terms: Iterable[str], synonyms: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Replace words by synonyms. Return the terms, and the old words by the first of the new words."""
    replaced: dict[str, None] = {}
    stands_for: dict[str, tuple[str, ...]] = {}
    for term in terms:
        new = read_words(synonyms[term]).terms if term in synonyms else ()
        replaced.update(dict.fromkeys(new or (term,)))
        if new and term not in new:
            stands_for[new[0]] = (*stands_for.get(new[0], ()), term)
    return tuple(replaced), stands_for


def alternatives(
    terms: Iterable[str], other_lengths_of: Collection[str], others: Iterable[Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Return each term's alternatives in `others`, and for `other_lengths_of` also the other lengths."""
    sources = tuple(others)

    def candidates(term: str) -> Iterator[str]:
        for source in sources:
            yield from source.get(term, ())
        if term in other_lengths_of:
            yield from other_lengths(term)

    # The index contains stems, so another inflection is not an alternative.
    found = {
        term: tuple(dict.fromkeys(word for word in candidates(term) if stem(word) != stem(term)))
        for term in terms
    }
    return {term: other for term, other in found.items() if other}


def replaced(text: str, words: Mapping[str, str]) -> str:
    if not words:
        return text
    return _WORD.sub(lambda match: words.get(match.group().lower(), match.group()), text)
