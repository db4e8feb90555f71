"""The repositories of a team store, and the pools and shards that contain their rows."""

from __future__ import annotations

from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.index.postgres.publishing import Home
from cairn.index.postgres.shards import add_shard, known_server

_FULL = 200_000
"""The number of chunks from which a shard gets no new pools."""


def find_home(
    connection: Connection[TupleRow],
    name: str,
    url: str,
    pool: int | None = None,
    server: str = "",
    *,
    apart: bool = False,
) -> Home:
    """Return where the repository `name` is stored. Register a new one in `pool`, or else in a new pool.

    `server` names the database server for a new pool; "" means the store's own server. With `apart`, forks
    may not share the new pool. Raise
    InvalidRequestError for an unknown server.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('cairn.repositories', 0))")
        row = connection.execute(
            """SELECT r.id, r.pool, p.shard FROM cairn.repositories r JOIN cairn.pools p ON p.id = r.pool
               WHERE r.name = %s""",
            (name,),
        ).fetchone()
        if row is not None:
            return Home(*row)
        if pool is None:
            pool = _new_pool(connection, server, apart)
        row = connection.execute(
            "INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, %s, %s) RETURNING id",
            (pool, name, url),
        ).fetchone()
        assert row is not None
        shard = connection.execute("SELECT shard FROM cairn.pools WHERE id = %s", (pool,)).fetchone()
        assert shard is not None
    return Home(int(row[0]), pool, int(shard[0]))


def _new_pool(connection: Connection[TupleRow], server: str, apart: bool) -> int:
    """Create a pool in the fullest shard of the server that still has room, or in a new shard."""
    row = connection.execute(
        """SELECT id FROM cairn.shards WHERE server IS NOT DISTINCT FROM %s AND chunks < %s
           ORDER BY chunks DESC, id LIMIT 1""",
        (server or None, _FULL),
    ).fetchone()
    shard = int(row[0]) if row else add_shard(connection, known_server(connection, server))
    made = connection.execute(
        "INSERT INTO cairn.pools(shard, apart) VALUES (%s, %s) RETURNING id", (shard, apart)
    ).fetchone()
    assert made is not None
    return int(made[0])
