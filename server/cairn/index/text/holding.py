"""Which chunks hold a word, whatever they score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.store.reader import IndexReader

Ids = NDArray[np.int64]


@frozen(eq=False)
class Holding:
    """The chunks in whose text or names a word stands, and those of them that define a name with it."""

    anywhere: Ids
    """int64[n], ascending."""
    in_names: Ids
    """int64[n], ascending."""

    def shares(self, chunks: Ids) -> NDArray[np.float64]:
        """float64[n]: for each of `chunks` 1 where it defines a name with the word, ½ where it holds it at all."""
        return 0.5 * _among(chunks, self.anywhere) + 0.5 * _among(chunks, self.in_names)

    def holds(self, chunks: Ids) -> NDArray[np.bool_]:
        """bool[n]: which of `chunks` hold the word."""
        return _among(chunks, self.anywhere)


def chunks_holding(reader: IndexReader, expression: str, cancelled: Callable[[], bool]) -> Holding:
    """The chunks that match the FTS5 `expression`; 0.1 ms for each thousand of them."""
    matches = (expression, f"symbol_words : ({expression})")
    anywhere, in_names = (_matching(reader, match, cancelled) for match in matches)
    return Holding(anywhere, in_names)


def _matching(reader: IndexReader, match: str, cancelled: Callable[[], bool]) -> Ids:
    found = _read(reader, match, cancelled)
    if isinstance(reader, OverlaidReader):
        with reader.overlay.shown() as (screen, _):
            if screen:
                return np.concatenate([-_read(screen, match, cancelled)[::-1], found])
    return found


def _read(reader: IndexReader, match: str, cancelled: Callable[[], bool]) -> Ids:
    # As one text: 5,000 ids take 0.3 ms so, and 0.8 row by row.
    text = reader.read(
        lambda db: (
            db.execute("SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?", (match,)).get
        ),
        cancelled,
    )
    return np.fromstring(text, np.int64, sep=",") if text else np.empty(0, np.int64)


def _among(chunks: Ids, ascending: Ids) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(chunks), np.bool_)
    places = np.minimum(np.searchsorted(ascending, chunks), len(ascending) - 1)
    return np.equal(ascending[places], chunks)
