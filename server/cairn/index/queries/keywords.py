"""What a keyword table says of single words, whatever a chunk scores: which chunks contain one, and how many rows match.

FTS5 has no counts but by counting: 2 ms for a word in 20,000 chunks. So each is counted up to a bound, once, and kept
until the table has grown or shrunk by a tenth; a plan needs no exact number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from cairn.index.reader.connection import IndexMemory
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.deadline import Cancelled
from cairn.index.vectors.static_rows import read_ids

_MAX_KEPT = 20_000
"""Words; 2 MB."""
_DRIFT = 0.1

Ids = NDArray[np.int64]


@frozen(eq=False)
class Postings:
    """The chunks whose text or names contain a word, and those of them that define a name with it."""

    anywhere: Ids
    """int64[n], ascending."""
    in_names: Ids
    """int64[n], ascending."""

    def shares(self, chunks: Ids) -> NDArray[np.float64]:
        """float64[n]: for each of `chunks` 1 where it defines a name with the word, ½ where it just contains it."""
        return 0.5 * _among(chunks, self.anywhere) + 0.5 * _among(chunks, self.in_names)

    def contain(self, chunks: Ids) -> NDArray[np.bool_]:
        """bool[n]: which of `chunks` contain the word."""
        return _among(chunks, self.anywhere)


def read_postings(reader: IndexReader, expression: str, cancelled: Cancelled) -> Postings:
    """The chunks that match the FTS5 `expression`; 0.1 ms for each thousand of them."""
    names = f"symbol_words : ({expression})"
    return Postings(_matching(reader, expression, cancelled), _matching(reader, names, cancelled))


def _matching(reader: IndexReader, match: str, cancelled: Cancelled) -> Ids:
    found: list[Ids] = []
    for source in reader.sources:
        with source.reading(cancelled) as db:
            ids = read_ids(db, "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ?", [match])
        found.append(ids if source is reader else -ids[::-1])
    return found[0] if len(found) == 1 else np.concatenate(found[::-1])


def _among(chunks: Ids, ascending: Ids) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(chunks), np.bool_)
    places = np.minimum(np.searchsorted(ascending, chunks), len(ascending) - 1)
    return np.equal(ascending[places], chunks)


@define
class _Kept:
    generation: int = -1
    """The index's, when `rows` were counted."""
    rows: int = 0
    rows_then: int = 0
    """When the first of `counts` was counted."""
    bound: int = 0
    counts: dict[str, int] = field(factory=dict)


_KEPT: WeakKeyDictionary[IndexMemory, dict[str, _Kept]] = WeakKeyDictionary()


@frozen
class KeywordCounts:
    """The counts of one keyword table."""

    rows: int = 0
    matching: Mapping[str, int] = field(factory=dict)
    """For each FTS5 expression the number of rows that match, up to a bound."""


def keyword_counts(
    reader: IndexReader, table: str, expressions: Iterable[str], bound: int, cancelled: Cancelled
) -> KeywordCounts:
    """How many rows of `table` match each FTS5 expression, counted up to `bound`."""
    found: dict[str, int] = {}
    with reader.reading(cancelled) as db:
        generation = int(db.execute("SELECT value FROM meta WHERE key = 'generation'").get or 0)
        kept = _KEPT.setdefault(reader.memory, {}).setdefault(table, _Kept())
        if generation != kept.generation:
            kept.rows = int(db.execute(f"SELECT count(*) FROM {table}_docsize").get)
            kept.generation = generation
        stale = abs(kept.rows - kept.rows_then) > _DRIFT * kept.rows_then or kept.bound != bound
        if stale or len(kept.counts) > _MAX_KEPT:
            kept.rows_then, kept.bound, kept.counts = kept.rows, bound, {}
        counts = kept.counts
        bounded = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        for expression in expressions:
            if expression not in counts:
                counts[expression] = int(db.execute(bounded, (expression, bound)).get)
            found[expression] = counts[expression]
    return KeywordCounts(kept.rows, found)
