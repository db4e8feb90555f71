"""The rows of an index file, as a team's database stores them.

A run indexes files into an index file as on any machine. The team's database stores its rows under new ids.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.errors import IndexUnavailableError
from cairn.index.indexing.git_history import stored_commits, subject_words
from cairn.index.postgres.blocks import TermBatch
from cairn.index.postgres.term_batches import Frequency, counted, in_runs, marked
from cairn.index.reader.arrays import Ids, numbers
from cairn.index.reader.postings import Postings, capped
from cairn.index.sqlite.postings import COUNTED
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME, open_reader

WORDS, OPERATORS, NAMES = 1, 2, 3
"""Kinds of terms: words of chunks, operators in chunks, names in symbol tables."""

_VOCABULARIES = {OPERATORS: "operators", NAMES: "names"}
_VECTORS_AT_ONCE = 20_000
_ROWS_AT_ONCE = 1_000_000
"""Occurrences of terms that are read at once: a text of 8 MB, and arrays of about the same size."""


@frozen
class FileFacts:
    """The facts of a file that imports, copies and history are counted from."""

    path: str
    size: int
    content_hash: bytes
    is_text: bool
    kind: str
    collection: str
    indexed_at: str
    chunks: int
    imports: str
    sketch: bytes


@frozen
class NewFile(FileFacts):
    """A row of the index file's table `files`."""

    id: int
    symbols: bytes | None


