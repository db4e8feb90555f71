"""Reads the index file from outside the daemon, because requests would disturb the measurement.

Only this module of the benchmark knows the tables; tables that do not exist raise UnavailableError.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import sqlite_vec
from attrs import frozen

if TYPE_CHECKING:
    from cairn.chunking.model import Chunk

NAME = "index.db"


class UnavailableError(Exception):
    """The index does not contain this (yet)."""


def index_path(data: Path) -> Path:
    """Return the one index file in a data folder. Raises UnavailableError if there is none."""
    found = sorted(data.glob(f"workspaces/*/{NAME}"))
    if len(found) != 1:
        raise UnavailableError(f"{data} holds {len(found)} indexes")
    return found[0]


def damaged(data: Path) -> list[str]:
    """Return the index files that the daemon set aside as damaged."""
    return [path.name for path in data.glob("workspaces/*/*damaged*")]


class IndexFile:
    """A reading connection to the index."""

    def __init__(self, path: Path, write: bool = False) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
        self.db = apsw.Connection(str(path), flags=flags)
        self.db.set_busy_timeout(5_000)
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())

    def close(self) -> None:
        self.db.close()

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return all rows. Raises UnavailableError if the tables differ."""
        try:
            return list(self.db.execute(sql, values))
        except apsw.SQLError as problem:
            raise UnavailableError(str(problem)) from problem

    def value(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """Return the first column of the only row."""
        return self.rows(sql, values)[0][0]

    def text_paths(self) -> list[str]:
        """Return the paths of the indexed text files, sorted."""
        return [str(row[0]) for row in self.rows("SELECT path FROM files WHERE is_text ORDER BY path")]

    def chunks(self) -> Iterator[tuple[str, Chunk]]:
        """Yield every chunk with its file's path, in the order of path and lines."""
        from cairn.index.store.rows import CHUNK_COLUMNS, chunk_from_row

        columns = ", ".join(f"c.{name}" for name in CHUNK_COLUMNS)
        tables = "files f JOIN chunks c ON c.file_id = f.id"
        sql = f"SELECT f.path, {columns} FROM {tables} ORDER BY f.path, c.position"
        for path, *row in self.rows(sql):
            yield str(path), chunk_from_row(row)

    def defined_names(self) -> list[str]:
        """Return every name that some chunk defines, sorted."""
        return [str(row[0]) for row in self.rows("SELECT DISTINCT name FROM definitions ORDER BY name")]

    def comments(self) -> list[str]:
        """Return every leading comment or docstring of a chunk, sorted."""
        sql = "SELECT DISTINCT comment FROM chunks WHERE comment <> '' ORDER BY comment"
        return [str(row[0]) for row in self.rows(sql)]

    def count_current(self, sizes: dict[str, int]) -> int:
        """Return how many of these files the index has with these sizes; 500 took 1 ms."""
        sql = "SELECT count(*) FROM json_each(?) e JOIN files f ON f.path = e.key AND f.size = e.value"
        return int(self.value(sql, (json.dumps(sizes),)))

    def tables(self, using: str = "") -> list[str]:
        """Return the names of the tables, or of the virtual ones that use the module `using`."""
        rows = self.rows(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL ORDER BY name"
        )
        wanted = re.compile(rf"USING\s+{using}\b" if using else "", re.IGNORECASE)
        return [str(name) for name, sql in rows if wanted.search(sql)]

    def pages(self) -> dict[str, int]:
        """Return the bytes of the file by table or index, with free pages."""
        used = {
            str(name): int(size)
            for name, size in self.rows("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        }
        free = int(self.value("PRAGMA freelist_count")) * int(self.value("PRAGMA page_size"))
        return {**used, "(free)": free}

    def faults(self) -> list[str]:
        """Return the faults that SQLite's, FTS5's and foreign key checks find. Needs a writing connection."""
        found = [str(row[0]) for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"foreign key: {row}" for row in self.rows("PRAGMA foreign_key_check")]
        for table in self.tables(using="fts5"):
            try:
                # The value 1 also compares with the content table.
                self.db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except apsw.CorruptError as problem:
                found.append(f"{table}: {problem}")
        return found


@contextmanager
def opened(data: Path) -> Iterator[IndexFile]:
    """Open the index of a data folder to read."""
    index = IndexFile(index_path(data))
    try:
        yield index
    finally:
        index.close()


@contextmanager
def copied(data: Path) -> Iterator[IndexFile]:
    """Copy a dead daemon's index with its log, and open the copy to write."""
    with tempfile.TemporaryDirectory(prefix="cairn-check-") as temporary:
        path = index_path(data)
        for file in (path, Path(f"{path}-wal")):
            if file.exists():
                shutil.copyfile(file, Path(temporary) / file.name)
        index = IndexFile(Path(temporary) / path.name, write=True)
        try:
            yield index
        finally:
            index.close()


@frozen
class Contents:
    """An index as sets that are equal for equal trees, whatever the order of changes was."""

    sets: dict[str, frozenset[tuple[Any, ...]]]
    repeated: dict[str, int]
    """The rows beyond the first of each kind."""
    counts: dict[str, int]

    @classmethod
    def read(cls, index: IndexFile) -> Contents:
        """Read all content of an index; `unmatched` checks keyword rows and vectors."""
        sets, repeated, counts = {}, {}, {}
        for name, sql in _CONTENTS.items():
            rows = index.rows(sql)
            sets[name], repeated[name] = frozenset(rows), len(rows) - len(set(rows))
            counts[name] = len(rows)
        for table in index.tables(using="fts5"):
            counts[f"rows of {table}"] = index.value(f"SELECT count(*) FROM {table}_docsize")
        return cls(sets, repeated, counts)


_CONTENTS = {
    "files": "SELECT path, size, content_hash, is_text, kind, collection FROM files",
    "chunks": "SELECT f.path, c.position, c.start_line, c.end_line, c.content_hash"
    " FROM chunks c JOIN files f ON f.id = c.file_id",
    "definitions": "SELECT f.path, c.position, d.name"
    " FROM definitions d JOIN chunks c ON c.id = d.chunk_id JOIN files f ON f.id = c.file_id",
}


def unmatched(index: IndexFile) -> dict[str, int]:
    """Return the rows without a needed counterpart, by kind of fault."""
    tables = index.tables(using="vec0")
    pairs = {
        "chunk without keywords": ("chunks", "id", "chunks_fts_docsize", "id"),
        "keywords without chunk": ("chunks_fts_docsize", "id", "chunks", "id"),
    }
    for table in tables:
        pairs[f"chunk without its row of {table}"] = ("chunks", "id", f"{table}_rowids", "rowid")
        pairs[f"row of {table} without its chunk"] = (f"{table}_rowids", "rowid", "chunks", "id")
    counted = {
        what: int(
            index.value(f"SELECT count(*) FROM {one} WHERE {key} NOT IN (SELECT {other_key} FROM {other})")
        )
        for what, (one, key, other, other_key) in pairs.items()
    }
    return {what: count for what, count in counted.items() if count}
