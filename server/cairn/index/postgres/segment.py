"""Read the rows of an index file in the form that a team's database stores.

A run first indexes files into an ordinary index file. The team's database then stores its rows under new ids.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
from attrs import astuple, frozen
from numpy.typing import NDArray

from cairn.errors import IndexUnavailableError
from cairn.index.indexing.git_history import stored_commits, subject_words
from cairn.index.postgres.blocks import Frequency, TermBatch, counted, in_runs, marked
from cairn.index.reader.postings import Ids, Postings, capped, numbers
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME, open_reader


@frozen(eq=False)
class SegmentColumns:
    """Arrays with one entry per chunk of a segment, by ascending id."""

    ids: NDArray[np.int32]
    files: NDArray[np.int32]
    tokens: NDArray[np.uint16]
    """The lengths of the chunks in the keyword index, in tokens."""
    types: NDArray[np.object_]
    languages: NDArray[np.object_]

    @classmethod
    def joined(cls, every: Iterable[SegmentColumns]) -> SegmentColumns:
        """Return the entries of all segments, one segment after another."""
        none = cls(*(np.empty(0, kind) for kind in (np.int32, np.int32, np.uint16, object, object)))
        columns = zip(*(astuple(each, recurse=False) for each in (none, *every)), strict=True)
        return cls(*map(np.concatenate, columns))

    def at(self, places: NDArray[Any]) -> SegmentColumns:
        """Return the entries at these places, or those where a mask is true."""
        return SegmentColumns(*(column[places] for column in astuple(self, recurse=False)))

    def packed(self) -> bytes:
        types, type_codes = _coded(self.types)
        languages, language_codes = _coded(self.languages)
        head = json.dumps({"chunks": len(self.ids), "types": types, "languages": languages}).encode()
        # The differences between neighbouring ids are mostly 0 or 1, and compress to almost nothing.
        numbers = [
            np.diff(self.ids, prepend=0).astype("<i4"),
            np.diff(self.files, prepend=0).astype("<i4"),
            self.tokens.astype("<u2"),
            type_codes.astype("u1"),
            language_codes.astype("<u2"),
        ]
        return zlib.compress(
            b"".join([len(head).to_bytes(4, "little"), head, *(n.tobytes() for n in numbers)]), 1
        )

    @classmethod
    def unpack(cls, packed: bytes) -> SegmentColumns:
        data = zlib.decompress(packed)
        begin = 4 + int.from_bytes(data[:4], "little")
        head = json.loads(data[4:begin])
        many = head["chunks"]

        def column(dtype: str, at: int) -> NDArray[np.generic]:
            return np.frombuffer(data, dtype, many, begin + at * many)

        ids = np.cumsum(column("<i4", 0), dtype=np.int32)
        files = np.cumsum(column("<i4", 4), dtype=np.int32)
        types = np.array(head["types"] or [""], object)[column("u1", 10)]
        languages = np.array(head["languages"] or [""], object)[column("<u2", 11)]
        return cls(ids, files, column("<u2", 8).astype(np.uint16), types, languages)


def _coded(values: NDArray[np.object_]) -> tuple[list[str], NDArray[np.uint16]]:
    names, codes = np.unique(values, return_inverse=True)
    return names.tolist(), codes.astype(np.uint16)


WORDS, OPERATORS, NAMES = 1, 2, 3
"""The kinds of terms: words in chunks, operators in chunks, and names in symbol tables."""

_VOCABULARIES = {OPERATORS: "operators", NAMES: "names"}
_VECTORS_AT_ONCE = 20_000
_ROWS_AT_ONCE = 1_000_000
"""The number of occurrences of terms that are read at once: 8 MB of text, and about as much in arrays."""


@frozen
class FileFacts:
    """The facts of a file from which imports, copies and history are computed."""

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
    """An open index file, which must not change while it is open. Close it after use."""

    def __init__(self, folder: Path) -> None:
        """Open the index file in `folder`. Raise IndexUnavailableError if none of this version exists."""
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
        """Return the table `meta`: facts about the index, and the recipe of the vectors."""
        return dict(self._db.execute("SELECT key, value FROM meta"))

    def files(self) -> list[NewFile]:
        rows = self._db.execute(
            """SELECT path, size, f.content_hash, is_text, kind, collection, indexed_at, chunks, imports,
                      sketch, f.id, s.packed
               FROM files f LEFT JOIN symbols s ON s.id = f.symbols_id ORDER BY path"""
        )
        return [NewFile(*cast(Any, row)) for row in rows]

    def highest_chunk(self) -> int:
        """Return the highest chunk id, or 0."""
        return int(self._db.execute("SELECT max(id) FROM chunks").get or 0)

    def chunk_places(self) -> tuple[Ids, Ids]:
        """Return int64[n] and int64[n]: the ids of all chunks, ascending, and the ids of their files."""
        ((ids, files),) = self._db.execute(
            "SELECT group_concat(id), group_concat(file_id) FROM (SELECT id, file_id FROM chunks ORDER BY id)"
        )
        return numbers(ids), numbers(files)

    def chunk_rows(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the id, the file id and these columns of each chunk, by id."""
        return cast(
            "Iterator[tuple[Any, ...]]",
            self._db.execute(f"SELECT id, file_id, {', '.join(columns)} FROM chunks ORDER BY id"),
        )

    def definitions(self) -> Iterator[tuple[str, int]]:
        """Yield each defined name, with the id of the chunk that defines it."""
        return cast("Iterator[tuple[str, int]]", self._db.execute("SELECT name, chunk_id FROM definitions"))

    def vectors(self, ids: Ids) -> Iterator[tuple[Ids, NDArray[np.int8]]]:
        """Yield the ids and static vectors of these chunks in batches: int64[n] and int8[n, dimension]."""
        for start in range(0, len(ids), _VECTORS_AT_ONCE):
            yield self.reader.static_vectors(ids[start : start + _VECTORS_AT_ONCE].tolist())

    def tokens(self, ids: Ids) -> NDArray[np.uint16]:
        """Return uint16[n]: the lengths of these chunks in the keyword index, in tokens."""
        return self.reader.columns().tokens[ids]

    def terms(self, kind: int) -> Iterator[TermBatch]:
        """Yield the terms of a kind in ascending order. A document is a chunk; for NAMES, it is a file."""
        return self._words() if kind == WORDS else self._marks(_VOCABULARIES[kind], kind)

    def _words(self) -> Iterator[TermBatch]:
        rows = self._db.execute("SELECT term, cnt FROM words")
        for run in in_runs((Frequency(*cast(Any, row)) for row in rows), _ROWS_AT_ONCE):
            marked_places = self._read_places("doc * 2 + (col = 'symbol_words')", "occurrences", run)
            yield counted(run, marked_places >> 1, (marked_places & 1).astype(np.bool_))

    def _marks(self, table: str, kind: int) -> Iterator[TermBatch]:
        """Yield the terms of `table` with counts of 1.

        A document of the table `names` is a symbol table, which several files may share.
        """
        rows = self._db.execute(f"SELECT term, doc FROM temp.{table}_terms")
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
        """Return int64[rows]: a column of the occurrences of a run's terms, in order."""
        sql = f"SELECT group_concat({column}) FROM {table} WHERE term >= ? AND term <= ?"
        return numbers(self._db.execute(sql, (run[0].term, run[-1].term)).get)

    def _files_of_symbols(self) -> tuple[Ids, Ids, Ids]:
        """Return file ids, ordered by symbol table, and each table's first index and number of files."""
        ((tables, files),) = self._db.execute(
            """SELECT group_concat(symbols_id), group_concat(id)
               FROM (SELECT symbols_id, id FROM files WHERE symbols_id IS NOT NULL ORDER BY symbols_id, id)"""
        )
        # The vocabulary may still contain symbol tables that no file uses any more.
        highest = int(self._db.execute("SELECT max(rowid) FROM names").get or 0)
        of_tables = numbers(tables)
        many = np.bincount(of_tables, minlength=highest + 1)
        return numbers(files), np.cumsum(many) - many, many

    def parts(self) -> dict[str, bytes]:
        return parts_of(self._db)


