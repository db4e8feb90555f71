"""A small team store: two shards, a pool with a private fork, a row of each repository in each table."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from tests.postgres import new_database, template

from cairn.index.postgres.roles import admit_server
from cairn.index.postgres.shards import add_shard
from cairn.index.postgres.team_schema import prepare
from cairn.team.trial import LocalServer

ROW_TABLES = (
    "repositories", "repository_words", "snapshots", "refs", "snapshot_parts", "holdings", "segments", "terms"
)  # fmt: skip
FILE_TABLES = {"files": "id", "chunks": "file", "vectors": "file", "definitions": "file"}
"""Tables whose rows belong to a file, with the column of the file's id."""


@attrs.frozen
class Repository:
    id: int
    pool: int
    shard: int
    name: str


def open_owner(url: str) -> Connection[TupleRow]:
    """Connect as the store's owner in autocommit mode."""
    return psycopg.connect(url, autocommit=True)


def add_pool(owner: Connection[TupleRow], shard: int) -> int:
    return _number(owner, "INSERT INTO cairn.pools(shard) VALUES (%s) RETURNING id", shard)


def add_repository(owner: Connection[TupleRow], name: str, pool: int, shard: int) -> Repository:
    """Add a repository with one row in each table that names repositories."""
    new = "INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, %s, 'u') RETURNING id"
    number = _number(owner, new, pool, name)
    new = """INSERT INTO cairn.snapshots(repository, pool, shard, commit, committed_at, version, files)
        VALUES (%s, %s, %s, 'c', now(), 1, '') RETURNING id"""
    snapshot = _number(owner, new, number, pool, shard)
    owner.execute("INSERT INTO cairn.refs VALUES (%s, 'HEAD', %s)", (number, snapshot))
    owner.execute("INSERT INTO cairn.repository_words VALUES (%s, 'word', 1)", (number,))
    owner.execute("INSERT INTO cairn.snapshot_parts VALUES (%s, %s, 'parts', '')", (snapshot, number))
    owner.execute("INSERT INTO cairn.segments VALUES (%s, %s, 1, %s, '')", (shard, number, pool))
    owner.execute("INSERT INTO cairn.terms VALUES (%s, %s, 1, 0, 'word', '', '')", (shard, number))
    return Repository(number, pool, shard, name)


def add_file(owner: Connection[TupleRow], file: int, *holders: Repository) -> int:
    """Add a file of these repositories with a chunk, a vector and a definition. Return its id."""
    shard, pool = holders[0].shard, holders[0].pool
    at = (shard, pool, file)
    owner.execute(
        """INSERT INTO cairn.files
           VALUES (%s, %s, %s, %s, '', 1, 1, '', true, 'code', 'c', '', 1, '[]', '', NULL)""",
        (*at, f"file{file}.py"),
    )
    owner.execute(
        """INSERT INTO cairn.chunks VALUES (%s, %s, %s, %s, 0, 0, 1, 'code', 'python', '', '', '', '', '',
           '[]', '', '', '', '', '')""",
        (*at, file),
    )
    owner.execute(
        "INSERT INTO cairn.vectors VALUES (%s, %s, %s, %s, array_fill(%s::real, ARRAY[256])::halfvec(256))",
        (*at, file, file),
    )
    owner.execute("INSERT INTO cairn.definitions VALUES (%s, %s, 'name', 'Name', %s, %s)", (*at, file))
    for holder in holders:
        owner.execute("INSERT INTO cairn.holdings VALUES (%s, %s, %s, %s)", (*at, holder.id))
    return file


@attrs.frozen
class TeamStore:
    """A prepared store.

    `main` and its private fork `fork` share a pool: both have file 1, `main` has file 2, and `fork` has file
    3. `other` is alone in a pool of another shard, with file 4.
    """

    url: str
    server_url: str
    owner: Connection[TupleRow]
    main: Repository
    fork: Repository
    other: Repository

    def seen(self, reader: str) -> dict[str, set[int]]:
        """The ids of repositories or files that a reader sees in each table."""
        with as_reader(self.server_url, reader) as connection:
            seen = {
                table: _column(connection, table, "id" if table == "repositories" else "repository")
                for table in ROW_TABLES
            }
            return seen | {table: _column(connection, table, file) for table, file in FILE_TABLES.items()}


def expected(repositories: set[int], files: set[int]) -> dict[str, set[int]]:
    """The result of `TeamStore.seen` for a reader of these repositories and files."""
    return dict.fromkeys(ROW_TABLES, repositories) | dict.fromkeys(FILE_TABLES, files)


@contextmanager
def team_store(server: LocalServer) -> Iterator[TeamStore]:
    """A store in a database of its own, copied from a template."""
    _, repositories = template(server, fill_store)
    with new_database(server, fill_store) as url, open_store(url, repositories) as store:
        yield store


def fill_store(url: str) -> tuple[Repository, ...]:
    """Prepare a database and insert the rows."""
    prepare(url)
    with open_owner(url) as owner:
        first, second = add_shard(owner), add_shard(owner)
        pool, other_pool = add_pool(owner, first), add_pool(owner, second)
        main = add_repository(owner, "main", pool, first)
        fork = add_repository(owner, "fork", pool, first)
        other = add_repository(owner, "other", other_pool, second)
        for file, holders in enumerate(((main, fork), (main,), (fork,), (other,)), 1):
            add_file(owner, file, *holders)
    return main, fork, other


@contextmanager
def open_store(url: str, repositories: tuple[Repository, ...]) -> Iterator[TeamStore]:
    with open_owner(url) as owner, server_login(owner, url) as server_url:
        yield TeamStore(url, server_url, owner, *repositories)


@contextmanager
def server_login(owner: Connection[TupleRow], url: str) -> Iterator[str]:
    """The URL of a login that is admitted as a server.

    Roles belong to the cluster, so it is dropped afterwards.
    """
    login, password = f"login_{secrets.token_hex(4)}", secrets.token_hex(8)
    owner.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(login), sql.Literal(password))
    )
    admit_server(owner, login)
    try:
        yield make_conninfo(url, user=login, password=password)
    finally:
        owner.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


@contextmanager
def as_reader(server_url: str, reader: str) -> Iterator[Connection[TupleRow]]:
    """A writable transaction as a reader, which only a bug in Cairn could begin. It is rolled back."""
    with psycopg.connect(server_url) as connection:
        connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(f"cairn:{reader}")))
        yield connection
        connection.rollback()


def _column(connection: Connection[TupleRow], table: str, column: str) -> set[int]:
    rows = connection.execute(
        sql.SQL("SELECT {} FROM {}").format(sql.Identifier(column), sql.Identifier("cairn", table))
    )
    return {row[0] for row in rows}


def _number(owner: Connection[TupleRow], statement: str, *values: object) -> int:
    found = owner.execute(statement.encode(), values).fetchone()
    assert found is not None
    return int(found[0])
