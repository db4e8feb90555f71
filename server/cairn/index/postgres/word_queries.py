"""Queries for words and texts in a snapshot."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence

import apsw
import numpy as np

from cairn.errors import OutOfTimeError
from cairn.index.postgres.exact import find
from cairn.index.postgres.snapshot_reader import SnapshotReader, check, storable
from cairn.index.postgres.words import intersection, once, stems
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import NOWHERE, Postings
from cairn.index.reader.records import ColumnWeights, Hit, KeywordCounts
from cairn.index.store.deadline import Cancelled, Deadline, never
from cairn.index.store.keyword_columns import compound_parts
from cairn.index.store.prepared_rows import symbol_words
from cairn.index.text.bm25 import K1, LOWEST_IDF, B, Statistics
from cairn.index.text.literals import ExactMatches, Literal
from cairn.index.text.match import quoted_word
from cairn.index.text.word_list import WordList

_MOST_CHECKED = 300
"""The maximum number of chunks whose texts are searched for a phrase. If more have its words, all count."""


class WordQueries(SnapshotReader):
    def _stems(self, text: str) -> list[str]:
        with self.reading() as db:
            return stems(db, text)

    def word_counts(self, texts: Iterable[str], bound: int, cancelled: Cancelled) -> KeywordCounts:
        terms = {text: self._stems(text) for text in texts}
        counts = self._words.counts(self._ask, (term for every in terms.values() for term in every))
        matching = {text: min((counts[term] for term in found), default=0) for text, found in terms.items()}
        phrases = {text: found for text, found in terms.items() if len(found) > 1 and matching[text]}
        matching |= {text: len(found.ids) for text, found in self._postings_of(phrases).items()}
        return KeywordCounts(
            self.memory.chunks, {text: min(bound, count) for text, count in matching.items()}
        )

    def postings(self, texts: Mapping[str, int], cancelled: Cancelled) -> dict[str, Postings]:
        terms = {text: self._stems(text) for text in texts}
        try:
            check(cancelled)
        except OutOfTimeError:
            return {}
        found = self._postings_of(terms).items()
        # An index file counts a phrase once in each chunk.
        return {text: once(each) if len(terms[text]) > 1 else each for text, each in found}

    def _postings_of(self, terms: Mapping[str, Sequence[str]]) -> dict[str, Postings]:
        """Return the postings of each word or phrase; `terms` has their stems."""
        found = self._words.postings(self._ask, (term for every in terms.values() for term in every))

        def postings(every: Sequence[str]) -> Postings:
            if len(every) < 2:
                return found[every[0]] if every else NOWHERE
            return self._words.phrase(every, lambda: self._adjacent(every, [found[term] for term in every]))

        return {text: postings(every) for text, every in terms.items()}

    def _adjacent(self, terms: Sequence[str], every: Sequence[Postings]) -> Postings:
        near = intersection(every)
        if not 0 < len(near.ids) <= _MOST_CHECKED:
            return near
        counts, names = np.zeros(len(near.ids), np.uint8), np.zeros(len(near.ids), np.uint8)
        wanted, stored = f" {' '.join(terms)} ", self.chunks(near.ids.tolist())
        with self.reading() as db:
            for place, number in enumerate(near.ids.tolist()):
                if number in stored:
                    chunk = stored[number].chunk
                    texts = (chunk.text, " ".join(compound_parts(chunk.text)))
                    counts[place] = min(255, sum(_times(db, wanted, text) for text in texts))
                    if near.names[place]:
                        names[place] = min(255, _times(db, wanted, symbol_words(chunk)))
        there = (counts > 0) | (names > 0)
        return Postings(near.ids[there], counts[there], names[there])

    def word_list(self) -> WordList:
        return self._words.all(self._ask)

    def keywords(
        self,
        words: Sequence[str],
        weights: ColumnWeights,
        limit: int,
        only: ChunkFilter,
        cancelled: Cancelled,
    ) -> list[Hit]:
        check(cancelled)
        terms = {word: self._stems(word) for word in words}
        found = [each for each in self._postings_of(terms).values() if len(each.ids)]
        if not found:
            return []
        ids = np.unique(np.concatenate([each.ids for each in found])).astype(np.int64)
        ids = ids[self._passing(ids, only)]
        columns, every = self.columns(), self.memory.chunks
        scores = np.zeros(len(ids))
        damping = K1 * (1 - B + B * columns.tokens_of(ids) / columns.mean_tokens)
        for each in found:
            places, there = each.at(ids)
            here = places[there]
            times = weights.text * each.counts[here] + weights.symbol * each.names[here]
            idf = max(LOWEST_IDF, math.log((every - len(each.ids) + 0.5) / (len(each.ids) + 0.5)))
            scores[there] += idf * times * (K1 + 1) / (times + damping[there])
        ids, scores = ids[scores > 0], scores[scores > 0]
        order = np.lexsort((ids, -scores))[:limit]
        return list(map(Hit, ids[order].tolist(), scores[order].tolist()))

    def statistics(self, words: Sequence[str], cancelled: Cancelled) -> Statistics:
        check(cancelled)
        columns = self.columns()
        found = self.postings(dict.fromkeys(words, 0), never)
        tokens = int(columns.tokens.sum(dtype=np.int64))
        return Statistics(self.memory.chunks, tokens, [len(found[word].ids) for word in words])

    def absent(self, words: Sequence[str]) -> list[str]:
        counts = self.word_counts(words, 1, never).matching
        in_paths = "SELECT EXISTS (SELECT 1 FROM paths_fts WHERE paths_fts MATCH ?)"
        return [
            word
            for word in words
            if not counts[word] and not self.select(in_paths, (quoted_word(word),))[0][0]
        ]

    def documents(self, stems: Sequence[str]) -> dict[str, int]:
        counts = self._words.counts(self._ask, map(storable, stems))
        return {term: count for term in stems if (count := counts[storable(term)])}

    def stems_starting(self, prefix: str, deadline: Deadline) -> dict[str, int]:
        return self._words.starting(self._ask, storable(prefix), deadline)

    def is_named(self, word: str) -> bool:
        (found,) = self.postings({word: 0}, lambda: False).values()
        return bool(found.names.any())

    # --- texts ----------------------------------------------------------------------------------------

    def containing(
        self, literal: Literal, limit: int, only: ChunkFilter, deadline: Deadline, first: Iterable[int] = ()
    ) -> ExactMatches:
        return find(self, literal, limit, lambda ids: self._passing(ids, only), deadline, first)

    def texts(self, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        return [
            (number, line, zlib.decompress(packed).decode("utf-8", "surrogatepass"))
            for number, _, line, packed in self._rows_of(ids, "start_line, text")
        ]


def _times(db: apsw.Connection, wanted: str, text: str) -> int:
    """Return how often a text contains `wanted`: stems, with a space before and after each."""
    stemmed, found, place = f" {' '.join(stems(db, text))} ", 0, -1
    while (place := stemmed.find(wanted, place + 1)) >= 0:
        found += 1
    return found
