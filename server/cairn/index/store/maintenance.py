"""Maintenance of an index: deletes unused vectors, merges keyword indexes, and frees space. It runs in small
steps while the indexing thread has nothing else to do, so a save never waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import cast

import apsw

from cairn.index.store.meta import read_facts
from cairn.index.store.schema import KEYWORD_TABLES, STATIC_TABLE, vectors_table
from cairn.settings.tree import IndexSettings

_DAY = 24 * 3600
_HOLES = 0.3
"""A table of vectors is compacted if a larger share of its rows is deleted. sqlite-vec does not reuse their
space."""
_FEWEST_HOLES = 1_000
_BLOCK = 1_024
"""The number of rows in a block of sqlite-vec. It fills only the latest block's holes."""
_ROWS_AT_ONCE = 500
_PAGES_AT_ONCE = 1_000
"""The number of pages freed in one transaction: 4 MB."""
_MERGED_PAGES = 200
"""The number of pages of a keyword index merged in one transaction."""
_NOTHING_MERGED = 2
"""A merge that changes fewer rows than this had nothing to do (SQLite's documentation of FTS5's `merge`)."""


def today() -> int:
    return int(time.time() // _DAY)


class Maintenance:
    def __init__(self, db: apsw.Connection, today: Callable[[], int] = today) -> None:
        self._db = db
        self._today = today

    def run(self, settings: IndexSettings, interrupted: Callable[[], bool]) -> bool:
        """Do all steps; return false if interrupted before the last one. Completed steps stay done."""
        return not any(interrupted() for _ in self._steps(settings))

    def _steps(self, settings: IndexSettings) -> Iterator[None]:
        self._mark_unreferenced()
        yield from self._collect(settings)
        for table in self._vector_tables():
            while self._has_holes(table) and self._empty_a_block(table):
                yield
        for table in KEYWORD_TABLES:
            while self._merge_keywords(table):
                yield
        while self._give_back():
            yield

    def _mark_unreferenced(self) -> None:
        """Record for each vector since which day no chunk uses it or its model is not in use."""
        used = (
            "embeddings.model_id = (SELECT value FROM meta WHERE key = 'model_id')"
            " AND EXISTS (SELECT 1 FROM chunks c WHERE c.embedding_key = embeddings.key)"
        )
        with self._db:
            self._db.execute(
                f"UPDATE embeddings SET unreferenced = iif({used}, NULL, ?)"
                f" WHERE (unreferenced IS NULL) <> ({used})",
                (self._today(),),
            )

    def _collect(self, settings: IndexSettings) -> Iterator[None]:
        before = self._today() - settings.keep_vectors_days
        room = settings.keep_vectors_mb * 1_000_000
        doomed: dict[int, list[int]] = {}
        rows = self._db.execute(
            """SELECT e.id, e.model_id, e.unreferenced, m.dimension
               FROM embeddings e JOIN models m ON m.id = e.model_id
               WHERE e.unreferenced NOT NULL ORDER BY e.unreferenced DESC, e.id DESC"""
        )
        for embedding, model, since, dimension in rows:
            room -= dimension * 4
            if room < 0 or since < before:
                doomed.setdefault(model, []).append(embedding)
        for model, embeddings in doomed.items():
            for start in range(0, len(embeddings), _ROWS_AT_ONCE):
                with self._db:
                    for embedding in embeddings[start : start + _ROWS_AT_ONCE]:
                        self._db.execute(f"DELETE FROM {vectors_table(model)} WHERE rowid = ?", (embedding,))
                        self._db.execute("DELETE FROM embeddings WHERE id = ?", (embedding,))
                yield

    def _vector_tables(self) -> list[str]:
        tables = [vectors_table(cast(int, number)) for (number,) in self._db.execute("SELECT id FROM models")]
        return [*tables, STATIC_TABLE] if read_facts(self._db).has_static else tables

    # sqlite-vec's table `_chunks` has the capacity of each block, and `_rowids` has the block of each row.

    def _has_holes(self, table: str) -> bool:
        rows = int(self._db.execute(f"SELECT count(*) FROM {table}_rowids").get or 0)
        room = int(self._db.execute(f"SELECT coalesce(sum(size), 0) FROM {table}_chunks").get or 0)
        return room - rows > max(_HOLES * room, _FEWEST_HOLES + _BLOCK)

    def _empty_a_block(self, table: str) -> bool:
        """Move the rows of the emptiest block into the latest one; return false if there are none to move."""
        value = "vec_int8(?)" if table == STATIC_TABLE else "?"
        with self._db:
            block = self._db.execute(
                f"""SELECT chunk_id FROM {table}_rowids
                    WHERE chunk_id < (SELECT max(chunk_id) FROM {table}_chunks)
                    GROUP BY chunk_id ORDER BY count(*) LIMIT 1"""
            ).get
            rows = self._db.execute(
                f"""SELECT v.rowid, v.embedding
                    FROM {table}_rowids moved CROSS JOIN {table} v ON v.rowid = moved.rowid
                    WHERE moved.chunk_id = ?""",
                (block,),
            ).fetchall()
            self._db.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(row[0],) for row in rows])
            self._db.executemany(f"INSERT INTO {table}(rowid, embedding) VALUES (?, {value})", rows)
        return bool(rows)

    def _merge_keywords(self, table: str) -> bool:
        """Merge part of a keyword index, which frees deleted entries; return false once nothing is left."""
        before = self._db.total_changes()
        with self._db:
            self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (_MERGED_PAGES,))
        return self._db.total_changes() - before >= _NOTHING_MERGED

    def _give_back(self) -> bool:
        """Give some free pages back to the file system; return false once none can be given back."""
        free = int(self._db.pragma("freelist_count"))
        if free:
            self._db.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        return int(self._db.pragma("freelist_count")) < free
