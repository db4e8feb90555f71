"""The tables of the team store, and how they are created, migrated and checked.

A repository and its forks form a pool and share their files, chunks and vectors. A shard is a group of pools
on the same server. The bulk tables are partitioned by shard, so that a query about one repository reads one
partition, and a partition can be on another server.

The parents of the bulk tables have no keys and no indexes: PostgreSQL attaches a foreign table only to a
parent without unique indexes. Instead, each partition has keys and indexes. Statements with `ON CONFLICT
(column, …)` therefore name the partition (`cairn.files_3`); `ON CONFLICT DO NOTHING` works through the parent
as well.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import psycopg
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.roles import GRANTS, RIGHTS, TOKENS, TRIGGERS, make_groups

DIMENSIONS = 256
"""The number of dimensions of the default embedding model."""


@attrs.frozen
class BulkTable:
    """A table with one partition per shard."""

    name: str
    columns: str
    key: str = ""
    """The columns of a partition's primary key; empty if it has none."""
    unique: str = ""
    """The columns of a partition's second unique key."""
    indexes: tuple[str, ...] = ()
    """Lists of columns, each with an ordinary index."""
    external: tuple[str, ...] = ()
    """The columns whose values Cairn has compressed. PostgreSQL stores them unchanged."""

    def partition(self, shard: int) -> str:
        """Return the name of a shard's partition, without the schema."""
        return f"{self.name}_{shard}"


# With EXTERNAL storage, packed blocks of 2 to 16 kB take 11 % more than their size. With MAIN (in the row if
# it fits on a page), they take 16 % more. Reading 300 of 4,000 blocks took 4.8 ms and 4.6 ms (PostgreSQL 18).
BULK_TABLES = (
    BulkTable(
        "files",
        """shard int NOT NULL, pool int NOT NULL, id int NOT NULL, path text COLLATE "C" NOT NULL, blob bytea,
        version int NOT NULL, size bigint NOT NULL, content_hash bytea NOT NULL, is_text bool NOT NULL,
        kind text NOT NULL, collection text NOT NULL, indexed_at text NOT NULL, chunks int NOT NULL,
        imports text NOT NULL, sketch bytea NOT NULL, symbols bytea""",
        key="shard, pool, id",
        # The blob distinguishes files whose indexed texts are equal, such as binary files.
        unique="shard, pool, path, blob, content_hash, collection, version",
        external=("sketch", "symbols"),
    ),
    BulkTable(
        "holdings",
        "shard int NOT NULL, pool int NOT NULL, file int NOT NULL, repository int NOT NULL",
        key="shard, pool, file, repository",
    ),
    BulkTable(
        "chunks",
        """shard int NOT NULL, pool int NOT NULL, id int NOT NULL, file int NOT NULL, position int NOT NULL,
        start_line int NOT NULL, end_line int NOT NULL, type text NOT NULL, language text NOT NULL,
        title text NOT NULL, header_path text NOT NULL, symbol text NOT NULL, symbol_kind text NOT NULL,
        parent text NOT NULL, defines text NOT NULL, signature text NOT NULL, comment text NOT NULL,
        content_hash bytea NOT NULL, embedding_key bytea NOT NULL, text bytea NOT NULL""",
        key="shard, pool, id",
        indexes=("shard, pool, file, position",),
        external=("text",),
    ),
    BulkTable(
        "vectors",
        f"""shard int NOT NULL, pool int NOT NULL, chunk int NOT NULL, file int NOT NULL,
        vector halfvec({DIMENSIONS}) NOT NULL""",
        key="shard, pool, chunk",
    ),
    BulkTable(
        "definitions",
        """shard int NOT NULL, pool int NOT NULL, folded text COLLATE "C" NOT NULL, name text NOT NULL,
        chunk int NOT NULL, file int NOT NULL""",
        indexes=("shard, pool, folded, chunk", "folded"),
    ),
    BulkTable(
        "segments",
        """shard int NOT NULL, repository int NOT NULL, id int NOT NULL, pool int NOT NULL,
        columns bytea NOT NULL""",
        key="shard, repository, id",
        external=("columns",),
    ),
    BulkTable(
        "terms",
        """shard int NOT NULL, repository int NOT NULL, segment int NOT NULL, kind smallint NOT NULL,
        first text COLLATE "C" NOT NULL, dictionary bytea NOT NULL, lists bytea NOT NULL""",
        key="shard, repository, kind, segment, first",
        external=("dictionary", "lists"),
    ),
)

