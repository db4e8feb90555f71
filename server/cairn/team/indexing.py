"""Indexes a repository for a team: one commit of it becomes a snapshot in the team's database.

Files that the database has already, of any commit or of a fork, are not read again. Whatever ends a run, the database
has the whole snapshot or nothing of it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import frozen
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, TeamError
from cairn.index.indexing.reading import ReadRequest
from cairn.index.postgres.lists import compact, drop_retired
from cairn.index.postgres.publishing import Home, Published, Revision, point_ref, publish
from cairn.index.postgres.repositories import find_home
from cairn.index.postgres.segment import Segment
from cairn.index.postgres.shards import known_server
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.settings.layers import Layers
from cairn.team.git_address import read_address
from cairn.team.git_source import Ref, Repository, open_source
from cairn.team.git_tree import TreeFile, blobs_of, list_tree, make_checkout, track, write_files
from cairn.team.local_index import index_files
from cairn.team.locks import Progress, locked, of_name, of_pool, owner_connection
from cairn.team.placement import WAITING, StoragePlace, find_place
from cairn.team.stored_files import StoredFiles, file_facts, find_stored
from cairn.team.tree_rules import Admitted, admit, collections_of
from cairn.team.whole_snapshot import FileFacts, Whole, describe
from cairn.team.work_folder import work_folder
from cairn.workspace.scan import FileEntry

_INDEXED_BY = "indexed_by"
"""The fact of a snapshot that tells by which settings its files were chosen."""
_RETIRED_FOR = datetime.timedelta(hours=1)
"""Questions that still run may read inverted lists that were put together so long ago."""
_VECTOR_FACTS = ("static_table", "static_text")
"""Facts that must be alike in a pool, or its vectors could not be compared."""


@frozen
class IndexResult:
    """What indexing a commit did."""

    repository: str
    ref: str
    commit: str
    snapshot: int
    files: int
    """Files of the snapshot."""
    files_read: int
    """Files that the store did not have, which were read."""
    chunks_new: int
    """Chunks that the store did not have."""
    embedded: int
    """Texts of which vectors were made."""
    skipped: int
    """Files and folders that rules left out."""
    problems: tuple[str, ...]
    """What could not be read, each with the reason."""
    seconds: float
    is_new: bool
    """False where the store had a snapshot of the commit."""


def index_repository(
    url: str,
    source: str,
    ref: str | None = None,
    name: str | None = None,
    progress: Progress = lambda text: None,
    layers: Layers | None = None,
    *,
    server: str = "",
) -> IndexResult:
    """Index a commit of a repository into the team store.

    `url` is that of the store's owner and must lead to the primary itself, since locks belong to a connection. `source`
    is a folder or a clone URL; `ref` a branch, tag or commit, by default the remote's default branch or the folder's
    current one; `server` that of the store's other servers on which a new repository is to lie. Raises InvalidRequestError,
    TeamError, and StoreUnavailableError.
    """
    began = time.monotonic()
    address = read_address(source)
    name = _checked(name or address.name)
    layers = layers or Layers()
    with work_folder() as work, ExitStack() as stack:
        connection = stack.enter_context(owner_connection(url, "cairn index"))
        known_server(connection, server)  # before anything is read
        stack.enter_context(locked(connection, [of_name(name)], WAITING, progress))
        repository = stack.enter_context(open_source(address, work, progress))
        found = repository.resolve(ref)
        at = find_place(connection, stack, address, repository, name, found, server, progress)
        if at.pool is not None:
            stack.enter_context(locked(connection, [of_pool(at.pool[0])], WAITING, progress))
        if (snapshot := _existing(connection, at, found, layers)) is not None:
            number, files = snapshot
            seconds = time.monotonic() - began
            return IndexResult(name, found.name, found.commit, number, files, 0, 0, 0, 0, (), seconds, False)
        run = _Run(connection, at, repository, found, layers, work, progress)
        return run.index(began)


def _checked(name: str) -> str:
    if not re.fullmatch(r"[^\s\x00-\x1f\x7f/][^\x00-\x1f\x7f]{0,198}", name) or name != name.strip():
        raise InvalidRequestError("name", f"{name!r} cannot be a repository's name. Give another with --name")
    return name


def _existing(
    connection: Connection[TupleRow], at: StoragePlace, ref: Ref, layers: Layers
) -> tuple[int, int] | None:
    """The snapshot of the commit with the number of its files, if the store has it by these settings; the ref names it."""
    if at.known is None:
        return None
    row = connection.execute(
        """SELECT id, length(files) / 4 FROM cairn.snapshots
           WHERE repository = %s AND commit = %s AND version = %s AND facts ->> %s = %s""",
        (at.known.home.repository, ref.commit, SCHEMA_VERSION, _INDEXED_BY, _digest(layers)),
    ).fetchone()
    if row is None:
        return None
    point_ref(connection, at.known.home.repository, ref.name, row[0])
    return int(row[0]), int(row[1])


def _digest(layers: Layers) -> str:
    """Tells the settings that decide about files, but for those of the commit itself, from others."""
    index = layers.without_workspace().settings.index
    told = [index.include, index.exclude, dict(index.collections), index.max_file_bytes, index.history]
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()


@frozen
class _Run:
    """One commit on its way into the store."""

    connection: Connection[TupleRow]
    at: StoragePlace
    repository: Repository
    ref: Ref
    layers: Layers
    work: Path
    progress: Callable[[str], None]

    def index(self, began: float) -> IndexResult:
        """Read what the store lacks, and write the snapshot."""
        checkout = self.work / "checkout" / self.at.project
        make_checkout(self.repository, self.ref, checkout)
        tree = list_tree(checkout, self.ref.commit)
        track(checkout, tree.files)
        admitted = admit(checkout, tree, self.layers)
        stored = self._stored(admitted)
        unread = [file for file in admitted.files if file.path not in stored.ids]
        self.progress(f"{len(admitted.files):,} files, of which {len(unread):,} are read")
        refused = write_files(
            checkout, [file for file in unread if file.path not in admitted.written], checkout
        )
        taken = index_files(
            checkout,
            _requests(unread, admitted),
            self.work / "index",
            self.layers.without_workspace().settings.embedding,
            admitted.settings.workers,
            self.progress,
        )
        segment = Segment(self.work / "index")
        try:
            self._check_vectors(segment)
            whole = self._whole(checkout, segment, stored, admitted.settings.history)
            published = self._publish(segment, stored, whole, unread)
        finally:
            segment.close()
        problems = (*tree.unusable, *refused, *taken.unreadable, *filter(None, [whole.problem]))
        return IndexResult(
            self.at.name, self.ref.name, self.ref.commit, published.snapshot, published.files, len(unread),
            published.chunks, taken.embedded, admitted.skipped.total(), problems, time.monotonic() - began, True,
        )  # fmt: skip

    def _stored(self, admitted: Admitted) -> StoredFiles:
        if self.at.pool is None:
            return StoredFiles({})
        return find_stored(self.connection, *self.at.pool, admitted.files, collections_of(admitted))

    def _whole(self, checkout: Path, segment: Segment, stored: StoredFiles, with_history: bool) -> Whole:
        self.progress("Counting imports and following the history")
        files = [
            FileFacts(
                f.path, f.size, f.content_hash, f.is_text, f.kind, f.collection, f.indexed_at, f.chunks, f.imports, f.sketch,
            )
            for f in segment.files()
        ]  # fmt: skip
        if self.at.pool is not None:
            files += file_facts(self.connection, *self.at.pool, stored.ids.values())
        return describe(checkout, self.ref.commit, files, self._commits(), with_history, self.progress)

    def _commits(self) -> bytes | None:
        """The commits that the latest snapshot of this repository has; others' may be hidden from whoever reads this one."""
        if self.at.known is None:
            return None
        row = self.connection.execute(
            """SELECT p.packed FROM cairn.snapshots s JOIN cairn.snapshot_parts p ON p.snapshot = s.id AND p.name = 'commits'
               WHERE s.repository = %s AND s.version = %s ORDER BY s.indexed_at DESC LIMIT 1""",
            (self.at.known.home.repository, SCHEMA_VERSION),
        ).fetchone()
        return None if row is None else bytes(row[0])

    def _check_vectors(self, segment: Segment) -> None:
        """Raise TeamError where the vectors of the pool are made in another way."""
        if self.at.pool is None:
            return
        row = self.connection.execute(
            """SELECT facts FROM cairn.snapshots WHERE pool = %s AND version = %s ORDER BY indexed_at DESC LIMIT 1""",
            (self.at.pool[0], SCHEMA_VERSION),
        ).fetchone()
        meta = segment.meta()
        if row is not None and any(row[0].get(name) != meta.get(name) for name in _VECTOR_FACTS):
            raise TeamError(
                "The store's vectors of this repository were made by another code model or with other settings"
                " `embedding.codeTokens` and `embedding.textTokens`. Use the same version of Cairn and the same settings."
            )

    def _publish(
        self, segment: Segment, stored: StoredFiles, whole: Whole, unread: Iterable[TreeFile]
    ) -> Published:
        self.progress("Writing the snapshot")
        home = self._home()
        committed_at = datetime.datetime.fromtimestamp(self.ref.seconds, datetime.UTC)
        revision = Revision(self.ref.name, self.ref.commit, committed_at, blobs_of(unread))
        facts: dict[str, Any] = {**whole.facts, _INDEXED_BY: _digest(self.layers)}
        published = publish(
            self.connection, home, revision, segment, sorted(stored.ids.values()), whole.parts, facts
        )
        drop_retired(self.connection, home, _RETIRED_FOR)
        if compact(self.connection, home):
            row = self.connection.execute(
                "SELECT snapshot FROM cairn.refs WHERE repository = %s AND ref = %s",
                (home.repository, self.ref.name),
            ).fetchone()
            assert row is not None
            published = Published(row[0], published.files, published.new_files, published.chunks)
        return published

    def _home(self) -> Home:
        """The repository's place, which is made now where it is new: there are no repositories without files, but for moments."""
        at = self.at
        if at.known is not None and at.known.roots and at.known.project:
            return at.known.home
        with self.connection.transaction():
            home = find_home(self.connection, at.name, at.url, at.pool[0] if at.pool else None, at.server)
            self.connection.execute(
                "UPDATE cairn.repositories SET roots = %s, project = %s WHERE id = %s",
                (list(at.roots), at.project, home.repository),
            )
        return home


def _requests(files: Sequence[TreeFile], admitted: Admitted) -> list[ReadRequest]:
    return [
        ReadRequest(FileEntry(file.path, file.size, 0), admitted.projects.collection(file.path), None)
        for file in files
    ]
