"""Which chunks contain a word, whatever they score."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.deadline import Cancelled
from cairn.index.vectors.static_rows import read_ids

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
