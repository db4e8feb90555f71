"""Reads the index in memory of unsaved text, whose keyword scores must stand beside those of another index."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from cairn.index.reader.filters import ChunkFilter, passes
from cairn.index.reader.index_reader import IndexReader
from cairn.index.store.meta import Facts
from cairn.index.text.bm25 import OCCURRENCES, Occurrences


class UnsavedReader(IndexReader):
    """All threads share one connection, so each keeps the lock `using` while it reads."""

    def __init__(self, connect: Callable[[], apsw.Connection | None], using: threading.RLock) -> None:
        """`connect` gives the connection, None before there is any unsaved text."""
        super().__init__(Path("open documents"))
        self._connect = connect
        self._using = using

    @contextmanager
    def reading(self, cancelled: Callable[[], bool] | None = None) -> Iterator[apsw.Connection]:
        with self._using, super().reading(cancelled) as db:
            yield db

    def occurrences(self, match: str, only: ChunkFilter, cancelled: Callable[[], bool]) -> list[Occurrences]:
        """Where the FTS5 expression `match` is found, in every chunk that matches it."""
        if not match:
            return []
        with self.reading(cancelled) as db:
            condition, values = passes(db, "+rowid", only)
            rows = db.execute(
                f"""SELECT rowid, {OCCURRENCES}(chunks_fts) FROM chunks_fts
                    WHERE chunks_fts MATCH ? AND {condition}""",
                (match, *values),
            )
            return [Occurrences(chunk, *json.loads(found)) for chunk, found in rows]

    def passing(self, only: ChunkFilter) -> list[int]:
        """The ids of the chunks that pass."""
        with self.reading() as db:
            condition, values = passes(db, "id", only)
            return [int(row[0]) for row in db.execute(f"SELECT id FROM chunks WHERE {condition}", values)]

    def _static_rows(self, db: apsw.Connection, facts: Facts) -> None:
        """They are too few to be kept in memory a second time."""

    def _connection(self) -> apsw.Connection:
        return self._connect() or super()._connection()
