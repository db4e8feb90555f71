"""The catalogue of a snapshot: facts about its files, in an in-memory database like an index file.

A process reads the catalogue at the first request to a snapshot. It then uses it for all readers who may see
the repository, which the team's database checks at every request. Its numbers, order and times depend on the
snapshot alone, so they show nothing of other repositories in the pool.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import apsw
import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.segment import SegmentColumns, bytes_of, facts_of, renumbered, unpacked_part
from cairn.index.postgres.shards import OtherServer, servers_of
from cairn.index.reader.bm25 import register
from cairn.index.reader.catalogue_reader import CatalogueMemory
from cairn.index.reader.postings import ChunkColumns, Postings
from cairn.index.store.database import create
from cairn.index.store.keyword_columns import path_words


@frozen(eq=False)
class Numbering:
    """The numbers 1 to n of a snapshot's rows, and the ids of these rows in the pool."""

    ids: NDArray[np.int32]
    """int32[n + 1], the id of each number; 0 for the number 0."""
    numbers: NDArray[np.int32]
    """int32[ids], the number of each id; 0 for rows that the snapshot does not have."""

    @classmethod
    def of(cls, ids: NDArray[np.int32]) -> Numbering:
        """Number the rows with these ids in their order."""
        numbers = np.zeros(int(ids.max(initial=0)) + 1, np.int32)
        numbers[ids] = np.arange(1, len(ids) + 1)
        return cls(np.concatenate([np.zeros(1, np.int32), ids]), numbers)

    def __len__(self) -> int:
        return len(self.ids) - 1

    def ids_of(self, numbers: Iterable[int]) -> list[int]:
        """Return the ids of these numbers. Numbers that the snapshot does not have are left out."""
        wanted = np.fromiter(numbers, np.int64)
        found: list[int] = self.ids[wanted[self.has(wanted)]].tolist()
        return found

    def has(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool[n]: whether the snapshot has a row of each number."""
        found: NDArray[np.bool_] = (numbers > 0) & (numbers < len(self.ids))
        return found

    def number(self, id: int) -> int:
        """Return the number of an id, or 0 if the snapshot does not have this row."""
        return int(self.numbers[id]) if id < len(self.numbers) else 0

    def numbers_of(self, ids: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return int32[n]: the number of each id, or 0."""
        found = np.zeros(len(ids), np.int32)
        inside = ids < len(self.numbers)
        found[inside] = self.numbers[ids[inside]]
        return found

    def postings(self, found: Postings) -> Postings:
        """Return the postings of the snapshot's documents, with numbers instead of ids."""
        return renumbered(found, self.numbers)


T = TypeVar("T")

_names = itertools.count()


@frozen
class SnapshotKey:
    """The id of a snapshot, and the repository, pool and shard that contain its rows."""

    id: int
    repository: int
    pool: int
    shard: int


@frozen
class CataloguedFile:
    """The fields of a file that are shown with each result."""

    path: str
    kind: str
    collection: str


@define(eq=False)
class SnapshotMemory(CatalogueMemory):
    """The data of a snapshot in the database that a process keeps in memory."""

    key: SnapshotKey = field(kw_only=True)
    files: Mapping[int, CataloguedFile] = field(kw_only=True)
    """The files by number, in the order of their paths."""
    file_numbers: Numbering = field(kw_only=True)
    chunk_numbers: Numbering = field(kw_only=True)
    types: Mapping[str, NDArray[np.bool_]] = field(kw_only=True)
    """For each type, bool[numbers]: whether the chunk has this type."""
    languages: Mapping[str, NDArray[np.bool_]] = field(kw_only=True)
    """For each language, bool[numbers]: whether the chunk is in this language."""
    chunks: int = field(kw_only=True)
    segments: tuple[int, ...] = field(kw_only=True)
    """The ids of the segments of the repository's inverted lists."""
    has_others: bool = field(kw_only=True)
    """Whether these segments also contain chunks of other snapshots."""
    elsewhere: OtherServer | None = field(kw_only=True)
    """The server that has the snapshot's rows; None if that is the store's own server."""

    @cached_property
    def file_ranges(self) -> str:
        """The files' ids in the pool as an int4multirange, which is short: most ids are consecutive."""
        ids = np.sort(self.file_numbers.ids[1:]).astype(np.int64)
        starts = ids[np.diff(ids, prepend=-1) > 1] if len(ids) else ids
        ends = ids[np.diff(ids, append=2**32) > 1] + 1 if len(ids) else ids
        return "{" + ",".join(f"[{first},{end})" for first, end in zip(starts, ends, strict=True)) + "}"

    def watched(self, ask: Callable[[Connection[TupleRow]], T]) -> Callable[[Connection[TupleRow]], T]:
        """Return `ask`, with a short timeout if the snapshot's rows are on another server.

        The returned function raises PartUnavailableError if that server does not answer.
        """
        return self.elsewhere.watched(ask) if self.elsewhere else ask


def read_snapshot(connection: Connection[TupleRow], key: SnapshotKey) -> SnapshotMemory | None:
    """Read the catalogue of a snapshot. Return None if it was deleted or its reader may not see it."""
    row = connection.execute(_SELECT_SNAPSHOT, (key.id,)).fetchone()
    if row is None:
        return None
    elsewhere = servers_of(connection, [key.shard]).get(key.shard)
    with elsewhere.watching() if elsewhere else nullcontext():
        return _read(connection, key, row, elsewhere)


def _read(
    connection: Connection[TupleRow], key: SnapshotKey, row: TupleRow, elsewhere: OtherServer | None
) -> SnapshotMemory:
    facts, present, repository, shared, indexed_at = row
    stored = connection.execute(
        """SELECT id, path, size, content_hash, is_text, kind, collection, chunks, imports,
                  symbols IS NOT NULL
           FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s)""",
        (key.shard, key.pool, np.frombuffer(present, np.int32).tolist()),
    ).fetchall()
    stored.sort(key=itemgetter(1))
    file_numbers = Numbering.of(np.array([file[0] for file in stored], np.int32))
    own, read_at = project_of(repository), indexed_at.astimezone(datetime.UTC).isoformat(timespec="seconds")
    # The pool has the time at which any of its repositories first had the file.
    files = [
        (number, *file[1:6], _own_collection(file[6], shared, own), read_at, *file[7:])
        for number, file in enumerate(stored, 1)
    ]
    parts = {
        name: unpacked_part(packed)
        for name, packed in connection.execute(
            "SELECT name, packed FROM cairn.snapshot_parts WHERE snapshot = %s AND name <> 'commits'",
            (key.id,),
        )
    }
    segments = connection.execute(
        "SELECT id, columns FROM cairn.segments WHERE shard = %s AND repository = %s ORDER BY id",
        (key.shard, key.repository),
    ).fetchall()
    name = f"cairn-snapshot-{next(_names)}"
    database = create(f"/{name}", vfs="memdb")
    register(database)
    chunks = sum(int(file[8]) for file in files)
    _fill(database, facts_of(facts) | {"chunks": chunks, "files_total": len(files)}, files, parts)
    every = [SegmentColumns.unpack(packed) for _, packed in segments]
    chunk_numbers, columns, types, languages = _columns(every, file_numbers)
    return SnapshotMemory(
        snapshot=key.id,
        key=key,
        database=database,
        name=name,
        files={
            number: CataloguedFile(path, kind, collection)
            for number, path, _, _, _, kind, collection, *_ in files
        },
        file_numbers=file_numbers,
        chunk_numbers=chunk_numbers,
        columns=columns,
        types=types,
        languages=languages,
        chunks=chunks,
        segments=tuple(number for number, _ in segments),
        has_others=sum(len(each.ids) for each in every) > len(chunk_numbers),
        elsewhere=elsewhere,
    )


_SELECT_SNAPSHOT = """
    SELECT s.facts, s.files, r.name, CASE WHEN r.shares_project THEN r.project ELSE '' END, s.indexed_at
    FROM cairn.snapshots s JOIN cairn.repositories r ON r.id = s.repository WHERE s.id = %s"""


def project_of(repository: str) -> str:
    """Return the project of files without a manifest, a name that is made from the repository's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", repository.rpartition("/")[2]).strip("-.") or "repository"


def _own_collection(collection: str, shared: str, own: str) -> str:
    """Return the collection with `own` in place of `shared`, the project of the pool's first repository."""
    if shared and shared != own and collection.startswith(f"{shared}-"):
        return own + collection.removeprefix(shared)
    return collection


def _fill(
    database: apsw.Connection,
    facts: Mapping[str, Any],
    files: Iterable[tuple[Any, ...]],
    parts: Mapping[str, list[Any]],
) -> None:
    ids = {file[1]: file[0] for file in files}
    database.pragma("foreign_keys", "OFF")  # The symbol tables stay in the team's database.
    with database:
        database.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
        database.executemany(
            "INSERT INTO files VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, x'', ?)",
            (
                (*file[:3], bytes(file[3]), int(file[4]), *file[5:10], file[0] if file[10] else None)
                for file in files
            ),
        )
        database.executemany(
            "INSERT INTO paths_fts(rowid, stem, folders) VALUES (?, ?, ?)",
            ((number, *path_words(path)) for path, number in ids.items()),
        )
        database.executemany("INSERT INTO file_imports VALUES (?, ?)", parts.get("imports", ()))
        database.executemany("INSERT INTO copies VALUES (?, ?, ?)", parts.get("copies", ()))
        database.executemany(
            "INSERT INTO file_history VALUES (?, ?, ?, ?, ?)",
            (
                (path, ids[path], bytes_of(touches), *rest)
                for path, touches, *rest in parts.get("history", ())
                if path in ids
            ),
        )
        database.executemany(
            "INSERT INTO subjects_fts(rowid, subjects) VALUES (?, ?)",
            ((ids[path], words) for path, words in parts.get("subjects", ()) if path in ids),
        )


def _columns(
    segments: list[SegmentColumns], files: Numbering
) -> tuple[Numbering, ChunkColumns, dict[str, NDArray[np.bool_]], dict[str, NDArray[np.bool_]]]:
    """Return the numbers, columns, types and languages of the chunks of `files`.

    The ids of a file's chunks ascend with their positions.
    """
    every = SegmentColumns.joined(segments)
    file_of = files.numbers_of(every.files)
    order = np.lexsort((every.ids, file_of))[np.count_nonzero(file_of == 0) :]
    own, file_of = every.at(order), file_of[order]

    def masks(values: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
        return {value: np.concatenate([[False], values == value]) for value in set(values.tolist())}

    counted = int(np.count_nonzero(own.tokens))
    mean = float(own.tokens.sum(dtype=np.int64)) / counted if counted else 1.0
    columns = ChunkColumns(_with_zero(file_of), _with_zero(own.tokens), len(order), mean)
    return Numbering.of(own.ids), columns, masks(own.types), masks(own.languages)


def _with_zero(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of the numbers 1 to n, with a zero for the number 0."""
    return np.concatenate([np.zeros(1, values.dtype), values])
