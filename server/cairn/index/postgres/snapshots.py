"""Which snapshots a reader may see, and what a process keeps of those that were asked."""

from __future__ import annotations

import datetime
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import TypeVar
from weakref import WeakValueDictionary

from attrs import define, field, frozen
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import OutOfTimeError, StoreUnavailableError
from cairn.index.postgres.catalogue import SnapshotKey, SnapshotMemory, read_snapshot
from cairn.index.postgres.connection import Store
from cairn.index.postgres.failures import explained
from cairn.index.postgres.other_server import servers_of
from cairn.index.postgres.session import Begun, Reads, Session
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.text.unicode import well_formed

_MOST_SNAPSHOTS, _MOST_CHUNKS = 500, 3_000_000
"""Snapshots, and chunks of all of them, whose catalogues are kept: 50 MB for a million chunks, and 1 MB for each thousand files."""

_SELECT_VISIBLE = """
    SELECT s.id, s.repository, s.pool, s.shard, r.name, f.ref, s.commit, s.committed_at, s.indexed_at
    FROM cairn.refs f JOIN cairn.snapshots s ON s.id = f.snapshot JOIN cairn.repositories r ON r.id = f.repository
    WHERE (%(repository)s::text IS NULL OR r.name = %(repository)s) AND (%(ref)s::text IS NULL OR f.ref = %(ref)s)
    ORDER BY r.name, f.ref IN ('HEAD', 'main', 'master', 'trunk', 'develop') DESC, s.committed_at DESC, f.ref"""

# The sizes are read from where a value lies elsewhere: the lists of files themselves are not.
_SELECT_REPOSITORIES = """
    SELECT DISTINCT ON (r.name) r.name, f.ref, s.commit, s.committed_at, s.indexed_at, octet_length(s.files) / 4,
        coalesce((s.facts->>'chunks')::int, 0), s.shard, count(*) OVER named,
        first_value(f.ref) OVER (named ORDER BY s.committed_at DESC, f.ref), max(s.committed_at) OVER named
    FROM cairn.refs f JOIN cairn.snapshots s ON s.id = f.snapshot JOIN cairn.repositories r ON r.id = f.repository
    WINDOW named AS (PARTITION BY r.id)
    ORDER BY r.name, f.ref IN ('HEAD', 'main', 'master', 'trunk', 'develop') DESC, s.committed_at DESC, f.ref"""

# Snapshots get other ids when their lists are made anew; the old lists are there for a while.
_SELECT_MISSING = """
    SELECT 1 FROM unnest(%s::int[], %s::bigint[]) AS k(repository, id)
    WHERE NOT EXISTS (SELECT FROM cairn.snapshots s WHERE s.repository = k.repository AND s.id >= k.id) LIMIT 1"""
_REPLACED = "A newer index took the place of this one just now. Ask again."
T = TypeVar("T")


@frozen
class StoredSnapshot:
    """A repository as one of its refs had it when that was indexed."""

    key: SnapshotKey
    repository: str
    """Its name."""
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime


def visible_snapshots(
    reads: Reads, repository: str | None = None, ref: str | None = None
) -> list[StoredSnapshot]:
    """One snapshot of each repository that the reader of `reads` may see, or of the named one: of `ref`, else of its main branch."""
    if any(name is not None and not _is_text(name) for name in (repository, ref)):
        return []
    given = {"repository": repository, "ref": ref}
    rows = reads.read(lambda db: db.execute(_SELECT_VISIBLE, given).fetchall())
    found: dict[str, StoredSnapshot] = {}
    for number, repository_id, pool, shard, name, *rest in rows:
        key = SnapshotKey(number, repository_id, pool, shard)
        found.setdefault(name, StoredSnapshot(key, name, *rest))
    return list(found.values())


@frozen
class VisibleRepository:
    """What is in a store of one repository, by the ref that is searched where none is named."""

    name: str
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime
    files: int
    chunks: int
    shard: int
    refs: int
    """How many of its branches and tags are indexed."""
    newest_ref: str
    """The one whose commit is the newest."""
    newest_at: datetime.datetime
    """When that commit was made."""


def visible_repositories(reads: Reads) -> list[VisibleRepository]:
    """All repositories that the reader of `reads` may see, by name; nothing of a snapshot itself is read."""
    rows = reads.read(lambda db: db.execute(_SELECT_REPOSITORIES).fetchall())
    return list(starmap(VisibleRepository, rows))


def _is_text(name: str) -> bool:
    """Whether PostgreSQL can store it: no name has a zero or half of a character."""
    return "\0" not in name and well_formed(name) == name


