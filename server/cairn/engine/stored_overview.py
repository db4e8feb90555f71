"""Makes the overview of a team's database for one caller: visible repositories and the servers' states."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from cairn.engine.background_value import BackgroundValue
from cairn.engine.overview import TeamOverview, TeamRepository, TeamServer
from cairn.index.postgres.postgres_server import ServerState
from cairn.index.postgres.shards import OtherServer, servers_of
from cairn.index.postgres.snapshots import VisibleRepository, visible_repositories
from cairn.index.postgres.transactions import Reads, Store

_FRESH_SECONDS = 10.0


@frozen(eq=False)
class StoredOverview:
    """Makes overviews of a store, and caches the state of its servers. Thread-safe."""

    _store: Store
    _uri_of: Callable[[str], str]
    _servers: BackgroundValue[list[ServerState]] = field(factory=BackgroundValue, init=False)

    def seen_by(self, reads: Reads) -> TeamOverview:
        """Return what the caller of `reads` may see of the whole index."""
        repositories = visible_repositories(reads)
        parts = reads.read(lambda db: servers_of(db, {each.shard for each in repositories}))
        states = self._servers.get(None, self._store.states, _FRESH_SECONDS)
        servers = None
        if states is not None:
            others = sorted(set(parts.values()), key=lambda part: part.name)
            servers = (*map(_server, states), *map(_part, others))
        return TeamOverview(tuple(self._repository(each, parts) for each in repositories), servers)

    def _repository(self, found: VisibleRepository, parts: Mapping[int, OtherServer]) -> TeamRepository:
        part = parts.get(found.shard)
        return TeamRepository(
            name=found.name,
            uri=self._uri_of(found.name),
            ref=found.ref,
            commit=found.commit,
            committed_at=found.committed_at,
            indexed_at=found.indexed_at,
            files=found.files,
            chunks=found.chunks,
            refs=found.refs,
            newer_ref=found.newest_ref if found.newest_at > found.committed_at else "",
            newer_at=found.newest_at,
            server=part.name if part else "",
            answers=part is None or not part.is_away,
        )


def _server(state: ServerState) -> TeamServer:
    role = "" if state.primary is None else "primary" if state.primary else "replica"
    return TeamServer(state.where, role, state.answers, state.behind_seconds, state.problem)


def _part(server: OtherServer) -> TeamServer:
    """Describe a server with some of the repositories. A failure stays known for a while after a request."""
    problem = str(server.problem()) if server.is_away else ""
    return TeamServer(server.name, "part", not server.is_away, None, problem)
