"""The base class of both readers of a team's snapshots, which keep the catalogue in memory."""

from __future__ import annotations

import apsw
from attrs import define, field

from cairn.index.reader.chunk_columns import ChunkColumns
from cairn.index.reader.connection import IndexMemory
from cairn.index.reader.index_reader import IndexReader
from cairn.index.text.bm25 import register


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

    def _connection(self) -> apsw.Connection:
        local = self.memory.local
        if local.db is None:
            local.db, local.identity = self.memory.connect(), self.identity()
        return local.db

    def columns(self) -> ChunkColumns:
        return self.memory.columns