# `pools.unswept` is set when a repository leaves its pool, which may still contain files that only this
# repository had. Until garbage collection deletes these files and clears the mark, no role may see the pool
# as a whole.
#
# `repositories.roots` are the root commits of the history, by which forks are recognised.
# `repositories.project` is the project of files without a manifest, from the repository's URL.
#
# Servers cache the data of a snapshot by its id, so a snapshot gets a new id if it or its inverted lists
# change. `retired_lists` are old lists that running requests may still read.
#
# A released step of the schema never changes, so later columns are in `FORKS`.
CATALOGUE = """
CREATE TABLE cairn.shards(
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chunks bigint NOT NULL DEFAULT 0,
    server text
);
CREATE TABLE cairn.pools(
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard int NOT NULL REFERENCES cairn.shards,
    next_file int NOT NULL DEFAULT 1,
    next_chunk int NOT NULL DEFAULT 1,
    unswept bool NOT NULL DEFAULT false
);
CREATE TABLE cairn.repositories(
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool int NOT NULL REFERENCES cairn.pools,
    name text NOT NULL UNIQUE,
    url text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    roots text[] NOT NULL DEFAULT '{}',
    project text NOT NULL DEFAULT ''
);
CREATE INDEX repositories_by_pool ON cairn.repositories(pool);
CREATE TABLE cairn.repository_words(
    repository int NOT NULL REFERENCES cairn.repositories ON DELETE CASCADE,
    term text COLLATE "C" NOT NULL,
    chunks int NOT NULL,
    PRIMARY KEY(term, repository)
);
CREATE INDEX repository_words_by_repository ON cairn.repository_words(repository);
CREATE TABLE cairn.snapshots(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repository int NOT NULL REFERENCES cairn.repositories ON DELETE CASCADE,
    pool int NOT NULL,
    shard int NOT NULL,
    commit text NOT NULL,
    committed_at timestamptz NOT NULL,
    indexed_at timestamptz NOT NULL DEFAULT now(),
    unnamed_since timestamptz,
    version int NOT NULL,
    facts jsonb NOT NULL DEFAULT '{}',
    files bytea NOT NULL,
    UNIQUE(repository, commit, version)
);
ALTER TABLE cairn.snapshots ALTER files SET STORAGE EXTERNAL;
CREATE TABLE cairn.refs(
    repository int NOT NULL REFERENCES cairn.repositories ON DELETE CASCADE,
    ref text NOT NULL,
    snapshot bigint NOT NULL REFERENCES cairn.snapshots ON DELETE CASCADE ON UPDATE CASCADE,
    PRIMARY KEY(repository, ref)
);
CREATE INDEX refs_by_snapshot ON cairn.refs(snapshot);
CREATE TABLE cairn.snapshot_parts(
    snapshot bigint NOT NULL REFERENCES cairn.snapshots ON DELETE CASCADE ON UPDATE CASCADE,
    repository int NOT NULL,
    name text NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY(snapshot, name)
);
ALTER TABLE cairn.snapshot_parts ALTER packed SET STORAGE EXTERNAL;
CREATE TABLE cairn.retired_lists(
    shard int NOT NULL,
    repository int NOT NULL,
    segment int NOT NULL,
    retired_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY(shard, repository, segment)
);
"""

BULK = "".join(
    f"CREATE TABLE cairn.{table.name}({table.columns}) PARTITION BY LIST (shard);\n"
    + "".join(
        f"ALTER TABLE cairn.{table.name} ALTER {name} SET STORAGE EXTERNAL;\n" for name in table.external
    )
    for table in BULK_TABLES
)

FORKS = """
ALTER TABLE cairn.snapshots ADD number bigint NOT NULL UNIQUE
    DEFAULT ('x' || left(replace(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint;
ALTER TABLE cairn.pools ADD apart bool NOT NULL DEFAULT false;
ALTER TABLE cairn.repositories ADD shares_project bool NOT NULL DEFAULT true;
ALTER TABLE cairn.repositories ALTER shares_project SET DEFAULT false;
"""
"""The second step of the schema, which keeps the readers of forks apart.

Clones name a snapshot by its `number`, which is random because ids show how often others index. It changes
only with the snapshot's files. A repository is alone in a pool that is `apart`; its forks get other pools.
Before this step, the `project` of a fork was that of the pool's first repository (`shares_project`).
"""


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
