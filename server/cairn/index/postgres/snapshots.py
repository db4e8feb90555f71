"""The snapshots that a reader may see, and a cache of their catalogues."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import Self, TypeVar
from weakref import WeakValueDictionary

from attrs import define, field, frozen
from cachetools import LRUCache
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import OutOfTimeError, StoreUnavailableError
from cairn.index.postgres.failures import explained
from cairn.index.postgres.shards import OtherServer, servers_of
from cairn.index.postgres.snapshot_catalogue import SnapshotKey, SnapshotMemory, read_snapshot
from cairn.index.postgres.transactions import Begun, Reads, SingleReads, Store, retried
from cairn.index.store.caches import bounded
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.text.unicode import well_formed
from cairn.text.uris import repository_uri

_MOST_CHUNKS, _FEWEST_CHUNKS = 3_000_000, 6_000
"""The cache's maximum number of chunks, and how many a small snapshot counts as, so that at most 500 stay.
A million chunks take 50 MB, a thousand files 1 MB."""

_SELECT_VISIBLE = """
    SELECT s.id, s.repository, s.pool, s.shard, s.number, r.name, f.ref, s.commit, s.committed_at,
        s.indexed_at
    FROM cairn.refs f JOIN cairn.snapshots s ON s.id = f.snapshot
    JOIN cairn.repositories r ON r.id = f.repository
    WHERE (%(repository)s::text IS NULL OR r.name = %(repository)s)
        AND (%(ref)s::text IS NULL OR f.ref = %(ref)s)
    ORDER BY r.name, f.ref IN ('HEAD', 'main', 'master', 'trunk', 'develop') DESC,
        s.committed_at DESC, f.ref"""

_SELECT_REVISIONS = """
    SELECT s.id, s.repository, s.pool, s.shard, s.number, r.name, coalesce(f.ref, ''), s.commit,
        s.committed_at, s.indexed_at
    FROM cairn.repositories r JOIN cairn.snapshots s ON s.repository = r.id
    LEFT JOIN cairn.refs f ON f.snapshot = s.id
    WHERE r.name = %s
    ORDER BY f.ref IS NULL, f.ref IN ('HEAD', 'main', 'master', 'trunk', 'develop') DESC,
        s.committed_at DESC, f.ref"""

# PostgreSQL computes the length of `files` without reading its value.
_SELECT_REPOSITORIES = """
    SELECT DISTINCT ON (r.name) r.name, f.ref, s.commit, s.committed_at, s.indexed_at,
        octet_length(s.files) / 4, coalesce((s.facts->>'chunks')::int, 0), s.shard, count(*) OVER named,
        first_value(f.ref) OVER (named ORDER BY s.committed_at DESC, f.ref), max(s.committed_at) OVER named
    FROM cairn.refs f JOIN cairn.snapshots s ON s.id = f.snapshot
    JOIN cairn.repositories r ON r.id = f.repository
    WINDOW named AS (PARTITION BY r.id)
    ORDER BY r.name, f.ref IN ('HEAD', 'main', 'master', 'trunk', 'develop') DESC,
        s.committed_at DESC, f.ref"""

# Compaction gives snapshots new, higher ids; the old lists are kept for a while, so a higher id is fine.
_SELECT_MISSING = """
    SELECT 1 FROM unnest(%s::int[], %s::bigint[]) AS k(repository, id)
    WHERE NOT EXISTS (SELECT FROM cairn.snapshots s WHERE s.repository = k.repository AND s.id >= k.id)
    LIMIT 1"""
_REPLACED = "A newer index replaced this one just now. Try again."
T = TypeVar("T")


@frozen
class StoredSnapshot:
    """A snapshot of a repository, with the ref that names it."""

    key: SnapshotKey
    number: int
    """The number by which clones name the snapshot."""
    repository: str
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime


def visible_snapshots(
    reads: Reads, repository: str | None = None, ref: str | None = None
) -> list[StoredSnapshot]:
    """Return a snapshot of each visible repository, or of `repository`: at `ref`, or its main branch."""
    if any(name is not None and not _is_text(name) for name in (repository, ref)):
        return []
    given = {"repository": repository, "ref": ref}
    rows = reads.read(lambda db: db.execute(_SELECT_VISIBLE, given).fetchall())
    found: dict[str, StoredSnapshot] = {}
    for row in rows:
        found.setdefault(row[5], StoredSnapshot(SnapshotKey(*row[:4]), *row[4:]))
    return list(found.values())


def revisions_of(reads: Reads, repository: str) -> list[StoredSnapshot]:
    """Return the indexed revisions of a visible repository: the main branch, other branches, and commits that
    no branch names any more, whose `ref` is ""."""
    rows = reads.read(lambda db: db.execute(_SELECT_REVISIONS, (repository,)).fetchall())
    return [StoredSnapshot(SnapshotKey(*row[:4]), *row[4:]) for row in rows]


@frozen
class VisibleRepository:
    """A repository of the store, with the ref that requests search by default."""

    name: str
    ref: str
    commit: str
    committed_at: datetime.datetime
    indexed_at: datetime.datetime
    files: int
    chunks: int
    shard: int
    refs: int
    """The number of its indexed branches and tags."""
    newest_ref: str
    newest_at: datetime.datetime
    server: OtherServer | None = None
    """The other server that stores its text; None for the store's own server."""

    @property
    def uri(self) -> str:
        return repository_uri(self.name)

    @property
    def answers(self) -> bool:
        """Whether its server answered the latest request."""
        return self.server is None or not self.server.is_away


