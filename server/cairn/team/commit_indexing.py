"""Index a repository for a team: one commit becomes a snapshot in the team's database.

Files that the database already has, from any commit or fork, are not read again. However a run ends, the
database contains all of the snapshot or nothing.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from attrs import evolve, frozen
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, TeamError
from cairn.index.indexing.reading import ReadRequest
from cairn.index.postgres.lists import Home, compact, drop_retired
from cairn.index.postgres.publishing import Published, Revision, point_ref, publish
from cairn.index.postgres.repositories import find_home
from cairn.index.postgres.segment import FileFacts, Segment
from cairn.index.postgres.shards import known_server
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.settings.layers import Layers
from cairn.team.commit_files import Admitted, TreeFile, admit, list_tree, write_files
from cairn.team.git_source import Ref, Repository, open_source, read_address
from cairn.team.placement import WAITING, StoragePlace, find_place
from cairn.team.runs import Progress, locked, owner_connection, pool_lock, repository_lock, work_folder
from cairn.team.snapshot import SnapshotFacts, describe, file_facts, find_stored, index_files
from cairn.workspace.git_log import Tip
from cairn.workspace.scan import FileEntry

_INDEXED_BY = "indexed_by"
"""The name of the fact with a digest of the settings that selected a snapshot's files."""
_RETIRED_FOR = datetime.timedelta(hours=1)
"""How long retired inverted lists are kept for running requests."""
_VECTOR_FACTS = ("static_table", "static_text")
"""The facts that must be equal in a pool, because its vectors are compared with each other."""


@frozen
class IndexResult:
    repository: str
    ref: str
    commit: str
    snapshot: int
    files: int
    files_read: int
    """The number of files that the store lacked."""
    chunks_new: int
    """The number of chunks that the store lacked."""
    embedded: int
    """The number of chunks that got a vector."""
    skipped: int
    """The number of files and folders that rules excluded."""
    problems: tuple[str, ...]
    """The paths that could not be read, each with the reason."""
    seconds: float
    is_new: bool
    """False if the store already had a snapshot of the commit."""


def index_repository(
    url: str,
    source: str,
    ref: str | None = None,
    name: str | None = None,
    progress: Progress = lambda text: None,
    layers: Layers | None = None,
    *,
    server: str = "",
    apart: bool = False,
) -> IndexResult:
    """Index a commit of a repository into the team store.

    `url` must be the store owner's, without a connection pooler, because locks belong to a connection.
    `source` is a folder or a clone URL. `ref` is a branch, tag or commit, by default the remote's default
    branch or the folder's current branch. `server` names another of the store's servers on which a new
    repository is stored. With `apart`, the repository shares nothing with forks. Raise InvalidRequestError,
    TeamError, or StoreUnavailableError.
    """
    began = time.monotonic()
    address = read_address(source)
    name = _checked(name or address.name)
    layers = layers or Layers()
    with work_folder() as work, ExitStack() as stack:
        connection = stack.enter_context(owner_connection(url, "cairn index"))
        known_server(connection, server)  # Fail for an unknown server before the repository is read.
        stack.enter_context(locked(connection, [repository_lock(name)], WAITING, progress))
        repository = stack.enter_context(open_source(address, work, progress))
        found = repository.resolve(ref)
        at = find_place(connection, stack, address, repository, name, found, server, progress, apart=apart)
        if at.pool is not None:
            stack.enter_context(locked(connection, [pool_lock(at.pool[0])], WAITING, progress))
        if (snapshot := _existing(connection, at, found, layers)) is not None:
            number, files = snapshot
            seconds = time.monotonic() - began
            return IndexResult(name, found.name, found.commit, number, files, 0, 0, 0, 0, (), seconds, False)
        run = _Run(connection, at, server, repository, found, layers, work, progress)
        return run.index(began)


def _checked(name: str) -> str:
    if not re.fullmatch(r"[^\s\x00-\x1f\x7f/][^\x00-\x1f\x7f]{0,198}", name) or name != name.strip():
        raise InvalidRequestError("name", f"{name!r} cannot be a repository's name. Give another with --name")
    return name


def _existing(
    connection: Connection[TupleRow], at: StoragePlace, ref: Ref, layers: Layers
) -> tuple[int, int] | None:
    """Point the ref to the commit's snapshot with these settings. Return its id and number of files."""
    if at.home is None:
        return None
    row = connection.execute(
        """SELECT id, length(files) / 4 FROM cairn.snapshots
           WHERE repository = %s AND commit = %s AND version = %s AND facts ->> %s = %s""",
        (at.home.repository, ref.commit, SCHEMA_VERSION, _INDEXED_BY, _digest(layers)),
    ).fetchone()
    if row is None:
        return None
    point_ref(connection, at.home.repository, ref.name, row[0])
    return int(row[0]), int(row[1])


def _digest(layers: Layers) -> str:
    """Return a digest of the settings that select files, without the commit's own settings."""
    index = layers.without_workspace().settings.index
    values = [index.include, index.exclude, dict(index.collections), index.max_file_bytes, index.history]
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=8).hexdigest()