def parts_of(db: apsw.Connection) -> dict[str, bytes]:
    """Return the packed parts of an index by name: imports, copies and git history of its files."""
    commits = dict(stored_commits(db))
    histories = db.execute(
        "SELECT path, touches, count, last_time FROM file_history ORDER BY path"
    ).fetchall()
    subjects = {path: subject_words(cast(bytes, touches), commits) for path, touches, *_ in histories}
    packed_commits = [
        (first, _text(packed)) for first, packed in db.execute("SELECT first, packed FROM commits")
    ]
    return {
        "imports": packed_part(
            db.execute("SELECT path, in_degree FROM file_imports ORDER BY path").fetchall()
        ),
        "copies": packed_part(
            db.execute("SELECT path, original, share FROM copies ORDER BY path").fetchall()
        ),
        "history": packed_part([(path, _text(touches), *rest) for path, touches, *rest in histories]),
        "subjects": packed_part(list(subjects.items())),
        "commits": packed_part(packed_commits),
    }


def packed_part(rows: object) -> bytes:
    return zlib.compress(json.dumps(rows).encode())


def unpacked_part(packed: bytes) -> list[Any]:
    return cast("list[Any]", json.loads(zlib.decompress(packed)))


def bytes_of(text: str) -> bytes:
    """Return the bytes that a part contains as base85 text."""
    return base64.b85decode(text)


def _text(data: object) -> str:
    return base64.b85encode(cast(bytes, data)).decode()


def renumbered(postings: Postings, ids: NDArray[np.int32]) -> Postings:
    """Return postings with new ids, in their order. `ids` is int32[old ids]. A posting is dropped if its new
    id is 0, or if its old id is not in the array."""
    new = ids[np.minimum(postings.ids, len(ids) - 1)]
    new[postings.ids >= len(ids)] = 0
    order = np.flatnonzero(new)
    if len(order) > 1 and (np.diff(new[order]) < 0).any():
        order = order[np.argsort(new[order], kind="stable")]  # Most of them are in order already.
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
    """Return the rows of `meta` without the counters of changes, which would show how many files the run
    read."""
    fixed = {"writing": 0, "paused": 0, "scanned": 1, "generation": 1, "content": 1, "tidied": 1}
    return {key: value for key, value in meta.items() if not isinstance(value, bytes)} | fixed
