"""The base class of both readers of a team's snapshots, which keep the catalogue in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw
import numpy as np
from attrs import define, field

from cairn.index.reader.bm25 import register
from cairn.index.reader.index_memory import IndexMemory
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.postings import ChunkColumns, Ids


@define(eq=False)
class CatalogueMemory(IndexMemory):
    """The connections and caches that a process keeps for one snapshot."""

    snapshot: int = field(kw_only=True)
    database: apsw.Connection = field(kw_only=True)
    """The connection that keeps the catalogue alive."""
    name: str = field(kw_only=True)
    """The name under which other connections of the process open the database."""
    columns: ChunkColumns = field(kw_only=True)

    def connect(self) -> apsw.Connection:
        """Return a further connection to the catalogue, for one thread."""
        connection = apsw.Connection(f"/{self.name}", vfs="memdb")
        register(connection)
        return connection


@define(eq=False, slots=False)
class CatalogueReader(IndexReader):
    """Reads a snapshot's catalogue."""

    memory: CatalogueMemory = field(kw_only=True)

    @property
    def key(self) -> tuple[str, int]:
        return ("snapshot", self.memory.snapshot)

    def identity(self) -> object:
        return self.key

    def connection(self) -> apsw.Connection:
        local = self.memory.local
        if local.db is None:
            local.db, local.identity = self.memory.connect(), self.identity()
        return local.db

    def columns(self) -> ChunkColumns:
        return self.memory.columns

    def file_numbers(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the files that are in the snapshot, by path, in the order of `paths`."""
        sql = "SELECT f.path, f.id FROM json_each(?) w CROSS JOIN files f ON f.path = w.value ORDER BY w.key"
        return dict(self.select(sql, (json.dumps(list(paths)),)))

    def chunks_in(self, paths: Sequence[str]) -> Ids:
        files = list(self.file_numbers(paths).values()) if paths else []
        if not files:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.columns().file_of, np.array(files, np.int32)))
