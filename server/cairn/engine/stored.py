"""Answers from a team's database. Its repositories are the folders; a caller sees only permitted ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import apsw
from attrs import evolve, field, frozen

from cairn import protocol
from cairn.engine.background_value import BackgroundValue
from cairn.engine.caller import Caller
from cairn.engine.engine import Engine
from cairn.engine.folders import Folder, FolderSettings
from cairn.engine.host import Host
from cairn.engine.request import Request
from cairn.engine.snapshot_folder import NOWHERE, SnapshotFolder
from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.index.postgres.access import role_of
from cairn.index.postgres.postgres_reader import PostgresReader
from cairn.index.postgres.postgres_server import ServerState
from cairn.index.postgres.repositories import importing_pools, likely_repositories
from cairn.index.postgres.shards import OtherServer, is_any_away, servers_of
from cairn.index.postgres.snapshot_catalogue import SnapshotMemory
from cairn.index.postgres.snapshots import (
    RequestReads,
    SnapshotCache,
    StoredSnapshot,
    nearest_snapshot,
    revisions_of,
    snapshot_key,
    visible_repositories,
    visible_snapshots,
)
from cairn.index.postgres.transactions import Reads, Store
from cairn.index.remote.messages import dumps, loads
from cairn.index.remote.packed_catalogue import packed_catalogue
from cairn.index.remote.remote_reader import read
from cairn.index.store.keyword_columns import compound_parts, stems
from cairn.operations.health import TeamOverview
from cairn.text.uris import TEAM_SCHEME, repository_uri

_NAME = re.compile(r"[^\W\d]\w*")
_MOST_AT_ONCE = 32
"""The maximum number of repositories per request. Of more, the most likely to answer are searched."""
_FRESH_SECONDS = 10.0
"""How long the state of the servers is used before they are asked again."""
_FEWEST_HASH_CHARS = 7
"""The minimum length of the beginning of a commit's hash that names the commit."""
_MOST_CALLERS = 64
"""The maximum number of callers with caches of answers and queries. The least recent caller is dropped."""


_WITHOUT_STATE = {
    "search": {"feedback": False},
    "log": {"queries": False},
    "index": {"watch": False},
    # Failures of the database must not switch searches off for minutes, since each error says what is wrong.
    "retrieval": {"killSwitch": {"errorRate": 1.0}},
}
"""The settings of a team's server, over those of its user. A repository's own file affects only indexing."""


@frozen
class StoredFolder(SnapshotFolder):
    snapshot: StoredSnapshot = field(kw_only=True)
    revisions: Callable[[], Sequence[StoredSnapshot]] = field(kw_only=True)
    """Returns the indexed revisions of the repository, the main branch first."""
    open: Callable[[StoredSnapshot], Folder] = field(kw_only=True)
    """Returns the repository at a revision."""

    def at(self, ref: str | None) -> Folder:
        revisions = self.revisions()
        named = [each for each in revisions if each.ref == ref or _is_commit(ref, each.commit)]
        if ref is None:
            named = [each for each in revisions if each.ref][:1]
            named = [each for each in named if each.commit != self.snapshot.commit]
        if named:
            return self.open(named[0])
        known = ", ".join(each.ref for each in revisions if each.ref)
        problem = "is required" if ref is None else f"{ref!r} is not indexed"
        raise InvalidRequestError(
            "base",
            f"{problem}: name a branch or a commit of which the team has an index, or give a diff; the"
            f" indexed branches of {self.label} are {known}",
        )


def _is_commit(ref: str | None, commit: str) -> bool:
    return ref is not None and len(ref) >= _FEWEST_HASH_CHARS and commit.startswith(ref)


def _revision(snapshot: StoredSnapshot) -> protocol.Revision:
    return protocol.Revision(
        repository_uri(snapshot.repository),
        snapshot.repository,
        snapshot.ref,
        snapshot.commit,
        snapshot.committed_at.isoformat(),
        snapshot.indexed_at.isoformat(),
    )


