"""Servers beside the store's own that have some of its shards: while one is away, nobody waits for it again and again."""

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
"""How long a statement about rows there may take. A process that is stopped keeps its connections open and says nothing."""
_AWAY_SECONDS = 5.0
"""How long nobody asks it again after that. Without this, questions about it would hold all threads, and all others up."""

T = TypeVar("T")


@define(eq=False)
class OtherServer:
    """One of them, as this process knows it. Methods may be called from several threads at once."""

    name: str
    """That of its foreign server in the database."""
    _away_until: float = field(default=float("-inf"), init=False)

    @property
    def is_away(self) -> bool:
        """Whether it did not answer just now."""
        return time.monotonic() < self._away_until

    def problem(self) -> PartUnavailableError:
        """What is told to those who ask for nothing but what is there."""
        return PartUnavailableError(
            f"The repository lies on another server, {self.name}, that does not answer. Start PostgreSQL there; questions"
            " about others are answered meanwhile."
        )

    def watched(self, ask: Callable[[Connection[TupleRow]], T]) -> Callable[[Connection[TupleRow]], T]:
        """`ask`, for statements that end soon. It raises what `watching` does."""

        def watched(connection: Connection[TupleRow]) -> T:
            with self.watching():
                connection.execute(f"SET LOCAL statement_timeout = {_PATIENCE_MS}")
                return ask(connection)

        return watched

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raises PartUnavailableError where a statement takes too long or reaches nobody, and before any while it is away."""
        if self.is_away:
            raise self.problem()
        try:
            yield
        except (errors.QueryCanceled, errors.SqlclientUnableToEstablishSqlconnection):
            self._away_until = time.monotonic() + _AWAY_SECONDS
            raise self.problem() from None


_KNOWN: dict[tuple[str, int, str, str], OtherServer] = {}
"""By the store's host, port and database, and their names."""


def servers_of(connection: Connection[TupleRow], shards: Iterable[int]) -> Mapping[int, OtherServer]:
    """The servers of those shards that do not lie on the store's own."""
    # Readers may not read cairn.shards; of PostgreSQL's catalogue everybody may, and it shows nothing but names.
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
    """Whether some server is, so that it is worth while to look which shards are concerned."""
    return any(server.is_away for server in list(_KNOWN.values()))
