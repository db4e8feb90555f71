"""The words of a query in an index: their postings, and the BM25 score of every chunk.

All chunks are scored alike, whichever kind of search found them. FTS5's own bm25 gives the same scores with
two exceptions: words in more chunks than are counted in full (`index/sqlite/word_memory.py`), and several
words that count as one, whose frequencies are added up here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from cairn.index.reader.bm25 import damping, idf, worth
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import NO_CHUNKS, ChunkColumns, Ids, Postings, together

Floats = NDArray[np.float64]

_SEVERAL = 2
"""A word in this many times as many chunks as are requested gives a lower bound of the best scores."""
_MOST_WEIGHTED = 48
"""The maximum number of words of a weighted query to search for: those of the highest weighted idf."""
_FEW = 50_000
"""The maximum number of admitted chunks to score alone. If there are more, all chunks are scored."""


@frozen(eq=False)
class FoundWord:
    """A word of a query, with the postings of this word and of the words that count as the same word."""

    place: int
    idf: float
    """The inverse document frequency times `weight`, above 0."""
    postings: Postings
    weight: float = 1.0


@frozen(eq=False)
class FoundWords:
    """The words of a query in one index."""

    words: Sequence[FoundWord] = ()
    chunk_count: int = 0
    """The number of chunks in the index."""
    columns: ChunkColumns = NO_CHUNKS
    hidden: Ids = field(factory=partial(np.empty, 0, np.int64))
    _totals: tuple[int, NDArray[np.float32]] | None = field(default=None, init=False)
    """The lowest id that `best` found, and the score of each chunk from this id on."""

    def best(self, limit: int, allowed: Ids | None = None) -> Ids:
        """Return the `limit` best chunks, int64[n], best first; chunks of equal score are ordered by id.
        `allowed` are the ids of the only chunks that may be found, ascending; None allows all.
        """
        if allowed is not None and len(allowed) <= _FEW:
            ids, scores = allowed, self.scores(allowed)
        else:
            ids, scores = self._everywhere(limit, allowed)
        is_found = scores > 0  # Partitioning many equal numbers is slow.
        ids, scores = ids[is_found], scores[is_found]
        if len(ids) > limit:
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit] if limit else np.inf
            ids, scores = ids[scores >= least], scores[scores >= least]
        return ids[np.lexsort((ids, -scores))[:limit]]

    def scores(self, chunks: Ids) -> Floats:
        """Return the BM25 scores of these chunks, float64[n]."""
        if self._totals is None:
            return self._summed(chunks, Postings.weights)
        lowest, total = self._totals
        places = chunks - lowest
        if len(places) and places.min() >= 0 and places.max() < len(total):
            return total[places].astype(np.float64)
        found, is_known = np.zeros(len(chunks)), (places >= 0) & (places < len(total))
        found[is_known] = total[places[is_known]]
        return found

    def scores_by_names(self, chunks: Ids) -> Floats:
        """Return the BM25 scores of the names that these chunks define, float64[n]."""
        return self._summed(chunks, Postings.names_at)

    def _summed(self, chunks: Ids, times: Callable[[Postings, NDArray[np.intp]], NDArray[Any]]) -> Floats:
        """Return BM25 scores, float64[n]. `times` counts the occurrences at places of a word's postings."""
        total, lengths = np.zeros(len(chunks)), self._damping(chunks)
        for word in self._occurring:
            places, there = word.postings.at(chunks)
            if there.any():
                total[there] += worth(word.idf, times(word.postings, places[there]), lengths[there])
        return total

    @cached_property
    def _occurring(self) -> Sequence[FoundWord]:
        """The words that occur in the index. Most spellings of a word do not."""
        return [word for word in self.words if len(word.postings.ids)]

    def _everywhere(self, limit: int, allowed: Ids | None) -> tuple[Ids, NDArray[Any]]:
        """Return chunks that include the `limit` best ones, and their scores."""
        found = self._occurring
        if not found:
            return np.empty(0, np.int64), np.empty(0)
        lowest = min(int(word.postings.ids[0]) for word in found)
        highest = max(int(word.postings.ids[-1]) for word in found)
        total = np.zeros(highest - lowest + 1, np.float32)
        for word in found:
            chunks = word.postings.ids
            total[chunks - lowest] += worth(word.idf, word.postings.weights(), self._damping(chunks))
        hidden = self.hidden[(self.hidden >= lowest) & (self.hidden <= highest)]
        total[hidden - lowest] = 0.0
        object.__setattr__(self, "_totals", (lowest, total))
        if allowed is None:
            # The `limit` best chunks of one word give a lower bound, which excludes most other chunks.
            some = next(
                (word.postings.ids for word in found if len(word.postings.ids) > _SEVERAL * limit), None
            )
            least = 0.0
            if some is not None and limit:
                least = np.partition(total[some - lowest], len(some) - limit)[len(some) - limit]
            places = np.flatnonzero(total >= least) if least > 0 else np.flatnonzero(total)
            return places + lowest, total[places]
        ids = allowed[(allowed >= lowest) & (allowed <= highest)]
        return ids, total[ids - lowest]

    def _damping(self, chunks: Ids | NDArray[np.int32]) -> NDArray[np.float32]:
        return damping(self.columns.tokens_of(chunks), self.columns.mean_tokens)


