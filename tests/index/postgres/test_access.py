from __future__ import annotations

import re
import threading
from collections.abc import Iterator
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
    open_owner,
    team_store,
)

from cairn.errors import InvalidRequestError
from cairn.index.postgres.access import Reader, grant, issue_token, readers, revoke, role_of
from cairn.index.postgres.policies import POLICIES
from cairn.index.postgres.roles import admit_server, make_reader
from cairn.index.postgres.tables import BULK_TABLES


@pytest.fixture
def store(postgres: str) -> Iterator[TeamStore]:
    with team_store(postgres) as made:
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


def test_every_table_is_closed_to_readers_or_has_a_policy(store: TeamStore) -> None:
    tables = store.owner.execute(
        "SELECT relname, relrowsecurity, has_table_privilege('cairn_reader', oid, 'SELECT'),"
        " has_table_privilege('cairn_reader', oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'),"
        " has_table_privilege('cairn_server', oid, 'SELECT')"
        " FROM pg_class WHERE relnamespace = 'cairn'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')"
    ).fetchall()
    assert {table for table, _, selects, _, _ in tables if selects} == {
        *POLICIES,
        "meta",
        "visible_repositories",
    }
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
        assert connection.execute("SELECT role, repository FROM cairn.grants").fetchall() == [
            ("cairn:ann", store.other.id)
        ]
        assert connection.execute("SELECT role, pool FROM cairn.pool_grants").fetchall() == [
            ("cairn:ann", store.other.pool)
        ]
        assert connection.execute("SELECT * FROM cairn.everything").fetchall() == []
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
def test_readers_change_and_create_nothing(store: TeamStore, statement: str) -> None:
    grant(store.owner, "ann", "all")
    with as_reader(store.server_url, "ann") as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_readers_see_no_statistics_of_columns(store: TeamStore) -> None:
    store.owner.execute("ANALYZE")
    counting = "SELECT count(*) FROM pg_stats WHERE schemaname = 'cairn' AND tablename <> 'meta'"
    assert store.owner.execute(counting).fetchone() != (0,)
    grant(store.owner, "ann", [store.main.id])
    with as_reader(store.server_url, "ann") as connection:
        assert connection.execute(counting).fetchone() == (0,)


def test_server_without_a_role_sees_no_table(store: TeamStore) -> None:
    grant(store.owner, "ann", "all")
    for table in (*POLICIES, "tokens", "pools"):
        with psycopg.connect(store.server_url) as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("cairn", table)))


def test_reader_of_everything_sees_new_repositories_at_once(store: TeamStore) -> None:
    grant(store.owner, "eve", "all")
    grant(store.owner, "ann", [store.main.id, store.fork.id])
    assert store.seen("eve") == expected({store.main.id, store.fork.id, store.other.id}, {1, 2, 3, 4})
    new = add_repository(store.owner, "new", store.main.pool, store.main.shard)
    add_file(store.owner, 5, new)
    assert store.seen("eve") == expected(
        {store.main.id, store.fork.id, store.other.id, new.id}, {1, 2, 3, 4, 5}
    )
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


def test_files_of_a_deleted_fork_stay_hidden_until_the_pool_is_swept(store: TeamStore) -> None:
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


def test_repository_that_moves_to_another_pool_changes_both(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.other.id])
    assert _whole_pools(store, "ann") == {store.other.pool}
    store.owner.execute(
        "UPDATE cairn.repositories SET pool = %s WHERE id = %s", (store.other.pool, store.fork.id)
    )
    assert _whole_pools(store, "ann") == set()


def test_truncated_grants_leave_no_pool_visible(store: TeamStore) -> None:
    grant(store.owner, "ann", [store.other.id])
    store.owner.execute("TRUNCATE cairn.grants")
    assert _whole_pools(store, "ann") == set()


def test_private_fork_made_during_a_grant_is_not_shared(store: TeamStore) -> None:
    """Neither transaction sees the other, so only their order keeps the fork's pool from counting as visible."""
    with open_owner(store.url) as second, second.transaction():
        private = second.execute(
            "INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, 'private', 'u') RETURNING id",
            (store.other.pool,),
        ).fetchone()
        granting = threading.Thread(target=grant, args=(store.owner, "ann", [store.other.id]))
        granting.start()
        _wait_for_a_lock(store.url, granting)
    granting.join(timeout=10)
    assert private is not None
    assert _whole_pools(store, "ann") == set()


def test_grants_refuse_other_isolation_levels(store: TeamStore) -> None:
    with psycopg.connect(store.url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(errors.InvalidTransactionState, match="READ COMMITTED"):
            grant(connection, "ann", [store.main.id])


def test_grant_refuses_unknown_repositories_and_bad_names(store: TeamStore) -> None:
    with pytest.raises(InvalidRequestError, match="no repository"):
        grant(store.owner, "ann", [store.main.id, 999])
    for name in ("", "a" * 58, 'ann"; DROP TABLE x', "ann bob", ":ann", "ånn"):
        with pytest.raises(InvalidRequestError, match="reader"):
            grant(store.owner, name, [store.main.id])
    assert readers(store.owner) == []


def test_revoke_of_one_repository_refuses_a_reader_of_everything(store: TeamStore) -> None:
    grant(store.owner, "eve", "all")
    with pytest.raises(InvalidRequestError, match="sees all repositories"):
        revoke(store.owner, "eve", [store.main.id])


def test_tokens_name_their_reader_until_they_expire(store: TeamStore) -> None:
    token = issue_token(store.owner, "ann", note="laptop")
    old = issue_token(store.owner, "bob", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    new = issue_token(store.owner, "bob", expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert token.startswith("cairn_")
    assert len(token) > 40
    with psycopg.connect(store.server_url) as server:
        assert [role_of(server, each) for each in (token, old, new, "cairn_x", "")] == [
            "ann",
            None,
            "bob",
            None,
            None,
        ]
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


def test_admit_server_refuses_roles_that_row_security_does_not_bind(store: TeamStore) -> None:
    for login, problem in (
        (store.owner.info.user, "superuser"),
        ("cairn_reader", "log in"),
        ("nobody-there", "log in"),
    ):
        with pytest.raises(InvalidRequestError, match=problem):
            admit_server(store.owner, login)


def test_same_new_reader_may_be_made_by_many_at_once(store: TeamStore) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(6)

    def make() -> None:
        try:
            with open_owner(store.url) as connection:
                barrier.wait()
                for number in range(5):
                    grant(connection, f"race-{store.owner.info.dbname}-{number}", [store.main.id])
        except BaseException as failure:  # noqa: BLE001 # The test shows it.
            failures.append(failure)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not failures
    assert len(readers(store.owner)) == 5


def test_policies_look_pools_up_in_a_hash_table(store: TeamStore) -> None:
    """A subquery that ran for each row would stand without `hashed` in the filter."""
    grant(store.owner, "ann", [store.main.id])
    store.owner.execute(
        "INSERT INTO cairn.chunks SELECT %s, %s, 10 + n, 1, n, 0, 1, 'code', 'python', '', '', '', '', '', '[]', '', '',"
        " '', '', '' FROM generate_series(1, 5000) AS n",
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
        assert len(re.findall(r"(?<!hashed )SubPlan", condition)) <= 1, (
            "only holdings may be looked up for each row"
        )
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
    """Wait until a session of the database waits for a lock, or the thread has ended without waiting."""
    waiting = (
        "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
        " WHERE NOT granted AND datname = current_database()"
    )
    with open_owner(url) as watcher:
        while thread.is_alive() and not watcher.execute(waiting).fetchall():
            pass