class StoredEngine(Engine):
    """The engine of a team's server. `asked` yields requests about what their caller may see."""

    def __init__(self, store: Store, host: Host | None = None) -> None:
        super().__init__(host=host, enforced=_WITHOUT_STATE)
        self._store = store
        self._memories = SnapshotCache()
        self._caller = lru_cache(_MOST_CALLERS)(self._new_caller)
        self._settings = FolderSettings(self._layers, NOWHERE)
        self._overlay = Overlay(NOWHERE, self._settings, self.host.model)
        """An overlay without documents, which all folders share."""
        self._servers: BackgroundValue[list[ServerState]] = BackgroundValue()

    @contextmanager
    def asked(self, caller: str, workspace: str) -> Iterator[Request]:
        """Yield a request over all repositories that the caller may see, or those that `workspace` names.

        `workspace` is a list of `NAME`, `NAME@REF` or URI, separated by commas. Raise InvalidRequestError for
        a repository that does not exist or that the caller may not see; the error does not say which of the
        two.
        """
        with RequestReads(self._store, caller or None) as reads:
            overview = partial(self._overview, reads)
            request = evolve(self.request(), caller=self._caller(caller), overview=overview)
            snapshots, remark = _reachable(reads, _snapshots(reads, workspace))
            several = snapshots if len(snapshots) > 1 else ()
            request = evolve(request, elsewhere=partial(self._importing, reads.detached, several))
            if len(snapshots) > _MOST_AT_ONCE:
                yield evolve(request, choose=partial(self._likeliest, reads, snapshots, remark))
            else:
                yield evolve(request, folders=self.opened(reads, snapshots, remark))

    def _overview(self, reads: RequestReads) -> TeamOverview:
        """Return what the caller of `reads` may see of the whole index."""
        repositories = visible_repositories(reads)
        parts = reads.read(lambda db: servers_of(db, {each.shard for each in repositories}))
        servers = self._servers.get(None, self._store.states, _FRESH_SECONDS)
        if servers is not None:
            others = sorted(set(parts.values()), key=lambda part: part.name)
            servers = [*servers, *map(OtherServer.state, others)]
        return TeamOverview([evolve(each, server=parts.get(each.shard)) for each in repositories], servers)

    def _new_caller(self, name: str) -> Caller:
        """Return the caches of a caller. All callers share timings, and none may change later answers."""
        return Caller(self.host, self.settings, takes_changes=False, timings=self.caller.timings)

    def opened(
        self, reads: RequestReads, snapshots: Sequence[StoredSnapshot], remark: str
    ) -> tuple[Folder, ...]:
        """Return the folders of these snapshots for one request. The answer shows the remark."""
        reads.require(snapshot.key for snapshot in snapshots)
        folders = [self._folder(reads, snapshot) for snapshot in snapshots]
        return tuple(evolve(folder, remark=remark) for folder in folders[:1]) + tuple(folders[1:])

    def _importing(
        self, reads: Reads, snapshots: Sequence[StoredSnapshot], folder: Folder, texts: Sequence[str]
    ) -> Iterator[Folder]:
        """Yield the other repositories with files whose imports have one of the texts: of `snapshots`, or of
        all repositories that the reader may see if there are none."""
        for each in _importing(reads, snapshots, texts):
            if each.repository != folder.label:
                yield self._folder(reads, each)

    def _likeliest(
        self, reads: RequestReads, snapshots: Sequence[StoredSnapshot], remark: str, params: object
    ) -> tuple[Folder, ...]:
        """Return the folders that most likely answer. Raise InvalidRequestError without a query or symbol."""
        named = getattr(params, "folder", "")
        if found := [each for each in snapshots if repository_uri(each.repository) == named]:
            return self.opened(reads, found, remark)
        query = getattr(params, "query", None) or getattr(params, "symbol", None)
        if not isinstance(query, str):
            raise InvalidRequestError(
                "workspace",
                f"is required: you may see {len(snapshots):,} repositories; name the one that you ask about",
            )
        terms = stems(apsw.Connection(":memory:"), f"{query} {' '.join(compound_parts(query))}")
        names = [name for name in _NAME.findall(query) if any(compound_parts(name))]
        shards = {each.key.shard for each in snapshots}
        likeliest = reads.read(lambda db: likely_repositories(db, terms, names, shards, _MOST_AT_ONCE))
        order = {repository: place for place, repository in enumerate(likeliest)}
        likely = [each for each in snapshots if each.key.repository in order]
        return self.opened(reads, sorted(likely, key=lambda each: order[each.key.repository]), remark)

    def _folder(self, reads: Reads, snapshot: StoredSnapshot) -> Folder:
        root = NOWHERE / snapshot.repository
        saved = PostgresReader.of(reads, self._memories.get(reads, snapshot.key), str(root))
        reader = OverlaidReader(saved, self._overlay)
        revision = _revision(snapshot)
        return StoredFolder(
            root, root, self._settings, reader, revision=revision, snapshot=snapshot,
            revisions=partial(revisions_of, reads, snapshot.repository), open=partial(self._folder, reads),
        )  # fmt: skip

    # --- for the readers of other machines ------------------------------------------------------------

    def locate(self, caller: str, commits: Sequence[str]) -> dict[str, object] | None:
        """Return the fields of `Located` for the first of `commits` that is indexed; None if none is."""
        found = nearest_snapshot(self._store.single_reads(caller or None), commits)
        if found is None:
            return None
        return _located(found, list(commits).index(found.commit))

    def importing(self, caller: str, snapshot: int, texts: Sequence[str]) -> list[dict[str, object]] | None:
        """Return the fields of `Located` for each other repository with files whose imports have one of the
        texts; None for an unknown snapshot."""
        reads = self._store.single_reads(caller or None)
        if (key := snapshot_key(reads, snapshot)) is None:
            return None
        found = _importing(reads, (), texts)
        return [_located(each, 0) for each in found if each.key.repository != key.repository]

    def catalogue(self, caller: str, snapshot: int) -> bytes | None:
        """Return the packed catalogue of a snapshot; None if the caller may not see it."""
        return self._with_memory(caller, snapshot, lambda _, memory: packed_catalogue(memory))

    def read(self, caller: str, snapshot: int, request: bytes) -> bytes | None:
        """Return the encoded result of a read; None for unknown snapshots. Raise WireError for bad input."""
        decoded = loads(request)
        return self._with_memory(
            caller,
            snapshot,
            lambda reads, memory: dumps(read(PostgresReader.of(reads, memory), decoded)),
        )

    def _with_memory(
        self, caller: str, snapshot: int, answer: Callable[[RequestReads, SnapshotMemory], bytes]
    ) -> bytes | None:
        with RequestReads(self._store, caller or None) as reads:
            key = snapshot_key(reads, snapshot)
            if key is None:
                return None
            reads.require([key])
            return answer(reads, self._memories.get(reads, key))

    def reader_of(self, token: str) -> str | None:
        """Return the reader of a token, or None for a token that is unknown, revoked or expired."""
        return self._store.read(None, lambda db: role_of(db, token))

    def searchable(self) -> bool:
        try:
            self._store.read(None, lambda db: db.execute("SELECT 1"))
        except StoreUnavailableError:
            return False
        return True

    def stop(self) -> None:
        super().stop()
        self._store.close()