def find_words(
    reader: IndexReader,
    words: Sequence[Sequence[str]],
    most: int,
    weights: Sequence[float] = (),
) -> FoundWords:
    """Return the rarest words of a query with their postings. Each of `words` is given with the words that
    count as the same. Together, the returned words are in up to `most` chunks, or are just one word that
    occurs. With `weights`, one for each word, the words of the highest weighted idf are returned instead, up
    to _MOST_WEIGHTED.
    """
    counts = reader.word_counts(dict.fromkeys(text for word in words for text in word), most + 1)
    rows = [sum(counts.matching[text] for text in word) for word in words]
    chosen = _most_distinctive(rows, counts.rows, weights, most) if weights else _rarest(rows, most)
    texts = list(dict.fromkeys(text for place in chosen for text in words[place]))
    postings = reader.postings({text: counts.matching[text] for text in texts})
    found = []
    for place in chosen:
        every = together([postings[text] for text in words[place] if text in postings])
        holding = min(len(every.ids), counts.rows)
        weight = weights[place] if weights else 1.0
        found.append(FoundWord(place, weight * idf(holding, counts.rows), every, weight))
    return FoundWords(found, counts.rows, reader.columns(), reader.saved.chunks_in(reader.hidden))


def with_one_idf(found: Sequence[FoundWords]) -> list[FoundWords]:
    """Return the words of one query in several indexes, with their idf in all indexes together. With an idf
    for each index, a word would weigh most where it is rarest: in the indexes of other topics."""
    total = sum(each.chunk_count for each in found)
    holding = Counter[int]()
    for each in found:
        holding.update({word.place: len(word.postings.ids) for word in each.words})

    def shared(word: FoundWord) -> FoundWord:
        return evolve(word, idf=word.weight * idf(min(holding[word.place], total), total))

    return [evolve(each, words=[shared(word) for word in each.words]) for each in found]


def _rarest(rows: Sequence[int], most: int) -> list[int]:
    """Return the positions of the rarest words: up to `most` chunks together, but at least one that
    occurs."""
    chosen: list[int] = []
    so_far = 0
    for place in sorted(range(len(rows)), key=rows.__getitem__):
        if so_far and so_far + rows[place] > most:
            break
        so_far += rows[place]
        chosen.append(place)
    return chosen


def _most_distinctive(rows: Sequence[int], every: int, weights: Sequence[float], most: int) -> list[int]:
    """Return the positions of all words that do not occur, and of the words of the highest weighted idf."""
    idfs = [weight * idf(min(count, every), every) for count, weight in zip(rows, weights, strict=True)]
    chosen = [place for place, count in enumerate(rows) if not count]
    absent, so_far = len(chosen), 0
    for place in sorted(range(len(rows)), key=lambda place: -idfs[place]):
        if not rows[place] or (so_far and so_far + rows[place] > most):
            continue
        if len(chosen) - absent == _MOST_WEIGHTED:
            break
        so_far += rows[place]
        chosen.append(place)
    return chosen


def passing_chunks(reader: IndexReader, only: ChunkFilter) -> Ids | None:
    """Return the chunks that pass, int64[n], ascending; None if all chunks pass that are not hidden."""
    found = reader.admitted(only)
    return None if found is None else found[~np.isin(found, reader.saved.chunks_in(reader.hidden))]