@frozen
class _Run:
    connection: Connection[TupleRow]
    at: StoragePlace
    server: str
    repository: Repository
    ref: Ref
    layers: Layers
    work: Path
    progress: Callable[[str], None]

    def index(self, began: float) -> IndexResult:
        checkout = self.work / "checkout" / self.at.project
        checkout.mkdir(parents=True)
        files, unusable = list_tree(self.repository, self.ref.commit)
        admitted = admit(self.repository, files, checkout, self.layers)
        stored = self._stored(admitted)
        unread = [file for file in admitted.files if file.path not in stored]
        self.progress(f"{len(admitted.files):,} files, of which {len(unread):,} are read")
        unwritten = [file for file in unread if file.path not in admitted.written]
        refused = write_files(self.repository, unwritten, checkout)
        requests = [
            ReadRequest(FileEntry(file.path, file.size, 0), admitted.projects.collection(file.path), None)
            for file in unread
        ]
        embedded, unreadable = index_files(
            checkout,
            requests,
            self.work / "index",
            self.layers.without_workspace().settings.embedding,
            admitted.settings.workers,
            self.progress,
        )
        segment = Segment(self.work / "index")
        try:
            self._check_vectors(segment)
            facts = self._facts(segment, stored, admitted.settings.history)
            published = self._publish(segment, stored, facts, unread)
        finally:
            segment.close()
        problems = (*unusable, *refused, *unreadable, *filter(None, [facts.problem]))
        return IndexResult(
            self.at.name, self.ref.name, self.ref.commit, published.snapshot, published.files, len(unread),
            published.chunks, embedded, admitted.skipped.total(), problems,
            time.monotonic() - began, True,
        )  # fmt: skip

    def _stored(self, admitted: Admitted) -> dict[str, int]:
        if self.at.pool is None:
            return {}
        return find_stored(self.connection, *self.at.pool, admitted.files, admitted.collections)

    def _facts(self, segment: Segment, stored: Mapping[str, int], with_history: bool) -> SnapshotFacts:
        self.progress("Counting imports and following the history")
        files: list[FileFacts] = [*segment.files()]
        if self.at.pool is not None:
            files += file_facts(self.connection, *self.at.pool, stored.values())
        tip = Tip(self.repository.located, self.ref.commit)
        return describe(tip, files, self._commits(), with_history, self.progress)

    def _commits(self) -> bytes | None:
        """Return the packed commits of this repository's latest snapshot.

        The repository's readers may not see the snapshots of other repositories in the pool.
        """
        if self.at.home is None:
            return None
        row = self.connection.execute(
            """SELECT p.packed FROM cairn.snapshots s
               JOIN cairn.snapshot_parts p ON p.snapshot = s.id AND p.name = 'commits'
               WHERE s.repository = %s AND s.version = %s ORDER BY s.indexed_at DESC LIMIT 1""",
            (self.at.home.repository, SCHEMA_VERSION),
        ).fetchone()
        return None if row is None else bytes(row[0])

    def _check_vectors(self, segment: Segment) -> None:
        """Raise TeamError if the pool has vectors of another recipe."""
        if self.at.pool is None:
            return
        row = self.connection.execute(
            """SELECT facts FROM cairn.snapshots WHERE pool = %s AND version = %s
               ORDER BY indexed_at DESC LIMIT 1""",
            (self.at.pool[0], SCHEMA_VERSION),
        ).fetchone()
        meta = segment.meta()
        if row is not None and any(row[0].get(name) != meta.get(name) for name in _VECTOR_FACTS):
            raise TeamError(
                "The store's vectors of this repository were made by another code model,"
                " or with other settings `embedding.codeTokens` and `embedding.textTokens`."
                " Use the same version of Cairn and the same settings."
            )

    def _publish(
        self, segment: Segment, stored: Mapping[str, int], found: SnapshotFacts, unread: Iterable[TreeFile]
    ) -> Published:
        self.progress("Writing the snapshot")
        home = self._home()
        committed_at = datetime.datetime.fromtimestamp(self.ref.seconds, datetime.UTC)
        blobs = {file.path: file.blob for file in unread}
        revision = Revision(self.ref.name, self.ref.commit, committed_at, blobs)
        facts = {**found.facts, _INDEXED_BY: _digest(self.layers)}
        kept = sorted(stored.values())
        published = publish(self.connection, home, revision, segment, kept, found.parts, facts)
        drop_retired(self.connection, home, _RETIRED_FOR)
        if compact(self.connection, home):
            row = self.connection.execute(
                "SELECT snapshot FROM cairn.refs WHERE repository = %s AND ref = %s",
                (home.repository, self.ref.name),
            ).fetchone()
            assert row is not None
            published = evolve(published, snapshot=row[0])
        return published

    def _home(self) -> Home:
        """Return where the repository is stored. Register a new one, just before its files are stored."""
        at = self.at
        with self.connection.transaction():
            pool = at.pool[0] if at.pool else None
            home = at.home or find_home(self.connection, at.name, at.url, pool, self.server, apart=at.apart)
            self.connection.execute(
                """UPDATE cairn.repositories SET roots = %(roots)s, project = %(project)s
                   WHERE id = %(id)s AND (roots <> %(roots)s OR project <> %(project)s)""",
                {"roots": list(at.roots), "project": at.project, "id": home.repository},
            )
        return home
