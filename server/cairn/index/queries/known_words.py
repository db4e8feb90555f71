"""The words of an index: which occur, and which are spelled almost like a given one.

The keyword index is its own list of words, so nothing is kept that could fall behind: a look-up reads the few ranges of
its terms where a near one can stand. Its terms are stems, which are given the endings of English words to be compared and shown.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from string import ascii_lowercase
from typing import TypeVar
from weakref import WeakKeyDictionary

import Stemmer
from attrs import frozen

from cairn.errors import CairnError
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.deadline import Deadline, never
from cairn.index.store.generation_cache import GenerationCache
from cairn.text.unicode import without_accents

_SHORTEST = 3
"""Letters of a stem that is compared."""
_MAX_FOUND = 5
"""Words of which it is asked whether something is called so."""
_MAX_ALIKE = 20
"""Stems of one length that are given endings."""
_FEWEST = 2
"""A word that one chunk alone contains may be a typing error itself, unless something is called so."""
_MAX_KEPT = 500
"""Answers kept for each index while it stays as it is."""

_LONGEST_MS = 10.0
"""Reading a range of terms is given up after this: "con…" takes 33 ms in 107,000 chunks, as the chunks of each
are counted."""

_ENDINGS = (
    "", "s", "e", "es", "ed", "ing", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "y", "ity",
    "ities", "ly", "al", "ally", "able", "ability", "ible", "ibility", "ment", "ments", "ive", "ance", "ence",
    "ant", "ent", "ency", "ness", "ate", "ates", "ated", "ating", "ator", "ators", "ize", "izes", "ized",
    "izing", "izer", "ization", "alize", "alized", "alizing", "alizer", "alization", "ic", "ical", "ous",
    "ful", "est", "ings", "ements", "ication", "ications", "ified",
)  # fmt: skip
_porter = Stemmer.Stemmer("porter")
"""Stems as FTS5's tokenizer does."""


@frozen
class KnownWord:
    """A word of the index as it is spelled there."""

    text: str
    documents: int
    """Chunks and paths that contain it in any inflection."""
    named: bool
    """Whether a definition, a title or a path contains it."""
    stem: str = ""


@frozen
class IndexVocabulary:
    """The words of the given indexes together. One that cannot be read has none, and claims every word to be known."""

    readers: Sequence[IndexReader]

    def unknown(self, words: Sequence[str]) -> Collection[str]:
        """Those of the lower-case `words` that occur nowhere: in no inflection, and in no identifier."""
        left = list(dict.fromkeys(words))
        try:
            for source in chain.from_iterable(reader.sources for reader in self.readers):
                left = source.absent(left)
        except CairnError:  # the search itself will say so
            return ()
        return frozenset(left)

    def documents(self, words: Collection[str]) -> Mapping[str, int]:
        """For each of the lower-case `words` how many chunks contain it in any inflection."""
        counted: Counter[str] = Counter(dict.fromkeys(words, 0))
        for reader in self.readers:
            with suppress(CairnError):
                counted.update(_known(_counted, reader, words, partial(_count, reader)))
        return counted

    def chunks(self) -> int:
        """How many chunks there are."""
        found = 0
        for reader in self.readers:
            with suppress(CairnError):
                found += reader.facts().chunks
        return found

    @property
    def main_collection(self) -> str:
        """The collection of a file at the root of the first index that has one there; "" for none."""
        for reader in self.readers:
            with suppress(CairnError):
                for (collection,) in reader.select(_SELECT_MAIN):
                    return str(collection)
        return ""

    def near(self, word: str, errors: int) -> Sequence[KnownWord]:
        """Words at most about `errors` letters away from the lower-case `word`, best first within an index."""
        found: list[KnownWord] = []
        for reader in self.readers:
            with suppress(CairnError):
                near = _known(_near_words, reader, [(word, errors)], partial(_read_near, reader))
                found += chain.from_iterable(near.values())
        return found


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_Kept = WeakKeyDictionary[IndexReader, GenerationCache[K, V]]
_near_words: _Kept[tuple[str, int], list[KnownWord]] = WeakKeyDictionary()
_counted: _Kept[str, int] = WeakKeyDictionary()
"""How many chunks contain a word: a count reads all places where the word stands."""


def _known(
    kept: _Kept[K, V], reader: IndexReader, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, V]]
) -> dict[K, V]:
    cache = kept.setdefault(reader, GenerationCache(_MAX_KEPT))
    # Only the generation tells of changes of unsaved text.
    return cache.get(reader.generation() if reader.has_unsaved else reader.version(), keys, read)


def _count(reader: IndexReader, words: Sequence[str]) -> dict[str, int]:
    stems = {word: _stem(without_accents(word)) for word in words}
    counts: Counter[str] = Counter()
    for source in reader.sources:
        counts.update(source.documents(sorted(set(stems.values()))))
    return {word: counts[term] for word, term in stems.items()}


