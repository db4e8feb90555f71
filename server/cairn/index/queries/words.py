"""The words of a question in an index: where each stands, and what every chunk is worth by them.

All chunks are scored alike, whichever leg found them. FTS5's own bm25 gives the same numbers for what it matches, but for words
that stand in more chunks than are counted in full (`index/sqlite/postings.py`), and for words that count as one, whose frequencies are
added up here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from cairn.index.reader.arrays import Ids
from cairn.index.reader.chunk_columns import NO_CHUNKS, ChunkColumns
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import Postings, together
from cairn.index.store.deadline import Cancelled

Floats = NDArray[np.float64]

_K1, _B = 1.2, 0.75
"""As in FTS5's bm25."""
_SEVERAL = 2
"""Times as many chunks as are wanted that a word stands in by which it is told what those are worth at least."""
_MOST_WEIGHTED = 48
"""Words of a report that are looked for: those that tell most."""
_FEW = 50_000
"""Chunks that are scored one by one where no others may be found; of more, all are scored."""


@frozen(eq=False)
class FoundWord:
    """A word of a question with what counts as it, and the chunks that hold any of these."""

    place: int
    """Which of the asked words it is."""
    idf: float
    """Its inverse document frequency times its weight, above 0."""
    held: Postings
    weight: float = 1.0
    """What the word counts in the question."""


