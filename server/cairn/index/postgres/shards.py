"""Shards: the partitions of the bulk tables, and the other servers that store some of them.

All partitions of a shard are on the store's own server or, with few exceptions, on another. While such a
server does not answer, requests for its rows fail at once. Shards can be added while the store is in use, by
the store's owner: a partition is created as a separate table and then attached, which blocks neither readers
nor writers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import attrs
import psycopg
from attrs import define, field
from psycopg import Connection, errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, PartUnavailableError
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.postgres_server import NETWORK_OPTIONS, ServerState
from cairn.index.postgres.team_schema import BULK_TABLES, BulkTable, use_vectors

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

    def state(self) -> ServerState:
        """Return whether it answered the latest request. A failure stays known for a while."""
        problem = str(self.problem()) if self.is_away else ""
        return ServerState(self.name, not problem, "part", problem=problem)

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


_FOREIGN_TABLE_OPTIONS: Mapping[str, str] = {"extensions": "vector", "fetch_size": "1000"}
"""Options of another server besides those that connect to it. The default fetch size of 100 rows needs ten
times the round trips."""

_ALWAYS_HERE = frozenset({"holdings"})
"""Tables that are never on another server, because row security reads them in every query. PostgreSQL
connects to the servers of all foreign tables of a query, so one missing server would stop all queries."""


@attrs.frozen
class ShardServer:
    """Another PostgreSQL server with pgvector that stores whole shards of this store."""

    name: str
    url: str = attrs.field(repr=False)
    """The URL must work on this machine and on the store's own server. Its user owns the tables there."""


def add_shard(connection: Connection[TupleRow], server: ShardServer | None = None) -> int:
    """Add a shard with its partitions, on the store's own server or another. Return the shard's id."""
    with connection.transaction():
        use_vectors(connection)
        found = connection.execute(
            "INSERT INTO cairn.shards(server) VALUES (%s) RETURNING id", (server.name if server else None,)
        ).fetchone()
        assert found is not None
        shard = int(found[0])
        if server is not None:
            _connect_server(connection, server)
            _make_elsewhere(server, shard)
        for table in BULK_TABLES:
            if server is None or table.name in _ALWAYS_HERE:
                _make_here(connection, table, shard)
            else:
                _make_foreign(connection, table, shard, server)
            connection.execute(
                sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})").format(
                    _parent(table), _partition(table, shard), sql.Literal(shard)
                )
            )
    return shard


def known_server(connection: Connection[TupleRow], name: str) -> ShardServer | None:
    """Return the other server with this name; None for "". Raise InvalidRequestError if it is unknown."""
    if not name:
        return None
    row = connection.execute(
        """SELECT s.srvoptions || m.umoptions
           FROM pg_foreign_server s JOIN pg_user_mappings m ON m.srvid = s.oid
           WHERE s.srvname = %s AND EXISTS (SELECT FROM cairn.shards WHERE server = s.srvname)""",
        (name,),
    ).fetchone()
    if row is None:
        problem = f"{name!r} is not a server of the store; `cairn team add-server` adds one"
        raise InvalidRequestError("server", problem)
    options = dict(option.split("=", 1) for option in row[0])
    connecting = {name: value for name, value in options.items() if name not in _FOREIGN_TABLE_OPTIONS}
    return ShardServer(name, make_conninfo(**connecting))


def _make_here(connection: Connection[TupleRow], table: BulkTable, shard: int) -> None:
    connection.execute(
        sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(_partition(table, shard), _parent(table))
    )
    _finish(connection, table, shard)
    # Readers have no rights on partitions. Even if they had, row security without a policy hides all rows.
    connection.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(_partition(table, shard)))


def _make_elsewhere(server: ShardServer, shard: int) -> None:
    """Create the tables of a shard on its server, except those that an interrupted attempt has created."""
    with explained(place(server.url)), psycopg.connect(server.url) as elsewhere:
        elsewhere.execute("CREATE SCHEMA IF NOT EXISTS cairn")
        use_vectors(elsewhere)
        for table in BULK_TABLES:
            if table.name in _ALWAYS_HERE:
                continue
            partition = _partition(table, shard)
            exists = "SELECT 1 WHERE to_regclass(%s) IS NOT NULL"
            if elsewhere.execute(exists, (partition.as_string(elsewhere),)).fetchone() is None:
                elsewhere.execute(sql.SQL("CREATE TABLE {} ({})").format(partition, sql.SQL(table.columns)))
                _finish(elsewhere, table, shard)


def _finish(connection: Connection[TupleRow], table: BulkTable, shard: int) -> None:
    """Add a partition's keys, indexes, storage options, and the check that all rows belong to the shard."""
    partition = _partition(table, shard)
    for kind, columns in (("PRIMARY KEY", table.key), ("UNIQUE", table.unique)):
        if columns:
            connection.execute(sql.SQL(f"ALTER TABLE {{}} ADD {kind} ({columns})").format(partition))
    for columns in table.indexes:
        connection.execute(sql.SQL(f"CREATE INDEX ON {{}} ({columns})").format(partition))
    for column in table.external:
        connection.execute(
            sql.SQL("ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL").format(partition, sql.Identifier(column))
        )
    connection.execute(sql.SQL("ALTER TABLE {} ADD CHECK (shard = {})").format(partition, sql.Literal(shard)))


def _make_foreign(
    connection: Connection[TupleRow], table: BulkTable, shard: int, server: ShardServer
) -> None:
    connection.execute(
        sql.SQL("CREATE FOREIGN TABLE {} ({}) SERVER {} OPTIONS (schema_name 'cairn', table_name {})").format(
            _partition(table, shard),
            sql.SQL(table.columns),
            sql.Identifier(server.name),
            sql.Literal(table.partition(shard)),
        )
    )


def _connect_server(connection: Connection[TupleRow], server: ShardServer) -> None:
    """Register another server in the database, with one login that all roles use.

    Row security is enforced in this database, not on the other server. PostgreSQL shows the password of the
    login only to the owner of the store and to superusers.
    """
    connection.execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
    if connection.execute("SELECT 1 FROM pg_foreign_server WHERE srvname = %s", (server.name,)).fetchone():
        return
    parts = conninfo_to_dict(server.url)
    login = {str(option): str(value) for option, value in parts.items() if option in ("user", "password")}
    given = {option: value for option, value in parts.items() if option not in login}
    options = {str(option): str(value) for option, value in {**NETWORK_OPTIONS, **given}.items()}
    options |= _FOREIGN_TABLE_OPTIONS
    for statement, values in (
        ("CREATE SERVER {} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({})", options),
        ("CREATE USER MAPPING FOR PUBLIC SERVER {} OPTIONS ({})", login),
    ):
        name = sql.Identifier(server.name)
        connection.execute(sql.SQL(statement).format(name, _options(values)))


def _options(options: Mapping[str, str]) -> sql.Composed:
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.Literal(value)) for name, value in options.items()
    )


def _parent(table: BulkTable) -> sql.Identifier:
    return sql.Identifier("cairn", table.name)


def _partition(table: BulkTable, shard: int) -> sql.Identifier:
    return sql.Identifier("cairn", table.partition(shard))
