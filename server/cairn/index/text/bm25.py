"""BM25 of a few chunks by the statistics of another, larger index.

In an index of a few chunks every word is frequent, so SQLite's own bm25 makes nearly nothing of any match. Scores that
are to stand beside those of the large index take the number of rows, their length and the frequency of each phrase
from there. All of it comes from FTS5 itself, so stems, phrases and column filters count as they do in its bm25.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from operator import mul

import apsw
from attrs import frozen

K1, B = 1.2, 0.75
LOWEST_IDF = 1e-6
"""As in FTS5's bm25."""

OCCURRENCES, STATISTICS = "cairn_occurrences", "cairn_statistics"
"""FTS5 functions: JSON for `Occurrences`; JSON for `Statistics`."""


@frozen
class Occurrences:
    """Where a query's phrases occur in one chunk."""

    chunk_id: int
    tokens: int
    """Of the chunk, in all columns."""
    counts: Sequence[Sequence[int]]
    """For each phrase how often it occurs in each column."""


@frozen
class Statistics:
    """What an index as a whole says of a query."""

    chunks: int
    tokens: int
    frequencies: Sequence[int]
    """For each phrase the number of chunks it occurs in; empty where no chunk matches the query."""


def register(db: apsw.Connection) -> None:
    """Let the connection's queries use OCCURRENCES and STATISTICS. Once for a connection."""
    db.register_fts5_function(OCCURRENCES, _occurrences)
    db.register_fts5_function(STATISTICS, _statistics)


def read_statistics(db: apsw.Connection, match: str) -> Statistics:
    """What `db` says of the FTS5 expression `match`.

    Counting was measured to take a third of what bm25 takes for the same query: 8 ms for a word in half of 100,000
    chunks.
    """
    asked = f"SELECT {STATISTICS}(chunks_fts) FROM chunks_fts"
    found = db.execute(f"{asked} WHERE chunks_fts MATCH ? LIMIT 1", (match,)).get
    return Statistics(*json.loads(found or db.execute(f"{asked} LIMIT 1").get or "[0, 0, []]"))


def score(found: Sequence[Occurrences], statistics: Statistics, weights: Sequence[float]) -> dict[int, float]:
    """The score of each chunk by its id, as high as bm25 would score it among the chunks of `statistics`.

    `weights` are those of the columns. A word that `statistics` do not have counts as rare as it is here.
    """
    if not found:
        return {}
    by_phrase = zip(*(chunk.counts for chunk in found), strict=True)
    here = [sum(map(any, counts)) for counts in by_phrase]
    there = statistics.frequencies or (0,) * len(here)
    chunks = max(statistics.chunks, len(found))
    tokens = statistics.tokens / statistics.chunks if statistics.tokens else found[0].tokens
    rarity = [_idf(chunks, max(counts)) for counts in zip(here, there, strict=True)]
    return {chunk.chunk_id: _score(chunk, rarity, tokens, weights) for chunk in found}


def _score(chunk: Occurrences, rarity: Sequence[float], tokens: float, weights: Sequence[float]) -> float:
    """BM25; `tokens` is the mean length of a chunk."""
    damping = K1 * (1 - B + B * chunk.tokens / tokens)
    found = 0.0
    for idf, counts in zip(rarity, chunk.counts, strict=True):
        weight = sum(map(mul, weights, counts))
        found += idf * weight * (K1 + 1) / (weight + damping) if weight else 0.0
    return found


def _idf(chunks: int, frequency: int) -> float:
    odds = (chunks - frequency + 0.5) / (frequency + 0.5)
    return max(math.log(odds), LOWEST_IDF) if odds > 0 else LOWEST_IDF


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
