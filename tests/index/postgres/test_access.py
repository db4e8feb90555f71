"""Row security of the team store: what readers see and cannot do, and how grants and tokens change that."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import errors, sql
from tests.index.postgres.store_rows import (
    TeamStore,
    add_file,
    add_pool,
    add_repository,
    as_reader,
    expected,
    fill_store,
    open_owner,
    open_store,
)
from tests.postgres import new_database

from cairn.errors import InvalidRequestError
from cairn.index.postgres.access import Reader, grant, issue_token, readers, revoke, role_of
from cairn.index.postgres.roles import POLICIES, admit_server, make_reader
from cairn.index.postgres.team_schema import BULK_TABLES
from cairn.team.trial import LocalServer


@pytest.fixture
def store(bare_team: TeamStore) -> TeamStore:
    return bare_team


@pytest.fixture(scope="module")
def unchanged(postgres_server: LocalServer) -> Iterator[TeamStore]:
    """A store for tests that change nothing, in which ann sees everything.

    It is not a copy of a template, which would lack the rights on the database.
    """
    with new_database(postgres_server) as url, open_store(url, fill_store(url)) as made:
        grant(made.owner, "ann", "all")
        yield made


def test_readers_see_only_rows_of_their_repositories(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.main.id])
    grant(store.owner, "bob", [store.fork.id, store.other.id])
    grant(store.owner, "cat", [store.main.id, store.fork.id])
    make_reader(store.owner, "dan")
    assert store.seen("ann") == expected({store.main.id}, {1, 2})
    assert store.seen("bob") == expected({store.fork.id, store.other.id}, {1, 3, 4})
    assert store.seen("cat") == expected({store.main.id, store.fork.id}, {1, 2, 3})
    assert store.seen("dan") == expected(set(), set())


def test_every_table_is_closed_to_readers_or_has_a_policy(unchanged: TeamStore) -> None:
    tables = unchanged.owner.execute(
        "SELECT relname, relrowsecurity, has_table_privilege('cairn_reader', oid, 'SELECT'),"
        " has_table_privilege('cairn_reader', oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'),"
        " has_table_privilege('cairn_server', oid, 'SELECT')"
        " FROM pg_class WHERE relnamespace = 'cairn'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')"
    ).fetchall()
    readable = {table for table, _, selects, _, _ in tables if selects}
    assert readable == {*POLICIES, "meta", "visible_repositories"}
    assert {table for table, secured, *_ in tables if secured} >= set(POLICIES)
    assert not [table for table, _, _, writes, _ in tables if writes]
    assert {table for table, *_, server in tables if server} == {"meta"}


def test_readers_cannot_read_partitions_directly(store: TeamStore) -> None:
    grant(store.owner, "ann", "all")
    for table in BULK_TABLES:
        name = sql.Identifier("cairn", table.partition(store.main.shard))
        with as_reader(store.server_url, "ann") as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(sql.SQL("SELECT * FROM {}").format(name))
        store.owner.execute(sql.SQL("GRANT SELECT ON {} TO cairn_reader").format(name))
        with as_reader(store.server_url, "ann") as connection:
            assert connection.execute(sql.SQL("SELECT * FROM {}").format(name)).fetchall() == []


def test_readers_cannot_see_tokens_pools_or_grants_of_others(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.other.id])
    grant(store.owner, "bob", [store.main.id])
    grant(store.owner, "eve", "all")
    with as_reader(store.server_url, "ann") as connection:
        for query, rows in (
            ("SELECT role, repository FROM cairn.grants", [("cairn:ann", store.other.id)]),
            ("SELECT role, pool FROM cairn.pool_grants", [("cairn:ann", store.other.pool)]),
            ("SELECT role FROM cairn.everything", []),
        ):
            assert connection.execute(query.encode()).fetchall() == rows
    for table in ("tokens", "pools", "shards"):
        with as_reader(store.server_url, "ann") as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("cairn", table)))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO cairn.repositories(pool, name, url) VALUES (1, 'fork', '')",
        "UPDATE cairn.files SET path = ''",
        "DELETE FROM cairn.refs",
        "TRUNCATE cairn.terms",
        "INSERT INTO cairn.grants VALUES (current_user, 2)",
        "INSERT INTO cairn.everything VALUES (current_user)",
        "INSERT INTO cairn.pool_grants VALUES (current_user, 1)",
        "SELECT cairn.share_pools(NULL, NULL)",
        "SELECT cairn.role_of_token('')",
        "CREATE TABLE cairn.own(id int)",
        "CREATE TABLE public.own(id int)",
        "CREATE TEMPORARY TABLE own(id int)",
        "CREATE SCHEMA own",
        "CREATE ROLE own",
        "SELECT * FROM cairn.files FOR UPDATE",
    ],
)
def test_readers_change_and_create_nothing(unchanged: TeamStore, statement: str) -> None:
    with as_reader(unchanged.server_url, "ann") as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_readers_see_no_statistics_of_columns(store: TeamStore) -> None:
    store.owner.execute("ANALYZE")
    counting = "SELECT count(*) FROM pg_stats WHERE schemaname = 'cairn' AND tablename <> 'meta'"
    assert store.owner.execute(counting).fetchone() != (0,)
    grant(store.owner, "ann", [store.main.id])
    with as_reader(store.server_url, "ann") as connection:
        assert connection.execute(counting).fetchone() == (0,)


def test_server_without_a_role_sees_no_table(unchanged: TeamStore) -> None:
    for table in (*POLICIES, "tokens", "pools"):
        with psycopg.connect(unchanged.server_url) as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("cairn", table)))


def test_reader_of_everything_sees_new_repositories_at_once(store: TeamStore) -> None:
    grant(store.owner, "eve", "all")
    grant(store.owner, "ann", [store.main.id, store.fork.id])
    assert store.seen("eve") == expected({store.main.id, store.fork.id, store.other.id}, {1, 2, 3, 4})
    new = add_repository(store.owner, "new", store.main.pool, store.main.shard)
    add_file(store.owner, 5, new)
    every = {store.main.id, store.fork.id, store.other.id, new.id}
    assert store.seen("eve") == expected(every, {1, 2, 3, 4, 5})
    assert store.seen("ann") == expected({store.main.id, store.fork.id}, {1, 2, 3})


def test_revoked_repositories_are_gone_from_the_next_transaction_on(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.main.id, store.fork.id, store.other.id])
    revoke(store.owner, "ann", [store.fork.id])
    assert store.seen("ann") == expected({store.main.id, store.other.id}, {1, 2, 4})
    token = issue_token(store.owner, "ann")
    revoke(store.owner, "ann")
    assert store.seen("ann") == expected(set(), set())
    with psycopg.connect(store.server_url) as server:
        assert role_of(server, token) is None


def test_files_of_a_deleted_fork_stay_hidden_before_the_sweep(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.main.id])
    store.owner.execute("DELETE FROM cairn.repositories WHERE id = %s", (store.fork.id,))
    grant(store.owner, "ann", [store.main.id])
    assert store.seen("ann")["chunks"] == {1, 2}
    for table in ("files", "chunks", "vectors", "definitions"):
        column = sql.Identifier("id" if table == "files" else "file")
        store.owner.execute(
            sql.SQL("DELETE FROM {} WHERE {} = 3").format(sql.Identifier("cairn", table), column)
        )
    store.owner.execute("UPDATE cairn.pools SET unswept = false WHERE id = %s", (store.main.pool,))
    assert _whole_pools(store, "ann") == {store.main.pool}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("UPDATE cairn.repositories SET pool = {pool} WHERE id = {fork}", id="fork moves there"),
        pytest.param("TRUNCATE cairn.grants", id="grants are truncated"),
    ],
)
def test_pool_is_no_longer_visible_as_a_whole(store: TeamStore, change: str) -> None:
    grant(store.owner, "ann", [store.other.id])
    assert _whole_pools(store, "ann") == {store.other.pool}
    store.owner.execute(change.format(pool=store.other.pool, fork=store.fork.id).encode())
    assert _whole_pools(store, "ann") == set()


def test_private_fork_made_during_a_grant_is_not_shared(store: TeamStore) -> None:
    """Neither transaction sees the other, so only their order keeps the pool from counting as visible."""
    with open_owner(store.url) as second, second.transaction():
        second.execute(
            "INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, 'private', 'u')", (store.other.pool,)
        )
        granting = threading.Thread(target=grant, args=(store.owner, "ann", [store.other.id]))
        granting.start()
        _wait_for_a_lock(store.url, granting)
    granting.join(timeout=10)
    assert _whole_pools(store, "ann") == set()


def test_grants_refuse_other_isolation_levels(unchanged: TeamStore) -> None:
    with psycopg.connect(unchanged.url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(errors.InvalidTransactionState, match="READ COMMITTED"):
            grant(connection, "bob", [unchanged.main.id])


def test_grant_refuses_unknown_repositories_and_bad_names(store: TeamStore) -> None:
    with pytest.raises(InvalidRequestError, match="no repository"):
        grant(store.owner, "ann", [store.main.id, 999])
    for name in ("", "a" * 58, 'ann"; DROP TABLE x', "ann bob", ":ann", "ånn"):
        with pytest.raises(InvalidRequestError, match="reader"):
            grant(store.owner, name, [store.main.id])
    assert readers(store.owner) == []


def test_revoke_of_one_repository_refuses_a_reader_of_everything(unchanged: TeamStore) -> None:
    with pytest.raises(InvalidRequestError, match="sees all repositories"):
        revoke(unchanged.owner, "ann", [unchanged.main.id])


def test_valid_tokens_name_their_reader(store: TeamStore) -> None:
    token = issue_token(store.owner, "ann", note="laptop")
    old = issue_token(store.owner, "bob", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    new = issue_token(store.owner, "bob", expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert token.startswith("cairn_")
    assert len(token) > 40
    expected_readers = {token: "ann", old: None, new: "bob", "cairn_x": None, "": None}
    with psycopg.connect(store.server_url) as server:
        assert {each: role_of(server, each) for each in expected_readers} == expected_readers
    stored = str(store.owner.execute("SELECT tokens::text FROM cairn.tokens AS tokens").fetchall())
    assert token not in stored
    assert token.removeprefix("cairn_") not in stored


def test_readers_lists_what_each_may_see(store: TeamStore) -> None:
    grant(store.owner, "bob", [store.other.id, store.main.id])
    grant(store.owner, "ann", "all")
    issue_token(store.owner, "cat")
    assert readers(store.owner) == [
        Reader("ann", True, (), 0),
        Reader("bob", False, ("main", "other"), 0),
        Reader("cat", False, (), 1),
    ]


def test_admit_server_refuses_roles_that_row_security_does_not_bind(unchanged: TeamStore) -> None:
    superuser = unchanged.owner.info.user
    for login, problem in ((superuser, "superuser"), ("cairn_reader", "log in"), ("nowhere", "log in")):
        with pytest.raises(InvalidRequestError, match=problem):
            admit_server(unchanged.owner, login)


def test_same_new_reader_may_be_made_by_many_at_once(store: TeamStore) -> None:
    barrier = threading.Barrier(6)

    def make(_: int) -> None:
        with open_owner(store.url) as connection:
            barrier.wait(30)
            for number in range(5):
                grant(connection, f"race-{store.owner.info.dbname}-{number}", [store.main.id])

    with ThreadPoolExecutor(6) as pool:
        assert len(list(pool.map(make, range(6)))) == 6
    assert len(readers(store.owner)) == 5


def test_policies_look_pools_up_in_a_hash_table(store: TeamStore) -> None:
    """A subquery that runs for each row appears without `hashed` in the filter."""
    grant(store.owner, "ann", [store.main.id])
    store.owner.execute(
        """INSERT INTO cairn.chunks SELECT %s, %s, 10 + n, 1, n, 0, 1, 'code', 'python', '', '', '', '', '',
           '[]', '', '', '', '', '' FROM generate_series(1, 5000) AS n""",
        (store.main.shard, store.main.pool),
    )
    add_pool(store.owner, store.main.shard)
    store.owner.execute("ANALYZE")
    with as_reader(store.server_url, "ann") as connection:
        rows = connection.execute(
            "EXPLAIN (ANALYZE, BUFFERS OFF) SELECT count(*) FROM cairn.chunks WHERE shard = %s",
            (store.main.shard,),
        ).fetchall()
        lines = [row[0] for row in rows]
        condition = next(line for line in lines if "Filter" in line and "hashed SubPlan" in line)
        looked_up = re.findall(r"(?<!hashed )SubPlan", condition)
        assert len(looked_up) <= 1, "only holdings may be looked up for each row"
        for table in ("pool_grants", "everything"):
            for scan in (line for line in lines if f" on {table}" in line and "never" not in line):
                assert "loops=1)" in scan
        assert f"chunks_{store.other.shard}" not in "".join(lines)
        by_repository = connection.execute("EXPLAIN (COSTS OFF) SELECT * FROM cairn.terms").fetchall()
        assert "hashed SubPlan" in str(by_repository)


def _whole_pools(store: TeamStore, reader: str) -> set[int]:
    rows = store.owner.execute("SELECT pool FROM cairn.pool_grants WHERE role = %s", (f"cairn:{reader}",))
    return {row[0] for row in rows}


def _wait_for_a_lock(url: str, thread: threading.Thread) -> None:
    """Wait for a session of the database that waits for a lock, or for the thread's end."""
    waiting = (
        "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
        " WHERE NOT granted AND datname = current_database()"
    )
    with open_owner(url) as watcher:
        while thread.is_alive() and not watcher.execute(waiting).fetchall():
            pass