def _snapshots(reads: RequestReads, workspace: str) -> list[StoredSnapshot]:
    """Return the snapshots of all visible repositories, or of those that `workspace` names."""
    found: list[StoredSnapshot] = []
    for named in workspace.split(","):
        uri = f"{TEAM_SCHEME}:///"
        name = unquote(named.removeprefix(uri)) if named.startswith(uri) else named.strip()
        repository, _, ref = name.partition("@")
        snapshots = visible_snapshots(reads, repository or None, ref or None)
        if workspace and not (name and snapshots):
            raise InvalidRequestError("workspace", f"there is no repository {named!r} that you may see")
        found += [each for each in snapshots if each not in found]
    return found


def _importing(
    reads: Reads, snapshots: Sequence[StoredSnapshot], texts: Sequence[str]
) -> Iterator[StoredSnapshot]:
    """Yield the snapshots of repositories with files whose imports have one of the texts: of `snapshots`, or
    of all repositories that the reader may see if there are none."""
    if texts:
        reached, _ = _reachable(reads, snapshots or visible_snapshots(reads))
        shards = {each.key.shard for each in reached}
        pools = reads.read(lambda db: importing_pools(db, texts, shards))
        yield from (each for each in reached if each.key.pool in pools)


def _located(found: StoredSnapshot, behind: int) -> dict[str, object]:
    return {
        "snapshot": found.number,
        "repository": found.repository,
        "ref": found.ref,
        "commit": found.commit,
        "committed_at": found.committed_at.isoformat(),
        "indexed_at": found.indexed_at.isoformat(),
        "behind": behind,
    }


def _reachable(reads: Reads, snapshots: Sequence[StoredSnapshot]) -> tuple[Sequence[StoredSnapshot], str]:
    """Return the snapshots whose servers answer, and a remark about the others, or "" if there are no others.

    Raise PartUnavailableError if no server answers.
    """
    if not is_any_away():
        return snapshots, ""
    servers = reads.read(lambda db: servers_of(db, {snapshot.key.shard for snapshot in snapshots}))
    away = {shard: server for shard, server in servers.items() if server.is_away}
    left_out = [snapshot for snapshot in snapshots if snapshot.key.shard in away]
    if not left_out:
        return snapshots, ""
    reached = [snapshot for snapshot in snapshots if snapshot.key.shard not in away]
    first, others = left_out[0].repository, len(left_out) - 1
    server = away[left_out[0].key.shard]
    if not reached:
        raise server.problem()
    named = f"{first} and {others} more are" if others else f"{first} is"
    return reached, f"{named} left out: the server {server.name} does not answer."


class ReadersEngine(Engine):
    """Wraps the shared engine so that a connected client can neither change nor stop it."""

    def __init__(
        self,
        whole: StoredEngine,
        reader: str,
        check: Callable[[], None],
        editor_settings: Mapping[str, Any],
        on_change: Callable[[], None],
        host: Host,
    ) -> None:
        """Make the engine of a connection. `check` raises a CairnError if the reader has lost access."""
        super().__init__(editor_settings, on_change, host)
        self._whole, self._reader, self._check = whole, reader, check
        self._repositories: tuple[str, ...] = ()
        """The URIs of the client's open folders. Without any, requests cover all visible repositories."""

    @contextmanager
    def asked(self, caller: str, workspace: str) -> Iterator[Request]:
        self._check()
        with self._whole.asked(self._reader, workspace or ",".join(self._repositories)) as request:
            yield request

    def add_folder(self, path: Path, *, keep_indexed: bool = True) -> None:
        raise InvalidRequestError(
            "folder",
            f"{path} is not searched: a team's index is served here. Open {TEAM_SCHEME}:///NAME for one of"
            " its repositories, or set team.url on your machine to search a clone",
        )

    def add_elsewhere(self, uri: str) -> None:
        if uri.startswith(f"{TEAM_SCHEME}:") and uri not in self._repositories:
            with self._whole.asked(self._reader, uri):
                self._repositories += (uri,)

    def remove_elsewhere(self, uri: str) -> None:
        self._repositories = tuple(each for each in self._repositories if each != uri)
