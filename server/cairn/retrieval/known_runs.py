"""Look up the words and tokens of runs of letters and digits, for thousands of runs at once.

Code repeats its runs, so each gets a number, and numpy gathers what belongs to many numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from cairn.embedding.static import StaticTable
from cairn.embedding.word_pieces import words_of
from cairn.text.identifiers import ascii_runs, identifier_words
from cairn.text.unspaced import spread
from cairn.text.words import stem

_MOST_RUNS = 40_000
"""The maximum number of known runs. Each takes about 400 bytes, with the caches of its words."""
_INT32 = 2**31 - 1

_MOST_TABLES = 2
"""A process has one table, and none while vectors are switched off."""

Ints = NDArray[np.int32]


class KnownRuns:
    """The runs seen so far, with the keys of their words and their tokens. Several threads may use it."""

    def __init__(self, table: StaticTable | None) -> None:
        self.keys, self.pieces = _Lists(), _Lists()
        self._table = table
        self._numbers = _Numbers(self._add)
        self._lock = threading.Lock()

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the runs of a text, in order. A text outside ASCII is split into words."""
        runs = ascii_runs(text) if text.isascii() else words_of(spread(text))
        return list(map(self._numbers.__getitem__, runs))

    @property
    def is_full(self) -> bool:
        return len(self._numbers) >= _MOST_RUNS

    def _add(self, run: str) -> int:
        with self._lock:
            if (known := self._numbers.get(run)) is not None:
                return known
            words = identifier_words(run)
            self.keys.append(list(map(word_key, words)))
            self.pieces.append(self._table.pieces(words) if self._table else [])
            number = self._numbers[run] = len(self._numbers)
            return number


@lru_cache(maxsize=30_000)
def word_key(word: str) -> int:
    """Return a key that is the same for all words with one stem, below 2³¹."""
    return hash(stem(word)) & _INT32


_known: dict[StaticTable | None, KnownRuns] = {}


def known_runs(table: StaticTable | None) -> KnownRuns:
    """Return the known runs with the tokens of a table, or others once these are too many."""
    known = _known.get(table)
    if known is None or known.is_full:
        if len(_known) >= _MOST_TABLES:
            _known.clear()
        known = _known[table] = KnownRuns(table)
    return known


class _Numbers(dict[str, int]):
    def __init__(self, add: Callable[[str], int]) -> None:
        super().__init__()
        self._add = add

    def __missing__(self, run: str) -> int:
        return self._add(run)


@define(eq=False)
class _Lists:
    """Lists of integers by number, to which lists are only added."""

    _values: Ints = field(factory=lambda: np.empty(1_000, np.int32))
    _starts: Ints = field(factory=lambda: np.zeros(1_000, np.int32))
    _count: int = 0

    def append(self, values: Sequence[int]) -> None:
        start = int(self._starts[self._count])
        end = start + len(values)
        if end > len(self._values):
            self._values = np.concatenate((self._values, np.empty(end, np.int32)))
        if self._count + 1 == len(self._starts):
            self._starts = np.concatenate((self._starts, np.zeros(self._count, np.int32)))
        self._values[start:end] = values
        self._starts[self._count + 1] = end
        self._count += 1

    def of(self, texts: Sequence[Sequence[int]], most: int | None = None) -> tuple[Ints, NDArray[np.int64]]:
        """Return what belongs to the numbers of all texts, int32[n], and how much of it belongs to each text,
        int64[texts]; up to `most` for each if given."""
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        numbers = np.fromiter(chain.from_iterable(texts), np.int64, int(counts.sum()))
        starts, values = self._starts, self._values
        firsts = starts[numbers].astype(np.int64)
        lengths = starts[numbers + 1] - firsts
        ends = np.cumsum(lengths)
        found = values[np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + lengths, lengths)]
        ends_of_texts = np.concatenate(([0], ends))[np.cumsum(counts)]
        of_text = np.diff(ends_of_texts, prepend=0)
        if most is not None and (of_text > most).any():
            place = np.arange(len(found)) - np.repeat(ends_of_texts - of_text, of_text)
            found, of_text = found[place < most], np.minimum(of_text, most)
        return found, of_text
