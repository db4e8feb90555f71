"""The one writer of an index: files, chunks, keywords and vectors, each batch in one transaction."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.chunking import Chunk, composite_text
from cairn.chunking.model import ChunkType, content_key
from cairn.index.database import open_writer
from cairn.index.rows import CHUNK_COLUMNS, chunk_from_row, chunk_to_row
from cairn.index.schema import create_vectors_table, vectors_table
from cairn.index.words import compound_parts, split_words


@frozen
class FileRecord:
    """A file as the index has it."""

    path: str
    size: int
    mtime_ns: int
    content_hash: str
    collection: str


@frozen
class IndexedFile:
    """A file to be written, with its chunks; a binary file has none and `is_text` false."""

    record: FileRecord
    kind: str
    is_text: bool
    chunks: tuple[Chunk, ...]


@frozen
class PendingText:
    """A text that has no vector yet."""

    key: str
    text: str
    is_code: bool


class IndexWriter:
    """Owns the writing connection. Every method that changes the index raises its generation by one."""

    def __init__(self, folder: Path) -> None:
        self._db, self.remark = open_writer(folder)

    def close(self) -> None:
        """Fold the write-ahead log into the database, so the next start has none to read."""
        self.checkpoint()
        self._db.close()

    def checkpoint(self) -> None:
        """Fold the log in and truncate it where no reader is in the way; without it, it only grows."""
        try:
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def files(self) -> dict[str, FileRecord]:
        """Every file of the index by path."""
        rows = self._db.execute("SELECT path, size, mtime_ns, content_hash, collection FROM files")
        return {str(row[0]): FileRecord(*row) for row in rows}

    def records(self, paths: Iterable[str]) -> dict[str, FileRecord]:
        """Those of `paths` that the index has."""
        rows = self._db.execute(
            "SELECT path, size, mtime_ns, content_hash, collection FROM files"
            " WHERE path IN (SELECT value FROM json_each(?))",
            (json.dumps(list(paths)),),
        )
        return {str(row[0]): FileRecord(*row) for row in rows}

    def count_files(self) -> int:
        """Number of files in the index."""
        return int(self._db.execute("SELECT count(*) FROM files").get or 0)

    def files_below(self, path: str) -> list[str]:
        """The indexed paths that are `path` or lie in the directory `path`."""
        # '0' is the character after '/': the range holds every path below, and uses the index.
        rows = self._db.execute(
            "SELECT path FROM files WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')", (path,)
        )
        return [str(row[0]) for row in rows]

    def write(self, files: Sequence[IndexedFile], removed: Iterable[str]) -> None:
        """Replace `files` and remove the paths `removed`, all in one transaction."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._db:
            for path in removed:
                self._db.execute("DELETE FROM files WHERE path = ?", (path,))
            for file in files:
                self._write_file(file, now)
            if any(file.chunks for file in files):
                self._set("embedded", 0)
            self._raise_generation()

    def touch(self, records: Sequence[FileRecord]) -> None:
        """Note new sizes and times of files whose content stayed the same."""
        with self._db:
            self._db.executemany(
                "UPDATE files SET size = ?, mtime_ns = ? WHERE path = ?",
                [(record.size, record.mtime_ns, record.path) for record in records],
            )

    def set_scanned(self, scanned: bool, total: int) -> None:
        """Record whether the index holds every present file, and how many there are."""
        with self._db:
            self._set("scanned", int(scanned))
            self._set("files_total", total)
            self._raise_generation()

    def set_embedded(self, embedded: bool) -> None:
        """Record whether every text has a vector of the model in use."""
        if self._get("embedded") != int(embedded):
            with self._db:
                self._set("embedded", int(embedded))
                self._raise_generation()

    def use_model(self, model: str, dimension: int) -> int:
        """The id of `model`'s vectors; they are what searches compare from now on."""
        known = self._db.execute("SELECT id FROM models WHERE model = ?", (model,)).get
        if known is not None and self._get("model_id") == int(known):
            return int(known)
        with self._db:
            if known is None:
                self._db.execute("INSERT INTO models(model, dimension) VALUES (?, ?)", (model, dimension))
                known = self._db.last_insert_rowid()
                self._db.execute(create_vectors_table(int(known), dimension))
            self._set("model_id", int(known))
            self._set("embedded", 0)
            self._raise_generation()
        return int(known)

    def use_no_model(self) -> None:
        """Searches compare no vectors from now on; those that exist are kept."""
        if self._get("model_id") != 0:
            with self._db:
                self._set("model_id", 0)
                self._raise_generation()

    def count_pending(self, model_id: int) -> int:
        """Number of distinct texts without a vector of the model."""
        count = self._db.execute(
            "SELECT count(DISTINCT embedding_key) FROM chunks c WHERE NOT EXISTS"
            " (SELECT 1 FROM embeddings e WHERE e.model_id = ? AND e.key = c.embedding_key)",
            (model_id,),
        ).get
        return int(count or 0)

    def pending_texts(self, model_id: int, limit: int) -> list[PendingText]:
        """Up to `limit` distinct texts without a vector of the model, in the order they were indexed."""
        rows = self._db.execute(
            f"""SELECT {", ".join(f"c.{name}" for name in CHUNK_COLUMNS)}, c.embedding_key, f.path, f.collection
                FROM chunks c JOIN files f ON f.id = c.file_id
                WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.model_id = ? AND e.key = c.embedding_key)
                ORDER BY c.id LIMIT ?""",
            (model_id, limit),
        )
        pending: dict[str, PendingText] = {}
        for *columns, key, path, collection in rows:
            chunk = chunk_from_row(columns)
            text = composite_text(str(path), str(collection), chunk)
            pending[str(key)] = PendingText(str(key), text, chunk.type is ChunkType.CODE)
        return list(pending.values())

    def store_vectors(self, model_id: int, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep `vectors`, float32[n, dimension], for the texts `keys` (n of them)."""
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        with self._db:
            for key, vector in zip(keys, rows, strict=True):
                self._db.execute("INSERT INTO embeddings(model_id, key) VALUES (?, ?)", (model_id, key))
                self._db.execute(
                    f"INSERT INTO {vectors_table(model_id)}(rowid, embedding) VALUES (?, ?)",
                    (self._db.last_insert_rowid(), vector.tobytes()),
                )
            self._raise_generation()

    def _write_file(self, file: IndexedFile, now: str) -> None:
        record = file.record
        self._db.execute("DELETE FROM files WHERE path = ?", (record.path,))
        self._db.execute(
            "INSERT INTO files(path, size, mtime_ns, content_hash, is_text, kind, collection, indexed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                record.path, record.size, record.mtime_ns, record.content_hash,
                int(file.is_text), file.kind, record.collection, now,
            ),
        )  # fmt: skip
        file_id = self._db.last_insert_rowid()
        path_words = " ".join(split_words(record.path))
        self._db.executemany(
            f"""INSERT INTO chunks(file_id, {", ".join(CHUNK_COLUMNS)},
                    content_hash, embedding_key, identifiers, path_words, symbol_words)
                VALUES ({", ".join("?" * (len(CHUNK_COLUMNS) + 6))})""",
            [
                (
                    file_id,
                    *chunk_to_row(chunk),
                    chunk.content_hash,
                    content_key(composite_text(record.path, record.collection, chunk)),
                    " ".join(compound_parts(chunk.text)),
                    path_words,
                    " ".join(word for name in (*chunk.defines, chunk.title) for word in split_words(name)),
                )
                for chunk in file.chunks
            ],
        )

    def _get(self, key: str) -> int | None:
        value = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return None if value is None else int(value)

    def _set(self, key: str, value: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", (key, value))

    def _raise_generation(self) -> None:
        self._db.execute(
            "INSERT INTO meta(key, value) VALUES ('generation', 1)"
            " ON CONFLICT(key) DO UPDATE SET value = value + 1"
        )
