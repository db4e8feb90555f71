"""The words of an index, and the words that are spelled almost like a given word.

They are read from the keyword index, so no copy of the words can become stale: a lookup reads the few ranges
of terms that may contain a similar word. Terms are stems; English endings are appended to compare and show
them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from string import ascii_lowercase
from typing import TypeVar
from weakref import WeakKeyDictionary

import Stemmer
from attrs import frozen

from cairn.errors import CairnError
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.caches import GenerationCache
from cairn.index.store.deadline import Deadline, query_end
from cairn.text.unicode import without_accents
from cairn.text.unspaced import is_unspaced

_SHORTEST = 3
"""The minimum number of letters that a stem needs to be compared."""
_MAX_FOUND = 5
"""The maximum number of words to look up among the names of definitions."""
_MAX_ALIKE = 20
"""The maximum number of stems of one length to try with endings."""
_FEWEST = 2
"""The minimum number of chunks with a suggested word, unless a name contains it. A word in a single chunk may
be a typing error itself."""
_MAX_BEGUN = 4
"""The maximum number of words that a word which is being typed may become."""
_MAX_KEPT = 500
"""The maximum number of results to cache for each index while it does not change."""

_LONGEST_MS = 10.0
"""The time limit for reading a range of terms. "con…" takes 33 ms to count in 107,000 chunks."""

_ENDINGS = (
    "", "s", "e", "es", "ed", "ing", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "y", "ity",
    "ities", "ly", "al", "ally", "able", "ability", "ible", "ibility", "ment", "ments", "ive", "ance", "ence",
    "ant", "ent", "ency", "ness", "ate", "ates", "ated", "ating", "ator", "ators", "ize", "izes", "ized",
    "izing", "izer", "ization", "alize", "alized", "alizing", "alizer", "alization", "ic", "ical", "ous",
    "ful", "est", "ings", "ements", "ication", "ications", "ified",
)  # fmt: skip
_porter = Stemmer.Stemmer("porter")


@frozen
class KnownWord:
    text: str
    documents: int
    """The number of chunks and paths that contain the word in any inflection."""
    named: bool
    """Whether a definition, a title or a path contains the word."""
    stem: str = ""


@frozen
class IndexVocabulary:
    """The words of several indexes together. If an index cannot be read, every word counts as known."""

    readers: Sequence[IndexReader]

    def unknown(self, words: Sequence[str]) -> Collection[str]:
        """Return the lower-case words that occur nowhere, in no inflection and in no identifier."""
        left = list(dict.fromkeys(words))
        try:
            for source in chain.from_iterable(reader.sources for reader in self.readers):
                left = source.absent(left)
        except CairnError:  # the search itself reports the error
            return ()
        return frozenset(left)

    def documents(self, words: Collection[str]) -> Mapping[str, int]:
        """Return how many chunks contain each of the lower-case `words` in any inflection."""
        counted: Counter[str] = Counter(dict.fromkeys(words, 0))
        for reader in self.readers:
            with suppress(CairnError):
                counted.update(_known(_counted, reader, words, partial(_count, reader)))
        return counted

    def chunks(self) -> int:
        found = 0
        for reader in self.readers:
            with suppress(CairnError):
                found += reader.facts().chunks
        return found

    @property
    def main_collection(self) -> str:
        """The collection of a top-level file, from the first index that has such a file; "" for none."""
        for reader in self.readers:
            with suppress(CairnError):
                for (collection,) in reader.select(_SELECT_MAIN):
                    return str(collection)
        return ""

    def begun_by(self, prefix: str) -> Sequence[str]:
        """Return the most frequent words that begin with the lower-case `prefix`, at most _MAX_BEGUN. They
        may lack their endings."""
        found: Counter[str] = Counter()
        for source in chain.from_iterable(reader.sources for reader in self.readers):
            with suppress(CairnError):
                found.update(_terms_starting(source, prefix))
        words = (term for term, _ in found.most_common() if term.isalpha())
        return [f"{term[:-1]}y" if term.endswith("i") else term for term in islice(words, _MAX_BEGUN)]

    def near(self, word: str, errors: int) -> Sequence[KnownWord]:
        """Return words about `errors` letters away from the lower-case `word`, best first in each index."""
        found: list[KnownWord] = []
        for reader in self.readers:
            with suppress(CairnError):
                near = _known(_near_words, reader, [(word, errors)], partial(_read_near, reader))
                found += chain.from_iterable(near.values())
        return found


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_Caches = WeakKeyDictionary[IndexReader, GenerationCache[K, V]]
_near_words: _Caches[tuple[str, int], list[KnownWord]] = WeakKeyDictionary()
_counted: _Caches[str, int] = WeakKeyDictionary()
"""The number of chunks that contain each word, cached because counting reads all places of a word."""


def _known(
    caches: _Caches[K, V], reader: IndexReader, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, V]]
) -> dict[K, V]:
    cache = caches.setdefault(reader, GenerationCache(_MAX_KEPT))
    # While there is unsaved text, only the generation changes with it.
    return cache.get(reader.generation() if reader.has_unsaved else reader.version(), keys, read)


def _count(reader: IndexReader, words: Sequence[str]) -> dict[str, int]:
    # Only Latin, Greek and Cyrillic letters are without their accents in the index.
    stems = {word: _stem(word if is_unspaced(word) else without_accents(word)) for word in words}
    counts: Counter[str] = Counter()
    for source in reader.sources:
        counts.update(source.documents(sorted(set(stems.values()))))
    return {word: counts[term] for word, term in stems.items()}


def _read_near(
    reader: IndexReader, wanted: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], list[KnownWord]]:
    return {each: [near for source in reader.sources for near in _near(source, *each)] for each in wanted}


_SELECT_MAIN = "SELECT collection FROM files WHERE instr(path, '/') = 0 ORDER BY path LIMIT 1"


def _near(source: IndexReader, word: str, errors: int) -> list[KnownWord]:
    undone = defaultdict(list)
    for text in _early_errors_undone(word):
        undone[_stem(text)].append(text)
    documents = Counter(source.documents(list(undone)))
    documents.update(dict(source.select(_SELECT_IN_PATHS, (json.dumps(list(undone)),))))
    spelled: dict[str, list[str]] = {term: undone[term] for term in documents}
    starting = _terms_starting(source, word[: _prefix_length(word)])
    for term in _alike(word, starting, errors):
        # `extractor` is a correct word if `extract` is one.
        if len(term) > _SHORTEST and word in _inflections(term):
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
    """Return how unlikely it is that `word` is a typing error for `meant`. Swapped letters are the likeliest
    error, missing letters the next."""
    from rapidfuzz.distance import OSA  # loading it takes 20 ms, and only typing errors need it

    return OSA.distance(word, meant), sorted(word) != sorted(meant), -len(meant)


def _prefix_length(word: str) -> int:
    """Return the length of the prefix that all candidates share. A short prefix takes long to read."""
    return min(4, max(2, len(word) - 3))


def _stem(word: str) -> str:
    return str(_porter.stemWord(word))


def _early_errors_undone(word: str) -> set[str]:
    """Return the words with one error corrected within the shared prefix, except in the first letter."""
    spelled = {word[1] + word[0] + word[2:]}
    for place in range(1, _prefix_length(word) + 1):
        before, here, after = word[:place], word[place], word[place + 1 :]
        spelled |= {before + after, before + after[:1] + here + after[1:]}
        for letter in ascii_lowercase:
            spelled |= {before + letter + after, before + letter + here + after}
    return spelled - {word}


def _terms_starting(source: IndexReader, prefix: str) -> dict[str, int]:
    """Return the terms with this prefix and their numbers of chunks and paths; empty if it takes too long."""
    deadline = Deadline(query_end(), _LONGEST_MS)
    found = Counter(source.stems_starting(prefix, deadline))
    if found or not deadline.is_over:
        found.update(dict(source.select(_SELECT_STARTING, (prefix, prefix + "\U0010ffff"))))
    return found


_SELECT_STARTING = "SELECT term, doc FROM path_words WHERE term >= ?1 AND term < ?2"
_SELECT_IN_PATHS = "SELECT w.term, w.doc FROM json_each(?) t CROSS JOIN path_words w ON w.term = t.value"


def _alike(word: str, terms: Iterable[str], errors: int) -> Iterator[str]:
    """Yield the stems among `terms` with which `word` may begin."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    by_length: dict[int, list[str]] = defaultdict(list)
    for term in terms:
        if _SHORTEST <= len(term) <= len(word) + errors:
            by_length[len(term)].append(term)
    for length, same in by_length.items():
        # A missing or superfluous letter also changes the last letter of the prefix.
        matches = process.extract(
            word[:length], same, scorer=OSA.distance, score_cutoff=errors + 1, limit=_MAX_ALIKE
        )
        yield from (term for term, _, _ in matches)


def _inflections(term: str) -> Iterator[str]:
    if not term.endswith("i"):
        yield from (term + ending for ending in _ENDINGS)
        yield from (term + term[-1] + ending for ending in ("ed", "er", "ers", "ing"))
    else:  # the stemmer replaced a "y"
        yield from (term[:-1] + ending for ending in ("y", "ies", "ied"))


def _is_named(source: IndexReader, word: str) -> bool:
    in_paths = "SELECT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH ?)"
    return source.is_named(word) or bool(source.select(in_paths, (f'"{word}"',))[0][0])