def _read_near(
    reader: IndexReader, asked: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], list[KnownWord]]:
    return {each: [near for source in reader.sources for near in _near(source, *each)] for each in asked}


_SELECT_MAIN = "SELECT collection FROM files WHERE instr(path, '/') = 0 ORDER BY path LIMIT 1"


def _near(source: IndexReader, word: str, errors: int) -> list[KnownWord]:
    undone = defaultdict(list)
    for text in _early_errors_undone(word):
        undone[_stem(text)].append(text)
    documents = Counter(source.documents(list(undone)))
    documents.update(dict(source.select(_SELECT_IN_PATHS, (json.dumps(list(undone)),))))
    spelled: dict[str, list[str]] = {term: undone[term] for term in documents}
    starting = _terms_starting(source, word[: _shared(word)])
    for term in _alike(word, starting, errors):
        if len(term) > _SHORTEST and word in _inflections(term):  # "extractor" beside "extract" is a word
            return []
        inflections = [text for text in _inflections(term) if unlikeness(word, text)[0] <= errors]
        spelled.setdefault(term, []).extend(text for text in inflections if _stem(text) == term)
    spelled.pop(_stem(word), None)
    likely = {term: min(texts, key=lambda t: unlikeness(word, t)) for term, texts in spelled.items() if texts}
    documents |= Counter(starting)
    best = sorted(likely, key=lambda term: (unlikeness(word, likely[term]), -documents[term]))[:_MAX_FOUND]
    known = (KnownWord(likely[term], documents[term], _is_named(source, likely[term]), term) for term in best)
    return [each for each in known if each.named or each.documents >= _FEWEST]


def unlikeness(word: str, meant: str) -> tuple[int, bool, int]:
    """By how much `word` differs from what was meant; the lower, the likelier is the error.

    Swapped letters are the most usual one, then letters left out.
    """
    from rapidfuzz.distance import OSA  # takes 20 ms to load, and is for typing errors alone

    return OSA.distance(word, meant), sorted(word) != sorted(meant), -len(meant)


def _shared(word: str) -> int:
    """How many letters the terms of a word's range share; what shares few takes long to read."""
    return min(4, max(2, len(word) - 3))


def _stem(word: str) -> str:
    return str(_porter.stemWord(word))


def _early_errors_undone(word: str) -> set[str]:
    """The word with one error undone among the letters that a range of terms shares, the first one left alone."""
    spelled = {word[1] + word[0] + word[2:]}
    for place in range(1, _shared(word) + 1):
        before, here, after = word[:place], word[place], word[place + 1 :]
        spelled |= {before + after, before + after[:1] + here + after[1:]}
        for letter in ascii_lowercase:
            spelled |= {before + letter + after, before + letter + here + after}
    return spelled - {word}


def _terms_starting(source: IndexReader, prefix: str) -> dict[str, int]:
    """How many chunks and paths contain each of the terms; none where reading them takes too long."""
    deadline = Deadline(never, _LONGEST_MS)
    found = Counter(source.stems_starting(prefix, deadline))
    if found or not deadline.is_over:
        found.update(dict(source.select(_SELECT_STARTING, (prefix, prefix + "\U0010ffff"))))
    return found


_SELECT_STARTING = "SELECT term, doc FROM path_words WHERE term >= ?1 AND term < ?2"
_SELECT_IN_PATHS = "SELECT w.term, w.doc FROM json_each(?) t CROSS JOIN path_words w ON w.term = t.value"


def _alike(word: str, terms: Iterable[str], errors: int) -> Iterator[str]:
    """Those of the stems `terms` that `word` may begin with."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    by_length: dict[int, list[str]] = defaultdict(list)
    for term in terms:
        if _SHORTEST <= len(term) <= len(word) + errors:
            by_length[len(term)].append(term)
    for length, same in by_length.items():
        # Where a letter is missing or too many, the last one is another, too.
        matches = process.extract(
            word[:length], same, scorer=OSA.distance, score_cutoff=errors + 1, limit=_MAX_ALIKE
        )
        yield from (term for term, _, _ in matches)


def _inflections(term: str) -> Iterator[str]:
    """Words that may have this stem."""
    if not term.endswith("i"):
        yield from (term + ending for ending in _ENDINGS)
        yield from (term + term[-1] + ending for ending in ("ed", "er", "ers", "ing"))
    else:  # was a "y"
        yield from (term[:-1] + ending for ending in ("y", "ies", "ied"))


def _is_named(source: IndexReader, word: str) -> bool:
    in_paths = "SELECT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH ?)"
    return source.is_named(word) or bool(source.select(in_paths, (f'"{word}"',))[0][0])