@frozen(eq=False)
class FoundWords:
    """The words of a question in one index."""

    words: Sequence[FoundWord] = ()
    """Rarest first; those that are too frequent to tell anything are left out."""
    every: int = 0
    """Chunks of the index."""
    columns: ChunkColumns = NO_CHUNKS
    hidden: Ids = field(factory=partial(np.empty, 0, np.int64))
    """Chunks that are not found."""

    def best(self, limit: int, allowed: Ids | None = None) -> Ids:
        """int64[n]: the `limit` chunks worth most, best first; of equal ones the lower id comes first.

        `allowed` are the only ones that may be found, ascending; None for all.
        """
        if allowed is not None and len(allowed) <= _FEW:
            ids, worth = allowed, self.scores(allowed)
        else:
            ids, worth = self._everywhere(limit, allowed)
        is_found = worth > 0  # to part many equal numbers takes long
        ids, worth = ids[is_found], worth[is_found]
        if len(ids) > limit:
            least = np.partition(worth, len(worth) - limit)[len(worth) - limit] if limit else np.inf
            ids, worth = ids[worth >= least], worth[worth >= least]
        return ids[np.lexsort((ids, -worth))[:limit]]

    def scores(self, chunks: Ids) -> Floats:
        """float64[n]: BM25 of these chunks."""
        return self._summed(chunks, Postings.weights)

    def scores_by_names(self, chunks: Ids) -> Floats:
        """float64[n]: BM25 of these chunks by the names alone that they define."""
        return self._summed(chunks, Postings.names_at)

    def _summed(self, chunks: Ids, times: Callable[[Postings, NDArray[np.intp]], NDArray[Any]]) -> Floats:
        """float64[n]: BM25 of these chunks where `times` says how often a word stands at each place of its postings."""
        worth, damping = np.zeros(len(chunks)), self._damping(chunks)
        for word in self._standing:
            places, there = word.held.at(chunks)
            if there.any():
                worth[there] += _worth(word.idf, times(word.held, places[there]), damping[there])
        return worth

    @cached_property
    def _standing(self) -> Sequence[FoundWord]:
        """The words that stand somewhere; most spellings do not."""
        return [word for word in self.words if len(word.held.ids)]

    def _everywhere(self, limit: int, allowed: Ids | None) -> tuple[Ids, NDArray[Any]]:
        """The chunks with any of the words, and what they are worth: all that may be among the `limit` best."""
        found = self._standing
        if not found:
            return np.empty(0, np.int64), np.empty(0)
        lowest = min(int(word.held.ids[0]) for word in found)
        highest = max(int(word.held.ids[-1]) for word in found)
        worth = np.zeros(highest - lowest + 1, np.float32)
        for word in found:
            held = word.held.ids
            worth[held - lowest] += _worth(word.idf, word.held.weights(), self._damping(held))
        hidden = self.hidden[(self.hidden >= lowest) & (self.hidden <= highest)]
        worth[hidden - lowest] = 0.0
        if allowed is None:
            # As many chunks of one word are worth so much at least, and so are the best of all: that leaves most out.
            some = next((word.held.ids for word in found if len(word.held.ids) > _SEVERAL * limit), None)
            least = 0.0
            if some is not None and limit:
                least = np.partition(worth[some - lowest], len(some) - limit)[len(some) - limit]
            places = np.flatnonzero(worth >= least) if least > 0 else np.flatnonzero(worth)
            return places + lowest, worth[places]
        ids = allowed[(allowed >= lowest) & (allowed <= highest)]
        return ids, worth[ids - lowest]

    def _damping(self, chunks: Ids | NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[n]: what a chunk's length takes from how often a word stands in it."""
        damping = self.columns.tokens_of(chunks).astype(np.float32)
        damping *= np.float32(_K1 * _B / self.columns.mean_tokens)
        damping += np.float32(_K1 * (1 - _B))
        return damping


def _worth(idf: float, times: NDArray[Any], damping: NDArray[np.float32]) -> NDArray[np.float32]:
    worth = times.astype(np.float32)
    worth /= worth + damping
    worth *= np.float32(idf * (_K1 + 1))
    return worth


def find_words(
    reader: IndexReader,
    words: Sequence[Sequence[str]],
    most: int,
    cancelled: Cancelled,
    weights: Sequence[float] = (),
) -> FoundWords:
    """Where the words of a question stand, each given with what counts as it.

    The rarest come first, and as many as stand in no more than `most` chunks together, one that occurs at least: what stands in more tells
    next to nothing beside those. With `weights`, one for each word, the words that tell most come first, their idf is multiplied by
    their weight, and as many are looked for as a question may have.
    """
    asked = dict.fromkeys(text for word in words for text in word)
    counts = reader.word_counts(asked, most + 1, cancelled)
    rows = [sum(counts.matching[text] for text in word) for word in words]
    chosen = _most_telling(rows, counts.rows, weights, most) if weights else _rarest(rows, most)
    texts = list(dict.fromkeys(text for place in chosen for text in words[place]))
    postings = reader.postings({text: counts.matching[text] for text in texts}, cancelled)
    found = []
    for place in chosen:
        every = together([postings[text] for text in words[place] if text in postings])
        holding = min(len(every.ids), counts.rows)
        weight = weights[place] if weights else 1.0
        found.append(FoundWord(place, weight * _idf(holding, counts.rows), every, weight))
    return FoundWords(found, counts.rows, reader.columns(), reader.saved.chunks_in(reader.hidden))


def with_one_idf(found: Sequence[FoundWords]) -> list[FoundWords]:
    """The words of one question in several indexes, each with its idf in all of them together.

    By the idf of its own index a word would count most where it is rarest: in the indexes that are not about it.
    """
    every = sum(each.every for each in found)
    holding = Counter[int]()
    for each in found:
        holding.update({word.place: len(word.held.ids) for word in each.words})

    def shared(word: FoundWord) -> FoundWord:
        return evolve(word, idf=word.weight * _idf(min(holding[word.place], every), every))

    return [evolve(each, words=[shared(word) for word in each.words]) for each in found]


def _rarest(rows: Sequence[int], most: int) -> list[int]:
    """The places of the rarest words that stand in no more than `most` chunks together, one that occurs at least."""
    chosen: list[int] = []
    so_far = 0
    for place in sorted(range(len(rows)), key=rows.__getitem__):
        if so_far and so_far + rows[place] > most:
            break
        so_far += rows[place]
        chosen.append(place)
    return chosen


def _most_telling(rows: Sequence[int], every: int, weights: Sequence[float], most: int) -> list[int]:
    """The places of the words of the highest weight times idf, and of all words that stand nowhere."""
    telling = [weight * _idf(min(held, every), every) for held, weight in zip(rows, weights, strict=True)]
    chosen = [place for place, held in enumerate(rows) if not held]
    absent, so_far = len(chosen), 0
    for place in sorted(range(len(rows)), key=lambda place: -telling[place]):
        if not rows[place] or (so_far and so_far + rows[place] > most):
            continue
        if len(chosen) - absent == _MOST_WEIGHTED:
            break
        so_far += rows[place]
        chosen.append(place)
    return chosen


def _idf(holding: int, every: int) -> float:
    return math.log1p((every - holding + 0.5) / (holding + 0.5))


def passing_chunks(reader: IndexReader, only: ChunkFilter, cancelled: Cancelled) -> Ids | None:
    """int64[n], ascending: the chunks that pass; None where all do but hidden ones."""
    found = reader.admitted(only, cancelled)
    return None if found is None else found[~np.isin(found, reader.saved.chunks_in(reader.hidden))]
