"""Write a snapshot of a repository into a team's database, in one transaction."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from cairn.index.postgres.blocks import TermBatch, renumbered
from cairn.index.postgres.lists import Home, copy_shared_lists, put_segment
from cairn.index.postgres.repositories import keep_frequent_words
from cairn.index.postgres.segment import NAMES, OPERATORS, WORDS, NewFile, Segment, SegmentColumns, facts_of
from cairn.index.postgres.team_schema import BULK_TABLES, DIMENSIONS
from cairn.index.reader.postings import Ids
from cairn.index.store.rows import CHUNK_COLUMNS
from cairn.index.store.schema import SCHEMA_VERSION

_STORED = (*CHUNK_COLUMNS, "content_hash")
_MANY_NEW = 0.1
"""The share of new chunks from which a shard is analysed, as in `autovacuum_analyze_scale_factor`."""
_BINARY_COPY = b"PGCOPY\n\xff\r\n\0" + bytes(8)


@frozen
class Revision:
    """The commit of a snapshot, and the ref that names it."""

    ref: str
    commit: str
    committed_at: datetime.datetime
    blobs: Mapping[str, bytes]
    """The git blob id of each file, by path."""


@frozen
class Published:
    """A written snapshot: its id, and the numbers of files, and of chunks in files that the pool lacked."""

    snapshot: int
    files: int
    chunks: int


def publish(
    connection: Connection[TupleRow],
    home: Home,
    revision: Revision,
    segment: Segment,
    kept: Sequence[int] = (),
    parts: Mapping[str, bytes] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Published:
    """Store the files of `segment`, and a snapshot of these files and of `kept`, which the pool already has.

    `parts` replace the parts of the segment, which cover only its own files; `facts` are added to its facts.
    If only other repositories of the pool had a file, its inverted lists are copied for this repository. The
    ref then names the snapshot. All of this is one transaction, which excludes other writers of the pool.
    """
    with connection.transaction():
        row = connection.execute(
            "SELECT next_file, next_chunk FROM cairn.pools WHERE id = %s FOR UPDATE", (home.pool,)
        ).fetchone()
        assert row is not None
        writing = _Writing(connection, home, segment, *row)
        new_files, chunks = writing.write(revision.blobs)
        files = np.unique(np.array([*kept, *writing.file_ids.values()], np.int32))
        if len(files) > new_files:
            copy_shared_lists(connection, home, files)
        every = {**facts_of(segment.meta()), **(facts or {})}
        snapshot = _put_snapshot(
            connection, home, revision, every, files, segment.parts() if parts is None else parts
        )
        keep_frequent_words(connection, home.shard, home.repository)
    _analyze(connection, home.shard, chunks)
    return Published(snapshot, len(files), chunks)


def _analyze(connection: Connection[TupleRow], shard: int, chunks: int) -> None:
    """Update the planner's statistics of the shard if many rows are new.

    Until autovacuum updates them, PostgreSQL picks the wrong indexes: queries over 20,000 chunks took 70 ms
    instead of 20 ms. On other servers, only autovacuum updates them.
    """
    row = connection.execute("SELECT chunks, server FROM cairn.shards WHERE id = %s", (shard,)).fetchone()
    if row is None or row[1] is not None or chunks < _MANY_NEW * row[0]:
        return
    for table in BULK_TABLES:
        columns = ", ".join(dict.fromkeys(", ".join((table.key, *table.indexes)).strip(", ").split(", ")))
        connection.execute(sql.SQL(f"ANALYZE cairn.{table.partition(shard)}({columns})"))


@define
class _Writing:
    """The writing of one segment into the database, in the caller's transaction."""

    _connection: Connection[TupleRow]
    _home: Home
    _segment: Segment
    _next_file: int
    _next_chunk: int
    file_ids: dict[int, int] = field(factory=dict, init=False)
    """The ids of files in the pool, by their ids in the segment."""

    def write(self, blobs: Mapping[str, bytes]) -> tuple[int, int]:
        """Store the files that the pool lacks. Return the numbers of these files and of their chunks."""
        files = self._segment.files()
        new = self._new_files(files, blobs)
        if not new:
            return 0, 0
        chunks, files_of = self._segment.chunk_places()
        is_new = np.isin(files_of, np.array([file.id for file in new]))
        chunks, files_of = chunks[is_new], files_of[is_new]
        ids = np.zeros(self._segment.highest_chunk() + 1, np.int32)
        ids[chunks] = np.arange(self._next_chunk, self._next_chunk + len(chunks))
        self._copy_files(new, blobs)
        types, languages = self._copy_chunks(ids)
        self._copy_definitions(ids, dict(zip(chunks.tolist(), files_of.tolist(), strict=True)))
        self._copy_vectors(ids, chunks, files_of)
        columns = SegmentColumns(
            ids[chunks],
            np.array([self.file_ids[file] for file in files_of.tolist()], np.int32),
            self._segment.tokens(chunks),
            np.array(types, object),
            np.array(languages, object),
        )
        self._put_segment(columns, ids, [file.id for file in new])
        self._connection.execute(
            "UPDATE cairn.pools SET next_file = next_file + %s, next_chunk = next_chunk + %s WHERE id = %s",
            (len(new), len(chunks), self._home.pool),
        )
        self._connection.execute(
            "UPDATE cairn.shards SET chunks = chunks + %s WHERE id = %s", (len(chunks), self._home.shard)
        )
        return len(new), len(chunks)

    def _new_files(self, files: Sequence[NewFile], blobs: Mapping[str, bytes]) -> list[NewFile]:
        """Fill `file_ids`, with new ids for files that the pool lacks. Return the new files."""
        rows = self._connection.execute(
            """SELECT f.path, f.content_hash, f.collection, f.blob, f.id FROM cairn.files f
               JOIN unnest(%s::text[]) AS wanted(path) ON wanted.path = f.path
               WHERE f.shard = %s AND f.pool = %s AND f.version = %s""",
            ([file.path for file in files], self._home.shard, self._home.pool, SCHEMA_VERSION),
        )
        known = {
            (path, bytes(content), collection, blob and bytes(blob)): number
            for path, content, collection, blob, number in rows
        }
        new: list[NewFile] = []
        for file in files:
            number = known.get((file.path, file.content_hash, file.collection, blobs.get(file.path)))
            if number is None:
                number = self._next_file + len(new)
                new.append(file)
            self.file_ids[file.id] = number
        return new

    def _copy_files(self, new: Sequence[NewFile], blobs: Mapping[str, bytes]) -> None:
        columns = (
            "shard, pool, id, path, blob, version, size, content_hash, is_text, kind, collection, indexed_at,"
            " chunks, imports, sketch, symbols"
        )
        rows = (
            (
                *self._place(self.file_ids[f.id]), f.path, blobs.get(f.path), SCHEMA_VERSION, f.size,
                f.content_hash, bool(f.is_text), f.kind, f.collection, f.indexed_at, f.chunks, f.imports,
                f.sketch, f.symbols,
            )
            for f in new
        )  # fmt: skip
        self._copy(f"files({columns})", rows)

    def _copy_chunks(self, ids: NDArray[np.int32]) -> tuple[list[str], list[str]]:
        """Store the chunks. Return the type and the language of each."""
        types: list[str] = []
        languages: list[str] = []
        kind, language = _STORED.index("type"), _STORED.index("language")

        def rows() -> Iterator[tuple[object, ...]]:
            for chunk, file, *values in self._segment.chunk_rows(_STORED):
                if ids[chunk]:
                    types.append(values[kind])
                    languages.append(values[language])
                    cleaned = (each.replace("\0", " ") if isinstance(each, str) else each for each in values)
                    # Older stores, and shards on other servers, require a value of `embedding_key`.
                    yield (*self._place(int(ids[chunk])), self.file_ids[file], *cleaned, b"")

        self._copy(f"chunks(shard, pool, id, file, {', '.join(_STORED)}, embedding_key)", rows())
        return types, languages

    def _copy_definitions(self, ids: NDArray[np.int32], file_of: Mapping[int, int]) -> None:
        rows = (
            (*self._place(), name.lower(), name, int(ids[chunk]), self.file_ids[file_of[chunk]])
            for name, chunk in self._segment.definitions()
            if ids[chunk] and "\0" not in name
        )
        self._copy("definitions(shard, pool, folded, name, chunk, file)", rows)

    def _copy_vectors(self, ids: NDArray[np.int32], chunks: Ids, files_of: Ids) -> None:
        """Store the static vectors. Their integers are exact in a halfvec.

        All rows have the same length, so numpy can build the data of the binary COPY.
        """
        row = np.dtype(
            [("fields", ">i2")]
            + [(name, ">i4") for name in ("l1", "shard", "l2", "pool", "l3", "chunk", "l4", "file", "l5")]
            + [("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f2", (DIMENSIONS,))]
        )
        file_of = np.zeros(len(ids), np.int32)
        file_of[chunks] = [self.file_ids[file] for file in files_of.tolist()]
        statement = "COPY cairn.vectors(shard, pool, chunk, file, vector) FROM STDIN (FORMAT binary)"
        with self._connection.cursor().copy(statement) as copy:
            copy.write(_BINARY_COPY)
            for found, vectors in self._segment.vectors(chunks):
                rows = np.zeros(len(found), row)
                rows["fields"] = 5
                for name in ("l1", "l2", "l3", "l4"):
                    rows[name] = 4
                rows["shard"], rows["pool"] = self._home.shard, self._home.pool
                rows["chunk"], rows["file"] = ids[found], file_of[found]
                rows["l5"], rows["dimensions"] = 4 + 2 * DIMENSIONS, DIMENSIONS
                if len(found):
                    rows["vector"] = vectors
                copy.write(rows.tobytes())
            copy.write(b"\xff\xff")

    def _put_segment(self, columns: SegmentColumns, ids: NDArray[np.int32], new_files: Sequence[int]) -> None:
        files = np.zeros(max(self.file_ids, default=0) + 1, np.int32)
        files[list(new_files)] = [self.file_ids[file] for file in new_files]

        def terms(kind: int, new_ids: NDArray[np.int32]) -> Iterator[TermBatch]:
            for batch in self._segment.terms(kind):
                yield renumbered(batch, new_ids)

        numbering = ((WORDS, ids), (OPERATORS, ids), (NAMES, files))
        put_segment(
            self._connection, self._home, columns, ((kind, terms(kind, new)) for kind, new in numbering)
        )

    def _place(self, *ids: int) -> tuple[int, ...]:
        return (self._home.shard, self._home.pool, *ids)

    def _copy(self, into: str, rows: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor().copy(sql.SQL(f"COPY cairn.{into} FROM STDIN")) as copy:
            for row in rows:
                copy.write_row(row)


def _put_snapshot(
    connection: Connection[TupleRow],
    home: Home,
    revision: Revision,
    facts: Mapping[str, Any],
    files: NDArray[np.int32],
    parts: Mapping[str, bytes],
) -> int:
    """Store a snapshot under a new id, replace an older one of the commit, and point the ref to it."""
    row = connection.execute(
        """INSERT INTO cairn.snapshots(repository, pool, shard, commit, committed_at, version, facts, files)
           VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
           ON CONFLICT (repository, commit, version) DO UPDATE
           SET id = DEFAULT, number = DEFAULT, facts = excluded.facts, files = excluded.files,
               indexed_at = now()
           RETURNING id""",
        (
            home.repository, home.pool, home.shard, revision.commit, revision.committed_at,
            SCHEMA_VERSION, json.dumps(facts), files.tobytes(),
        ),
    ).fetchone()  # fmt: skip
    assert row is not None
    snapshot = int(row[0])
    connection.execute(
        """INSERT INTO cairn.holdings(shard, pool, file, repository)
           SELECT %s, %s, unnest(%s::int[]), %s ON CONFLICT DO NOTHING""",
        (home.shard, home.pool, files.tolist(), home.repository),
    )
    connection.execute("DELETE FROM cairn.snapshot_parts WHERE snapshot = %s", (snapshot,))
    for name, packed in parts.items():
        connection.execute(
            "INSERT INTO cairn.snapshot_parts(snapshot, repository, name, packed) VALUES (%s, %s, %s, %s)",
            (snapshot, home.repository, name, packed),
        )
    point_ref(connection, home.repository, revision.ref, snapshot)
    return snapshot


def point_ref(connection: Connection[TupleRow], repository: int, ref: str, snapshot: int) -> None:
    """Point the ref to the snapshot. Record the time for snapshots that no ref names any more."""
    with connection.transaction():
        connection.execute(
            """INSERT INTO cairn.refs(repository, ref, snapshot) VALUES (%s, %s, %s)
               ON CONFLICT (repository, ref) DO UPDATE SET snapshot = excluded.snapshot""",
            (repository, ref, snapshot),
        )
        note_unnamed(connection, repository)


def note_unnamed(connection: Connection[TupleRow], repository: int) -> None:
    """Set `unnamed_since` for the repository's snapshots that no ref names, and clear it for the others."""
    named = "EXISTS (SELECT FROM cairn.refs WHERE refs.snapshot = snapshots.id)"
    connection.execute(
        sql.SQL(
            f"""UPDATE cairn.snapshots SET unnamed_since = CASE WHEN {named} THEN NULL ELSE now() END
                WHERE repository = %s AND (unnamed_since IS NULL) <> {named}"""
        ),
        (repository,),
    )
