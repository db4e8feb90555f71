"""Maintenance of an index: compacts the vectors, merges keyword indexes, and frees space. It runs in small
steps while the indexing thread has nothing else to do, so a save never waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import apsw

from cairn.index.store.meta import read_facts
from cairn.index.store.schema import KEYWORD_TABLES, STATIC_TABLE

_DAY = 24 * 3600
_HOLES = 0.3
"""A table of vectors is compacted if a larger share of its rows is deleted. sqlite-vec does not reuse their
space."""
_FEWEST_HOLES = 1_000
_BLOCK = 1_024
"""The number of rows in a block of sqlite-vec. It fills only the latest block's holes."""
_PAGES_AT_ONCE = 1_000
"""The number of pages freed in one transaction: 4 MB."""
_MERGED_PAGES = 200
"""The number of pages of a keyword index merged in one transaction."""
_NOTHING_MERGED = 2
"""A merge that changes fewer rows than this had nothing to do (SQLite's documentation of FTS5's `merge`)."""


def today() -> int:
    return int(time.time() // _DAY)


class Maintenance:
    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def run(self, interrupted: Callable[[], bool]) -> bool:
        """Do all steps; return false if interrupted before the last one. Completed steps stay done."""
        return not any(interrupted() for _ in self._steps())

    def _steps(self) -> Iterator[None]:
        if read_facts(self._db).has_static:
            while self._has_holes() and self._empty_a_block():
                yield
        for table in KEYWORD_TABLES:
            while self._merge_keywords(table):
                yield
        while self._give_back():
            yield

    # sqlite-vec's table `_chunks` has the capacity of each block, and `_rowids` has the block of each row.

    def _has_holes(self) -> bool:
        rows = int(self._db.execute(f"SELECT count(*) FROM {STATIC_TABLE}_rowids").get or 0)
        room = int(self._db.execute(f"SELECT coalesce(sum(size), 0) FROM {STATIC_TABLE}_chunks").get or 0)
        return room - rows > max(_HOLES * room, _FEWEST_HOLES + _BLOCK)

    def _empty_a_block(self) -> bool:
        """Move the rows of the emptiest block into the latest one; return false if there are none to move."""
        with self._db:
            block = self._db.execute(
                f"""SELECT chunk_id FROM {STATIC_TABLE}_rowids
                    WHERE chunk_id < (SELECT max(chunk_id) FROM {STATIC_TABLE}_chunks)
                    GROUP BY chunk_id ORDER BY count(*) LIMIT 1"""
            ).get
            rows = self._db.execute(
                f"""SELECT v.rowid, v.embedding
                    FROM {STATIC_TABLE}_rowids moved CROSS JOIN {STATIC_TABLE} v ON v.rowid = moved.rowid
                    WHERE moved.chunk_id = ?""",
                (block,),
            ).fetchall()
            self._db.executemany(f"DELETE FROM {STATIC_TABLE} WHERE rowid = ?", [(row[0],) for row in rows])
            self._db.executemany(
                f"INSERT INTO {STATIC_TABLE}(rowid, embedding) VALUES (?, vec_int8(?))", rows
            )
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
