"""Looks over a team's database for one caller: the repositories that it may see, and whether the servers answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from cairn.engine.in_background import InBackground
from cairn.engine.team_overview import TeamOverview, TeamRepository, TeamServer
from cairn.index.postgres.connection import Store
from cairn.index.postgres.other_server import OtherServer, servers_of
from cairn.index.postgres.server import ServerState
from cairn.index.postgres.session import Reads
from cairn.index.postgres.snapshots import VisibleRepository, visible_repositories

_FRESH_SECONDS = 10.0
"""Whether each server answers is asked again after this long, if somebody looks."""


@frozen(eq=False)
class StoredOverview:
    """What can be told of a store without a question. Methods may be called from several threads at once."""

    _store: Store
    _uri_of: Callable[[str], str]
    """The URI of a repository by its name."""
    _servers: InBackground[list[ServerState]] = field(factory=InBackground, init=False)

    def seen_by(self, reads: Reads) -> TeamOverview:
        """What the reader of `reads` sees of the whole index, whatever a question is about."""
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
    """A server that has some repositories. It is known not to answer only for a while after a question needed it."""
    problem = str(server.problem()) if server.is_away else ""
    return TeamServer(server.name, "part", not server.is_away, None, problem)