class Segment:
    """The index file in `folder`, which must not change meanwhile. Close it after use."""

    def __init__(self, folder: Path) -> None:
        """Open the index file. Raise IndexUnavailableError where there is none of this version."""
        db = open_reader(folder / DATABASE_NAME)
        if db is None:
            raise IndexUnavailableError(f"There is no index in {folder}. Index the files first.")
        self._db = db
        self.reader = SqliteReader(folder)
        for table in _VOCABULARIES.values():
            db.execute(
                f"CREATE VIRTUAL TABLE temp.{table}_places USING fts5vocab('main', '{table}', 'instance')"
            )
            db.execute(f"CREATE VIRTUAL TABLE temp.{table}_terms USING fts5vocab('main', '{table}', 'row')")

    def close(self) -> None:
        self._db.close()

    def meta(self) -> dict[str, Any]:
        """Return the rows of `meta`: facts, and the recipe of the vectors."""
        return dict(self._db.execute("SELECT key, value FROM meta"))

    def files(self) -> list[NewFile]:
        rows = self._db.execute(
            """SELECT path, size, f.content_hash, is_text, kind, collection, indexed_at, chunks, imports,
                      sketch, f.id, s.packed
               FROM files f LEFT JOIN symbols s ON s.id = f.symbols_id ORDER BY path"""
        )
        return [NewFile(*cast(Any, row)) for row in rows]

    def highest_chunk(self) -> int:
        """Return the highest id of a chunk, or 0."""
        return int(self._db.execute("SELECT max(id) FROM chunks").get or 0)

    def chunk_places(self) -> tuple[Ids, Ids]:
        """Return int64[n] and int64[n]: the ids of all chunks, ascending, and those of their files."""
        ((ids, files),) = self._db.execute(
            "SELECT group_concat(id), group_concat(file_id) FROM (SELECT id, file_id FROM chunks ORDER BY id)"
        )
        return numbers(ids), numbers(files)

    def chunk_rows(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield id, file and these columns of each chunk, by id."""
        return cast(
            "Iterator[tuple[Any, ...]]",
            self._db.execute(f"SELECT id, file_id, {', '.join(columns)} FROM chunks ORDER BY id"),
        )

    def definitions(self) -> Iterator[tuple[str, int]]:
        """Yield each name that a chunk defines, with the chunk's id."""
        return cast("Iterator[tuple[str, int]]", self._db.execute("SELECT name, chunk_id FROM definitions"))

    def vectors(self, ids: Ids) -> Iterator[tuple[Ids, NDArray[np.int8]]]:
        """Yield ids and static vectors of these chunks in batches: int64[n] and int8[n, dimension]."""
        for start in range(0, len(ids), _VECTORS_AT_ONCE):
            yield self.reader.static_vectors(ids[start : start + _VECTORS_AT_ONCE].tolist())

    def tokens(self, ids: Ids) -> NDArray[np.uint16]:
        """Return uint16[n]: the lengths of these chunks in the keyword index."""
        return self.reader.columns().tokens[ids]

    def terms(self, kind: int) -> Iterator[TermBatch]:
        """Yield the terms of a kind in ascending order. A document is a chunk, or for NAMES a file."""
        return self._words() if kind == WORDS else self._marks(_VOCABULARIES[kind], kind)

    def _words(self) -> Iterator[TermBatch]:
        rows = self._db.execute("SELECT term, doc, cnt FROM words")
        for run in in_runs((Frequency(*cast(Any, row)) for row in rows), _ROWS_AT_ONCE):
            marked_places = self._read_places("doc * 2 + (col = 'symbol_words')", "occurrences", run)
            # An index file counts no more of a frequent word when it is queried, either.
            yield counted(run, marked_places >> 1, (marked_places & 1).astype(np.bool_), COUNTED)

    def _marks(self, table: str, kind: int) -> Iterator[TermBatch]:
        """Yield terms without counts.

        A document of the table `names` is a symbol table, which files may share.
        """
        rows = self._db.execute(f"SELECT term, doc, doc FROM temp.{table}_terms")
        sharing = self._files_of_symbols() if kind == NAMES else None
        for run in in_runs((Frequency(*cast(Any, row)) for row in rows), _ROWS_AT_ONCE):
            documents = self._read_places("doc", f"temp.{table}_places", run)
            places = np.repeat(np.arange(len(run)), [each.rows for each in run])
            if sharing is not None:
                files, firsts, many = sharing
                repeated = many[documents]
                places = np.repeat(places, repeated)
                behind = np.arange(len(places)) - np.repeat(np.cumsum(repeated) - repeated, repeated)
                documents = files[np.repeat(firsts[documents], repeated) + behind]
            yield marked([each.term for each in run], places, documents)

    def _read_places(self, column: str, table: str, run: Sequence[Frequency]) -> Ids:
        """Return int64[rows]: a column of the table of occurrences for the terms of a run, in their order."""
        sql = f"SELECT group_concat({column}) FROM {table} WHERE term >= ? AND term <= ?"
        return numbers(self._db.execute(sql, (run[0].term, run[-1].term)).get)

    def _files_of_symbols(self) -> tuple[Ids, Ids, Ids]:
        """Return the files with symbol tables, by table, and each table's first index and count there."""
        ((tables, files),) = self._db.execute(
            """SELECT group_concat(symbols_id), group_concat(id)
               FROM (SELECT symbols_id, id FROM files WHERE symbols_id IS NOT NULL ORDER BY symbols_id, id)"""
        )
        # The vocabulary may still contain tables that no file has any longer.
        highest = int(self._db.execute("SELECT max(rowid) FROM names").get or 0)
        of_tables = numbers(tables)
        many = np.bincount(of_tables, minlength=highest + 1)
        return numbers(files), np.cumsum(many) - many, many

    def parts(self) -> dict[str, bytes]:
        return parts_of(self._db)


def parts_of(db: apsw.Connection) -> dict[str, bytes]:
    """Return imports, copies and git history of the files of an index, each packed, by name."""
    commits = dict(stored_commits(db))
    histories = db.execute("SELECT path, touches, count, last_time FROM file_history").fetchall()
    subjects = {path: subject_words(cast(bytes, touches), commits) for path, touches, *_ in histories}
    packed_commits = [
        (first, _text(packed)) for first, packed in db.execute("SELECT first, packed FROM commits")
    ]
    return {
        "imports": packed_part(db.execute("SELECT path, in_degree FROM file_imports").fetchall()),
        "copies": packed_part(db.execute("SELECT path, original, share FROM copies").fetchall()),
        "history": packed_part([(path, _text(touches), *rest) for path, touches, *rest in histories]),
        "subjects": packed_part(list(subjects.items())),
        "commits": packed_part(packed_commits),
    }


def packed_part(rows: object) -> bytes:
    return zlib.compress(json.dumps(rows).encode())


def unpacked_part(packed: bytes) -> list[Any]:
    return cast("list[Any]", json.loads(zlib.decompress(packed)))


def bytes_of(text: str) -> bytes:
    """Return the bytes that a part contains as text."""
    return base64.b85decode(text)


def _text(data: object) -> str:
    return base64.b85encode(cast(bytes, data)).decode()


def renumbered(postings: Postings, ids: NDArray[np.int32]) -> Postings:
    """Return the postings in the order of their new ids, int32[old ids]. Drop those with the new id 0."""
    new = ids[postings.ids]
    order = np.flatnonzero(new)
    if len(order) > 1 and (np.diff(new[order]) < 0).any():
        order = order[np.argsort(new[order])]
    return Postings(new[order], postings.counts[order], postings.names[order])


def merged(every: Sequence[Postings]) -> Postings:
    """Merge the postings of several segments, which have no documents in common."""
    if len(every) == 1:
        return every[0]
    ids = np.concatenate([each.ids for each in every])
    order = np.argsort(ids, kind="stable")
    counts = np.concatenate([each.counts for each in every])
    names = np.concatenate([each.names for each in every])
    return Postings(ids[order], capped(counts[order].astype(np.int64)), capped(names[order].astype(np.int64)))


def facts_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of `meta` for a snapshot, which has no queue and no vectors of the larger model."""
    fixed = {"model_id": 0, "embedded": 0, "queued": 0, "writing": 0, "paused": 0, "scanned": 1}
    return {key: value for key, value in meta.items() if not isinstance(value, bytes)} | fixed
