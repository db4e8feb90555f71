"""Shards: the partitions of the bulk tables. All partitions of a shard are on the store's own server or, with
few exceptions, on another.

All functions need a connection of the store's owner. Shards can be added while the store is in use: a
partition is created as a separate table and then attached, which blocks neither readers nor writers.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.schema import use_vectors
from cairn.index.postgres.server import NETWORK_OPTIONS
from cairn.index.postgres.tables import BULK_TABLES, BulkTable

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
