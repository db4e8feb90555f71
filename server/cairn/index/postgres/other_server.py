"""Other servers that store shards. While one of them does not answer, requests for its rows fail at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from cairn.errors import PartUnavailableError

_PATIENCE_MS = 3_000
"""The timeout of a statement on another server. A stopped process keeps connections open without answers."""
_AWAY_SECONDS = 5.0
"""How long after a timeout all requests to a server fail at once. Otherwise they would occupy all threads."""

T = TypeVar("T")


@define(eq=False)
class OtherServer:
    """Another server, and whether it answered this process last time. Several threads may use it at once."""

    name: str
    """The name of the foreign server in the database."""
    _retry_at: float = field(default=float("-inf"), init=False)

    @property
    def is_away(self) -> bool:
        """Whether the server failed to answer within the last `_AWAY_SECONDS`."""
        return time.monotonic() < self._retry_at

    def problem(self) -> PartUnavailableError:
        return PartUnavailableError(
            f"The repository is on another server, {self.name}, that does not answer."
            " Start PostgreSQL there. Meanwhile, other repositories can be searched."
        )

    def watched(self, ask: Callable[[Connection[TupleRow]], T]) -> Callable[[Connection[TupleRow]], T]:
        """Return `ask` with a short statement timeout, and with the errors of `watching`."""

        def watched(connection: Connection[TupleRow]) -> T:
            with self.watching():
                connection.execute(f"SET LOCAL statement_timeout = {_PATIENCE_MS}")
                return ask(connection)

        return watched

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raise PartUnavailableError if the server is away or does not answer a statement of the block."""
        if self.is_away:
            raise self.problem()
        try:
            yield
        except (errors.QueryCanceled, errors.SqlclientUnableToEstablishSqlconnection):
            self._retry_at = time.monotonic() + _AWAY_SECONDS
            raise self.problem() from None


_KNOWN: dict[tuple[str, int, str, str], OtherServer] = {}
"""The servers, by the store's host, port and database and the server's name."""


def servers_of(connection: Connection[TupleRow], shards: Iterable[int]) -> Mapping[int, OtherServer]:
    """Return the servers, by shard, of the shards that are not on the store's own server."""
    # Readers may not read cairn.shards. All roles may read PostgreSQL's catalogue, which has only names.
    rows = connection.execute(
        """SELECT shard, s.srvname FROM unnest(%s::int[]) AS shard
           JOIN pg_foreign_table t ON t.ftrelid = to_regclass('cairn.chunks_' || shard)
           JOIN pg_foreign_server s ON s.oid = t.ftserver""",
        (list(set(shards)),),
    )
    info = connection.info
    return {
        shard: _KNOWN.setdefault((info.host, info.port, info.dbname, name), OtherServer(name))
        for shard, name in rows
    }


def is_any_away() -> bool:
    """Return whether any server is away. A request must then find out which shards are affected."""
    return any(server.is_away for server in list(_KNOWN.values()))
