"""Reads the index in memory of what is on the screen: its scores are for another index to stand beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from cairn.index.store.reader import ChunkFilter, ColumnWeights, IndexReader
from cairn.index.store.rows import key_text
from cairn.index.text.borrowed_bm25 import OCCURRENCES, Occurrences, read_occurrences


class ScreenReader(IndexReader):
    """Whoever uses it holds the overlay's lock: all threads share one connection."""

    def occurrences(
        self, match: str, weights: ColumnWeights, only: ChunkFilter, cancelled: Callable[[], bool]
    ) -> list[Occurrences]:
        """Where the FTS5 expression `match` is found, in every chunk that has it."""
        passes, values = self._passes("+rowid", only)
        with self._query(cancelled) as db:
            if db is None or not match:
                return []
            rows = db.execute(
                f"""SELECT rowid, {OCCURRENCES}(chunks_fts, {weights.sql}) FROM chunks_fts
                    WHERE chunks_fts MATCH ? AND {passes}""",
                (match, *values),
            )
            return [read_occurrences(int(row[0]), str(row[1])) for row in rows]

    def embedding_keys(self, only: ChunkFilter) -> dict[int, str]:
        """What vectors of these chunks are stored under."""
        passes, values = self._passes("id", only)
        with self._query() as db:
            rows = db.execute(f"SELECT id, embedding_key FROM chunks WHERE {passes}", values) if db else ()
            return {int(row[0]): key_text(row[1]) for row in rows}

    def embedding_keys_of(self, ids: Iterable[int]) -> dict[int, str]:
        """The same for chunks by their ids."""
        with self._query() as db:
            if db is None:
                return {}
            rows = db.execute(
                "SELECT id, embedding_key FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            )
            return {int(row[0]): key_text(row[1]) for row in rows}