class QuestionReads(Session):
    """All that one question of a reader reads, in one transaction that sees one moment of the database.

    What is read of a snapshot is kept for all who may see it, so nothing may be missing in it: not because the repository was
    taken from the reader since the question began, and not because a replica has not received the snapshot yet. So where
    a connection broke and the question goes on in another transaction, that one must show the same snapshots.
    """

    def __init__(self, store: Store, reader: str | None) -> None:
        self._required: list[SnapshotKey] = []
        super().__init__(partial(_begun_with, store.beginning(reader), self._required))
        self._problem: StoreUnavailableError | OutOfTimeError | None = None
        """Why the question cannot be answered: what it tries next fails at once, instead of waiting for the same server again."""

    def require(self, keys: Iterable[SnapshotKey]) -> None:
        """These snapshots were seen: the question reads of no others, and of them as a whole or not at all."""
        self._required += keys

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        if self._problem is not None:
            raise type(self._problem)(str(self._problem))
        try:
            return super().read(ask)
        except (StoreUnavailableError, OutOfTimeError) as problem:
            self._problem = problem
            raise


def _begun_with(begin: Callable[[], Begun], required: Sequence[SnapshotKey]) -> Begun:
    """A transaction in which the required snapshots are seen. Raises StoreUnavailableError where one is not."""
    server, connection = begin()
    if not required:
        return server, connection
    try:
        with explained(server.where):
            given = ([key.repository for key in required], [key.id for key in required])
            row = connection.execute(_SELECT_MISSING, given).fetchone()
            if row is not None:
                raise StoreUnavailableError(_REPLACED)
    except BaseException:
        server.give_back(connection)
        raise
    return server, connection


@define(eq=False)
class SnapshotMemories:
    """The memories of the snapshots that were asked last. Methods may be called from several threads at once."""

    _known: OrderedDict[int, SnapshotMemory] = field(factory=OrderedDict, init=False)
    _in_use: WeakValueDictionary[int, SnapshotMemory] = field(factory=WeakValueDictionary, init=False)
    _reading: dict[int, threading.Lock] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def get(self, reads: Reads, key: SnapshotKey) -> SnapshotMemory:
        """The memory of a snapshot that the reader of `reads` sees, read by the first who asks. Raises StoreUnavailableError where it is gone."""
        if (known := self._used(key)) is not None:
            return known
        with self._lock:
            reading = self._reading.setdefault(key.id, threading.Lock())
        with reading:
            if (known := self._used(key)) is not None:
                return known
            memory = reads.read(partial(read_snapshot, key=key))
            if memory is None:
                raise StoreUnavailableError(_REPLACED)
            self._keep(key, memory)
        return memory

    def _used(self, key: SnapshotKey) -> SnapshotMemory | None:
        with self._lock:
            known = self._known.get(key.id) or self._in_use.get(key.id)
            if known is not None:
                self._known[key.id] = known
                self._known.move_to_end(key.id)
            return known

    def _keep(self, key: SnapshotKey, memory: SnapshotMemory) -> None:
        with self._lock:
            self._known[key.id] = self._in_use[key.id] = memory
            self._reading.pop(key.id, None)
            while len(self._known) > 1 and (
                len(self._known) > _MOST_SNAPSHOTS
                or sum(each.chunks for each in self._known.values()) > _MOST_CHUNKS
            ):
                self._known.popitem(last=False)


_SELECT_NEAREST = """
    SELECT s.id, s.repository, s.pool, s.shard, r.name, f.ref, s.commit, s.committed_at, s.indexed_at
    FROM unnest(%s::text[]) WITH ORDINALITY AS c(commit, place)
    JOIN cairn.snapshots s ON s.commit = c.commit AND s.version = %s
    JOIN cairn.repositories r ON r.id = s.repository JOIN cairn.refs f ON f.snapshot = s.id
    ORDER BY c.place, r.id, f.ref LIMIT 1"""
_SELECT_ONE = """
    SELECT s.id, s.repository, s.pool, s.shard FROM cairn.snapshots s WHERE s.id = %s"""


def nearest_snapshot(reads: Reads, commits: Sequence[str]) -> StoredSnapshot | None:
    """The snapshot of the first of `commits` that has one which the reader may see.

    Raises PartUnavailableError where it lies on a server that does not answer: whoever asks has another way to answer.
    """
    given = (list(commits), SCHEMA_VERSION)
    row = reads.read(lambda db: db.execute(_SELECT_NEAREST, given).fetchone())
    if row is None:
        return None
    found = StoredSnapshot(SnapshotKey(*row[:4]), *row[4:])
    reads.read(partial(_reach, key=found.key))
    return found


def _reach(connection: Connection[TupleRow], key: SnapshotKey) -> None:
    if server := servers_of(connection, [key.shard]).get(key.shard):
        sql = "SELECT 1 FROM cairn.files WHERE shard = %s AND pool = %s LIMIT 1"
        server.watched(lambda db: db.execute(sql, (key.shard, key.pool)))(connection)


def snapshot_key(reads: Reads, snapshot: int) -> SnapshotKey | None:
    """Where the snapshot is; None where there is none that the reader may see."""
    row = reads.read(lambda db: db.execute(_SELECT_ONE, (snapshot,)).fetchone())
    return None if row is None else SnapshotKey(*row)
