"""BM25 scores of a few chunks with the statistics of another, larger index.

In an index of a few chunks every word is frequent, so SQLite's own bm25 scores every match near zero. To be
comparable with scores of the large index, these scores use the large index's number of rows, lengths and
phrase frequencies. All figures come from FTS5 itself, so that stems, phrases and column filters count as in
its own bm25.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from operator import mul
from typing import Any, TypeVar

import apsw
from attrs import frozen

K1, B = 1.2, 0.75
LOWEST_IDF = 1e-6
"""These constants are the same as in FTS5's bm25."""

Number = TypeVar("Number", float, Any)

OCCURRENCES, STATISTICS = "cairn_occurrences", "cairn_statistics"
"""The names of FTS5 functions that return the fields of `Occurrences` and of `Statistics` as JSON."""


@frozen
class Occurrences:
    chunk_id: int
    tokens: int
    counts: Sequence[Sequence[int]]
    """The number of occurrences by phrase and column."""


@frozen
class Statistics:
    chunks: int
    tokens: int
    frequencies: Sequence[int]
    """The number of chunks that contain each phrase; empty if no chunk matches the query."""


def register(db: apsw.Connection) -> None:
    """Define OCCURRENCES and STATISTICS for the connection's queries. Call it once for each connection."""
    db.register_fts5_function(OCCURRENCES, _occurrences)
    db.register_fts5_function(STATISTICS, _statistics)


def read_statistics(db: apsw.Connection, match: str) -> Statistics:
    """Return the statistics of `db` for an FTS5 expression, in 8 ms for a word in 50,000 chunks."""
    select = f"SELECT {STATISTICS}(chunks_fts) FROM chunks_fts"
    found = db.execute(f"{select} WHERE chunks_fts MATCH ? LIMIT 1", (match,)).get
    return Statistics(*json.loads(found or db.execute(f"{select} LIMIT 1").get or "[0, 0, []]"))


def score(found: Sequence[Occurrences], statistics: Statistics, weights: Sequence[float]) -> dict[int, float]:
    """Return the score of each chunk by id, comparable with bm25 in the index of `statistics`. `weights` are
    the weights of the columns. A word that is not in `statistics` is taken to be as frequent as in
    `found`."""
    if not found:
        return {}
    by_phrase = zip(*(chunk.counts for chunk in found), strict=True)
    here = [sum(map(any, counts)) for counts in by_phrase]
    there = statistics.frequencies or (0,) * len(here)
    chunks = max(statistics.chunks, len(found))
    tokens = statistics.tokens / statistics.chunks if statistics.tokens else found[0].tokens
    idfs = [idf(chunks, max(counts)) for counts in zip(here, there, strict=True)]
    return {chunk.chunk_id: _score(chunk, idfs, tokens, weights) for chunk in found}


def _score(chunk: Occurrences, idfs: Sequence[float], tokens: float, weights: Sequence[float]) -> float:
    """Return the BM25 score of a chunk. `tokens` is the mean length of all chunks."""
    damping = K1 * (1 - B + B * chunk.tokens / tokens)
    found = 0.0
    for idf, counts in zip(idfs, chunk.counts, strict=True):
        weight = sum(map(mul, weights, counts))
        found += idf * weight * (K1 + 1) / (weight + damping) if weight else 0.0
    return found


def idf(chunks: int, frequency: int) -> float:
    """Return the inverse document frequency of FTS5's bm25."""
    against = odds(chunks, frequency)
    return max(math.log(against), LOWEST_IDF) if against > 0 else LOWEST_IDF


def odds(chunks: int, frequency: Number) -> Number:
    """Return the odds that a chunk lacks a word: a number, or an array for an array of frequencies. With an
    idf of log(1 + odds), words that are in most chunks count, too."""
    return (chunks - frequency + 0.5) / (frequency + 0.5)


def _occurrences(api: apsw.FTS5ExtensionApi, /, *_: apsw.SQLiteValue) -> str:
    phrases = map(api.phrase_locations, range(api.phrase_count))
    return json.dumps([api.column_size(), [list(map(len, columns)) for columns in phrases]])


def _statistics(api: apsw.FTS5ExtensionApi, /, *_: apsw.SQLiteValue) -> str:
    frequencies = [0] * api.phrase_count

    def count(_: apsw.FTS5ExtensionApi, phrase: int) -> None:
        frequencies[phrase] += 1

    for phrase in range(api.phrase_count):
        api.query_phrase(phrase, count, phrase)
    return json.dumps([api.row_count, api.column_total_size(), frequencies])
