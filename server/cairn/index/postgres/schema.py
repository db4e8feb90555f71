"""Create or migrate the schema of a team's database, and check its version."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.policies import GRANTS, RIGHTS, TOKENS, TRIGGERS
from cairn.index.postgres.roles import make_groups
from cairn.index.postgres.tables import BULK, CATALOGUE, FORKS

_OLDEST_POSTGRES = 160000  # PostgreSQL 16 introduced GRANT … WITH INHERIT FALSE, SET TRUE.
_OLDEST_PGVECTOR = (0, 8)  # pgvector 0.8 introduced iterative scans.
_LOCK_KEY = "cairn.prepare"
_CONNECT_SECONDS = 10


def prepare(url: str) -> int:
    """Create the schema in an empty database, or migrate the schema of an older Cairn. Return its version.

    This runs in one transaction under a lock, so several processes may call it at once. `url` must be the URL
    of the store's owner, who may create roles. Raise `StoreUnavailableError` for an unsuitable server or a
    newer schema.
    """
    with explained(place(url)), psycopg.connect(url, connect_timeout=_CONNECT_SECONDS) as connection:
        if connection.info.server_version < _OLDEST_POSTGRES:
            version = connection.info.server_version // 10000
            raise StoreUnavailableError(
                f"{place(url)} runs PostgreSQL {version}; Cairn needs 16 or newer."
                " Upgrade it, or use another server."
            )
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (_LOCK_KEY,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS cairn")
        connection.execute("CREATE TABLE IF NOT EXISTS cairn.meta(key text PRIMARY KEY, value text NOT NULL)")
        done = _version(connection)
        if done > VERSION:
            raise _newer(done)
        use_vectors(connection)
        for step in STEPS[done:]:
            step(connection)
        connection.execute(
            """INSERT INTO cairn.meta VALUES ('schema', %s)
               ON CONFLICT (key) DO UPDATE SET value = excluded.value""",
            (str(VERSION),),
        )
    return VERSION


def check_version(connection: Connection[TupleRow]) -> None:
    """Raise `StoreUnavailableError` if the database's schema version is not the one of this Cairn."""
    try:
        found = _version(connection)
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        found = 0
    except errors.InsufficientPrivilege:
        raise StoreUnavailableError(
            "The store does not admit this login."
            " Let the store's owner admit it as a server (GRANT cairn_server)."
        ) from None
    if found > VERSION:
        raise _newer(found)
    if found < VERSION:
        raise StoreUnavailableError(
            f"The database has version {found} of the store's schema; this Cairn needs {VERSION}."
            " Run `cairn team prepare` once, with the URL of the owner."
        )


def use_vectors(connection: Connection[TupleRow]) -> None:
    """Add pgvector's types to the transaction's search path. Install the extension if it is missing."""
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except (errors.FeatureNotSupported, errors.UndefinedFile):
        raise StoreUnavailableError(
            "The PostgreSQL server has no pgvector."
            " Install it there (a package such as postgresql-18-pgvector)."
        ) from None
    except errors.InsufficientPrivilege:
        raise StoreUnavailableError(
            "The database has no pgvector. Let an administrator run CREATE EXTENSION vector in it."
        ) from None
    found = connection.execute(
        "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'"
    ).fetchone()
    assert found is not None
    version, schema = found
    check_pgvector(version)
    connection.execute(sql.SQL("SET LOCAL search_path = pg_catalog, {}").format(sql.Identifier(schema)))


def check_pgvector(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_PGVECTOR:
        raise StoreUnavailableError(
            f"The database has pgvector {version}; Cairn needs 0.8 or newer."
            " Install a newer one on the server and run ALTER EXTENSION vector UPDATE in the database."
        )


def _version(connection: Connection[TupleRow]) -> int:
    with connection.transaction():
        found = connection.execute("SELECT value FROM cairn.meta WHERE key = 'schema'").fetchone()
    return int(found[0]) if found else 0


def _newer(found: int) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"The store's schema has version {found}; this Cairn knows {VERSION}. Update Cairn on this machine."
    )


def _first(connection: Connection[TupleRow]) -> None:
    make_groups(connection)
    for statements in (CATALOGUE, BULK, GRANTS, TRIGGERS, TOKENS, RIGHTS):
        connection.execute(statements)
    # In a new database, every role may create temporary tables. Readers may create nothing.
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(database))


def _second(connection: Connection[TupleRow]) -> None:
    connection.execute(FORKS)


STEPS: tuple[Callable[[Connection[TupleRow]], None], ...] = (_first, _second)
"""The migrations: step n takes a database from version n to n + 1. A released step never changes."""
VERSION = len(STEPS)