def visible_repositories(reads: Reads) -> list[VisibleRepository]:
    """Return all repositories that the reader may see, ordered by name, without reading snapshots."""
    rows = reads.read(lambda db: db.execute(_SELECT_REPOSITORIES).fetchall())
    return list(starmap(VisibleRepository, rows))


def _is_text(name: str) -> bool:
    """Return whether PostgreSQL can store the name, that is, without a zero or a lone surrogate."""
    return "\0" not in name and well_formed(name) == name


class RequestReads(Reads):
    """The reads of one request, in a single transaction that its threads use in turn.

    The first read begins the transaction, which sees one state of the database, and the end of the context
    ends it. A failed read also ends it, since PostgreSQL would refuse all further statements. A thread that
    the request no longer waits for may still read afterwards: each such read has its own transaction.

    The cached data of a snapshot serves all its readers, so it must be complete even if this reader loses
    access during the request or a replica lacks the snapshot. So after a broken connection, the request
    continues only in a transaction that sees the same snapshots.
    """

    def __init__(self, store: Store, reader: str | None) -> None:
        self._store, self._reader = store, reader
        self._required: list[SnapshotKey] = []
        self._detached = SingleReads(self._begin)
        self._begun: Begun | None = None
        self._ended = False
        self._problem: StoreUnavailableError | OutOfTimeError | None = None
        """The error of a failed read. Later reads of the request raise it at once."""
        self._lock = threading.Lock()

    def require(self, keys: Iterable[SnapshotKey]) -> None:
        """Require each further transaction to see these snapshots. The request must read no others."""
        self._required += keys

    def read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        if self._problem is not None:
            raise type(self._problem)(str(self._problem))
        if self._ended:
            return self._detached.read(ask)
        try:
            with self._lock:
                return retried(self._read, ask)
        except (StoreUnavailableError, OutOfTimeError) as problem:
            self._problem = problem
            raise
        finally:
            if self._ended:
                self._give_back()

    @property
    def detached(self) -> SingleReads:
        return self._detached

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the transaction. If a thread is reading now, that thread ends it after the read."""
        self._ended = True
        self._give_back()

    def _begin(self) -> Begun:
        """Begin a transaction. Raise StoreUnavailableError if it does not see all required snapshots."""
        server, connection = self._store.begin(self._reader)
        if not self._required:
            return server, connection
        try:
            with explained(server.where):
                given = ([key.repository for key in self._required], [key.id for key in self._required])
                if connection.execute(_SELECT_MISSING, given).fetchone() is not None:
                    raise StoreUnavailableError(_REPLACED)
        except BaseException:
            server.give_back(connection)
            raise
        return server, connection

    def _read(self, ask: Callable[[Connection[TupleRow]], T]) -> T:
        self._begun = server, connection = self._begun or self._begin()
        try:
            with explained(server.where):
                return ask(connection)
        except BaseException:
            self._begun = None
            server.give_back(connection)
            raise

    def _give_back(self) -> None:
        # If another thread has the lock, it calls this method after releasing the lock.
        if self._lock.acquire(blocking=False):
            try:
                begun, self._begun = self._begun, None
                if begun is not None:
                    server, connection = begun
                    server.give_back(connection)
            finally:
                self._lock.release()


@define(eq=False)
class SnapshotCache:
    """A thread-safe cache of the catalogues of recently used snapshots."""

    _known: LRUCache[int, SnapshotMemory] = field(
        factory=lambda: bounded(_MOST_CHUNKS, lambda memory: max(_FEWEST_CHUNKS, memory.chunks)), init=False
    )
    _in_use: WeakValueDictionary[int, SnapshotMemory] = field(factory=WeakValueDictionary, init=False)
    _reading: dict[int, threading.Lock] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def get(self, reads: Reads, key: SnapshotKey) -> SnapshotMemory:
        """Return the data of a visible snapshot. Raise StoreUnavailableError if it was deleted."""
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
            return known

    def _keep(self, key: SnapshotKey, memory: SnapshotMemory) -> None:
        with self._lock:
            self._known[key.id] = self._in_use[key.id] = memory
            self._reading.pop(key.id, None)


_SELECT_NEAREST = """
    SELECT s.id, s.repository, s.pool, s.shard, s.number, r.name, f.ref, s.commit, s.committed_at,
        s.indexed_at
    FROM unnest(%s::text[]) WITH ORDINALITY AS c(commit, place)
    JOIN cairn.snapshots s ON s.commit = c.commit AND s.version = %s
    JOIN cairn.repositories r ON r.id = s.repository JOIN cairn.refs f ON f.snapshot = s.id
    ORDER BY c.place, r.id, f.ref LIMIT 1"""


def nearest_snapshot(reads: Reads, commits: Sequence[str]) -> StoredSnapshot | None:
    """Return the visible snapshot of the first of `commits` that has a snapshot, or None.

    Raise PartUnavailableError if the snapshot's server does not answer, so that the caller can use a
    fallback.
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


def snapshot_key(reads: Reads, number: int) -> SnapshotKey | None:
    """Return the key of the snapshot with this number, or None if the reader cannot see it."""
    sql = "SELECT id, repository, pool, shard FROM cairn.snapshots WHERE number = %s"
    row = reads.read(lambda db: db.execute(sql, (number,)).fetchone())
    return None if row is None else SnapshotKey(*row)
