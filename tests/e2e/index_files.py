"""Readers of index files from outside Cairn: their contents, and whether they are sound."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

from .command_line import run_cairn

_CONTENTS = {
    "files": "SELECT path, size, content_hash, is_text, kind, collection FROM files",
    "chunks": "SELECT f.path, c.position, c.start_line, c.end_line, c.content_hash"
    " FROM chunks c JOIN files f ON f.id = c.file_id",
    "definitions": "SELECT f.path, c.position, d.name"
    " FROM definitions d JOIN chunks c ON c.id = d.chunk_id JOIN files f ON f.id = c.file_id",
    "keywords": "SELECT term, doc, cnt FROM words",
    "counted": "SELECT value FROM meta WHERE key = 'chunks'",
}


def index_path(data: Path) -> Path:
    """Return the path of the only index in a data folder."""
    (path,) = data.glob("workspaces/*/index.db")
    return path


@contextmanager
def opened(path: Path, *, write: bool = False) -> Iterator[apsw.Connection]:
    """Open a connection to the index at `path`."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(10_000)
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    try:
        yield db
    finally:
        db.close()


def contents(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the contents of the index, which are equal for equal trees whatever their history."""
    with opened(index_path(data)) as db:
        return {name: sorted(db.execute(sql)) for name, sql in _CONTENTS.items()}


def fresh_contents(workspace: Path, data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Index the workspace in a new data folder, and return the contents of that index."""
    data.mkdir()
    run_cairn("index", str(workspace), CAIRN_DATA_DIR=str(data))
    return contents(data)


def differences(data: Path, expected: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that only one of the index's contents and `expected` has; nothing if they are equal."""
    now = contents(data)
    return {name: sorted({*now[name]} ^ {*expected[name]}) for name in now if now[name] != expected[name]}


def is_word(data: Path, word: str) -> bool:
    """Return whether any indexed text has this word, in lower case."""
    with opened(index_path(data)) as db:
        return bool(db.execute("SELECT count(*) FROM words WHERE term = ?", (word,)).get)


def faults(data: Path) -> list[str]:
    """Return the faults that the checks of SQLite, FTS5 and the foreign keys find in a copy of the index."""
    path = index_path(data)
    with tempfile.TemporaryDirectory() as folder:
        for file in (path, Path(f"{path}-wal")):
            if file.exists():
                shutil.copyfile(file, Path(folder) / file.name)
        with opened(Path(folder) / path.name, write=True) as db:
            found = [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            found += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
            try:
                db.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')")
            except apsw.CorruptError as problem:
                found.append(str(problem))
            lacking = "SELECT id FROM chunks EXCEPT SELECT id FROM chunks_fts_docsize"
            return found + [f"chunk {row[0]} has no keywords" for row in db.execute(lacking)]
