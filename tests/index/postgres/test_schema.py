"""The schema of a team's database: preparing it, its versions and rights, and its shards."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from tests.index.postgres.store_rows import TeamStore, add_file, add_pool, add_repository, open_owner
from tests.postgres import execute, new_database

from cairn.errors import StoreUnavailableError
from cairn.index.postgres.access import grant
from cairn.index.postgres.shards import ShardServer, add_shard
from cairn.index.postgres.team_schema import BULK_TABLES, VERSION, check_pgvector, check_version, prepare
from cairn.team.trial import LocalServer


def test_prepare_may_be_repeated_and_keeps_rows(postgres: str) -> None:
    assert prepare(postgres) == VERSION
    with open_owner(postgres) as owner:
        add_pool(owner, add_shard(owner))
        assert prepare(postgres) == VERSION
        assert owner.execute("SELECT count(*) FROM cairn.pools").fetchone() == (1,)
        check_version(owner)


def test_prepare_migrates_a_store_of_the_first_version(bare_team: TeamStore) -> None:
    owner = bare_team.owner
    owner.execute("ALTER TABLE cairn.snapshots DROP number")
    owner.execute("ALTER TABLE cairn.pools DROP apart")
    owner.execute("ALTER TABLE cairn.repositories DROP shares_project")
    owner.execute("UPDATE cairn.meta SET value = '1' WHERE key = 'schema'")
    with pytest.raises(StoreUnavailableError, match=r"version 1.*needs 2.*Run `cairn team prepare` once"):
        check_version(owner)
    grant(owner, "ann", [bare_team.main.id])
    assert prepare(bare_team.url) == 2
    numbers = owner.execute("SELECT count(*), count(DISTINCT number), min(number) FROM cairn.snapshots")
    row = numbers.fetchone()
    assert row is not None
    assert row[0] == row[1] == 3
    assert row[2] > 3
    kept = "SELECT bool_and(shares_project), bool_or(apart) FROM cairn.repositories, cairn.pools"
    assert owner.execute(kept).fetchone() == (True, False)
    assert bare_team.seen("ann")["snapshots"] == {bare_team.main.id}


def test_prepare_by_several_at_once_makes_one_schema(postgres: str) -> None:
    barrier = threading.Barrier(4)

    def prepare_together(_: int) -> int:
        barrier.wait()
        return prepare(postgres)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(prepare_together, range(4))) == [VERSION] * 4


def test_prepare_of_several_databases_at_once_shares_the_roles(postgres_server: LocalServer) -> None:
    with (
        new_database(postgres_server) as first,
        new_database(postgres_server) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        assert list(pool.map(prepare, (first, second))) == [VERSION] * 2


def test_prepare_refuses_a_newer_schema_and_changes_nothing(postgres: str) -> None:
    prepare(postgres)
    with open_owner(postgres) as owner:
        owner.execute("UPDATE cairn.meta SET value = '99' WHERE key = 'schema'")
        with pytest.raises(StoreUnavailableError, match=r"version 99.*Update Cairn"):
            prepare(postgres)
        with pytest.raises(StoreUnavailableError, match="Update Cairn"):
            check_version(owner)
        assert owner.execute("SELECT value FROM cairn.meta").fetchone() == ("99",)


def test_check_version_refuses_a_database_without_the_store(postgres: str) -> None:
    with (
        open_owner(postgres) as owner,
        pytest.raises(StoreUnavailableError, match="Run `cairn team prepare` once"),
    ):
        check_version(owner)


def test_prepare_says_what_an_old_server_or_extension_needs(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("0.7.4", "0.5"):
        with pytest.raises(StoreUnavailableError, match=r"pgvector 0\.[57].*ALTER EXTENSION"):
            check_pgvector(version)
    for version in ("0.8.0", "0.10", "1.0.0-rc1"):
        check_pgvector(version)
    monkeypatch.setattr("cairn.index.postgres.team_schema._OLDEST_POSTGRES", 990000)
    with pytest.raises(StoreUnavailableError, match="Cairn needs 16 or newer"):
        prepare(postgres)
    with open_owner(postgres) as owner:
        assert owner.execute("SELECT to_regnamespace('cairn')").fetchone() == (None,)


def test_prepare_works_for_an_owner_without_superuser_rights(postgres_server: LocalServer) -> None:
    """Such an owner creates roles with CREATEROLE.

    Another owner may own the groups, and lets it grant them.
    """
    with new_database(postgres_server) as url, open_owner(url) as superuser:
        prepare(url)
        superuser.execute("DROP SCHEMA cairn CASCADE")
        superuser.execute("CREATE ROLE plain_owner LOGIN CREATEROLE PASSWORD 'p'")
        try:
            superuser.execute(
                "GRANT cairn_reader, cairn_server TO plain_owner WITH ADMIN OPTION, INHERIT FALSE"
            )
            superuser.execute(f"ALTER DATABASE {superuser.info.dbname} OWNER TO plain_owner".encode())
            plain_url = make_conninfo(url, user="plain_owner", password="p")
            prepare(plain_url)
            with open_owner(plain_url) as owner:
                add_shard(owner)
        finally:
            superuser.execute("DROP OWNED BY plain_owner CASCADE")
            superuser.execute(f"ALTER DATABASE {superuser.info.dbname} OWNER TO CURRENT_USER".encode())
            superuser.execute("DROP ROLE plain_owner")


def test_prepare_without_rights_says_whose_url_is_needed(bare_team: TeamStore) -> None:
    with pytest.raises(StoreUnavailableError, match="owner"):
        prepare(bare_team.server_url)


def test_partitions_have_keys_and_store_packed_columns_unchanged(bare_team: TeamStore) -> None:
    owner, main = bare_team.owner, bare_team.main
    row = (main.shard, main.pool, main.id)
    with pytest.raises(errors.UniqueViolation):
        owner.execute("INSERT INTO cairn.holdings VALUES (%s, %s, 1, %s)", row)
    owner.execute("INSERT INTO cairn.holdings VALUES (%s, %s, 1, %s) ON CONFLICT DO NOTHING", row)
    with pytest.raises(errors.CheckViolation):
        owner.execute("INSERT INTO cairn.holdings VALUES (99, 1, 1, 1)")
    for table in BULK_TABLES:
        partition = (f"cairn.{table.partition(main.shard)}",)
        keys = owner.execute(
            "SELECT indisprimary, indisunique FROM pg_index WHERE indrelid = to_regclass(%s)", partition
        ).fetchall()
        assert sum(primary for primary, _ in keys) == bool(table.key), table.name
        assert sum(unique for _, unique in keys) == bool(table.key) + bool(table.unique), table.name
        stored = owner.execute(
            """SELECT attname FROM pg_attribute
               WHERE attrelid = to_regclass(%s) AND attstorage = 'e' AND attnum > 0""",
            partition,
        ).fetchall()
        # pgvector chooses the same storage for its own types.
        assert {name for (name,) in stored} - {"vector"} == set(table.external), table.name


def test_shard_is_added_while_others_read_and_write(bare_team: TeamStore) -> None:
    owner = bare_team.owner
    with psycopg.connect(bare_team.url) as busy:
        busy.execute("SELECT count(*) FROM cairn.chunks")
        busy.execute("UPDATE cairn.files SET size = 2 WHERE shard = %s", (bare_team.main.shard,))
        owner.execute("SET lock_timeout = '2s'")
        shard = add_shard(owner)
        busy.rollback()
        add_file(owner, 9, add_repository(owner, "new", add_pool(owner, shard), shard))


def test_shard_on_another_server_has_its_rows_there(bare_team: TeamStore, postgres: str) -> None:
    """The same policies apply to its rows."""
    owner, elsewhere = bare_team.owner, ShardServer("second", postgres)
    assert postgres not in repr(elsewhere)
    shard = add_shard(owner, elsewhere)
    far = add_repository(owner, "far", add_pool(owner, shard), shard)
    hidden = add_repository(owner, "hidden", far.pool, shard)
    add_file(owner, 7, far)
    add_file(owner, 8, hidden)
    grant(owner, "ann", [far.id, bare_team.main.id])
    assert execute(postgres, f"SELECT file FROM cairn.chunks_{shard} ORDER BY file") == [(7,), (8,)]
    seen = bare_team.seen("ann")
    assert seen["chunks"] == seen["vectors"] == seen["definitions"] == seen["files"] == {1, 2, 7}
    assert seen["terms"] == {far.id, bare_team.main.id}
    assert owner.execute("SELECT server FROM cairn.shards WHERE id = %s", (shard,)).fetchone() == ("second",)
    add_shard(owner, elsewhere)
