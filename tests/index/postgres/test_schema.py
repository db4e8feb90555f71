from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from tests.index.postgres.store_rows import add_file, add_pool, add_repository, open_owner, team_store
from tests.postgres import execute, new_database

from cairn.errors import InvalidRequestError, StoreUnavailableError
from cairn.index.postgres.access import grant
from cairn.index.postgres.schema import VERSION, check_pgvector, check_version, prepare
from cairn.index.postgres.shards import ShardServer, add_shard, index_vectors
from cairn.index.postgres.tables import BULK_TABLES
from cairn.team.local_server import LocalServer


def test_prepare_may_be_repeated_and_keeps_rows(postgres: str) -> None:
    assert prepare(postgres) == VERSION
    with open_owner(postgres) as owner:
        add_pool(owner, add_shard(owner))
        assert prepare(postgres) == VERSION
        assert owner.execute("SELECT count(*) FROM cairn.pools").fetchone() == (1,)
        check_version(owner)


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
    monkeypatch.setattr("cairn.index.postgres.schema._OLDEST_POSTGRES", 990000)
    with pytest.raises(StoreUnavailableError, match="Cairn needs 16 or newer"):
        prepare(postgres)
    with open_owner(postgres) as owner:
        assert owner.execute("SELECT to_regnamespace('cairn')").fetchone() == (None,)


def test_prepare_works_for_an_owner_who_is_no_superuser(postgres_server: LocalServer) -> None:
    """Such an owner makes roles with CREATEROLE. The groups may be another owner's, so it is given them to grant."""
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
                index_vectors(owner, add_shard(owner))
        finally:
            superuser.execute("DROP OWNED BY plain_owner CASCADE")
            superuser.execute(f"ALTER DATABASE {superuser.info.dbname} OWNER TO CURRENT_USER".encode())
            superuser.execute("DROP ROLE plain_owner")


def test_prepare_without_rights_says_whose_url_is_needed(postgres: str) -> None:
    with team_store(postgres) as store, pytest.raises(StoreUnavailableError, match="owner"):
        prepare(store.server_url)


def test_shard_has_keys_that_refuse_rows_of_others_and_repeated_rows(postgres: str) -> None:
    with team_store(postgres) as store:
        owner, main = store.owner, store.main
        with pytest.raises(errors.UniqueViolation):
            owner.execute(
                "INSERT INTO cairn.holdings VALUES (%s, %s, 1, %s)", (main.shard, main.pool, main.id)
            )
        owner.execute(
            "INSERT INTO cairn.holdings VALUES (%s, %s, 1, %s) ON CONFLICT DO NOTHING",
            (main.shard, main.pool, main.id),
        )
        with pytest.raises(errors.CheckViolation):
            owner.execute("INSERT INTO cairn.holdings VALUES (99, 1, 1, 1)")
        for table in BULK_TABLES:
            keys = owner.execute(
                "SELECT indisprimary, indisunique FROM pg_index WHERE indrelid = to_regclass(%s)",
                (f"cairn.{table.partition(main.shard)}",),
            ).fetchall()
            assert sum(primary for primary, _ in keys) == bool(table.key), table.name
            assert sum(unique for _, unique in keys) == bool(table.key) + bool(table.unique), table.name


def test_packed_columns_of_partitions_are_stored_as_they_are(postgres: str) -> None:
    with team_store(postgres) as store:
        for table in BULK_TABLES:
            stored = store.owner.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attstorage = 'e' AND attnum > 0",
                (f"cairn.{table.partition(store.main.shard)}",),
            ).fetchall()
            # pgvector chooses the same for its own types.
            assert {name for (name,) in stored} - {"vector"} == set(table.external), table.name


def test_shard_is_added_while_others_read_and_write(postgres: str) -> None:
    with team_store(postgres) as store, psycopg.connect(postgres) as busy:
        busy.execute("SELECT count(*) FROM cairn.chunks")
        busy.execute("UPDATE cairn.files SET size = 2 WHERE shard = %s", (store.main.shard,))
        store.owner.execute("SET lock_timeout = '2s'")
        shard = add_shard(store.owner)
        busy.rollback()
        pool = add_pool(store.owner, shard)
        add_file(store.owner, 9, add_repository(store.owner, "new", pool, shard))
        with pytest.raises(InvalidRequestError, match="not a shard"):
            index_vectors(store.owner, 99)


def test_vector_index_of_one_shard_answers_its_nearest_neighbours(postgres: str) -> None:
    with team_store(postgres) as store:
        owner, shard = store.owner, store.main.shard
        owner.execute(
            "INSERT INTO cairn.vectors SELECT %s, %s, 100 + n, 1,"
            " (SELECT array_agg(sin(n * m)) FROM generate_series(1, 256) AS m)::halfvec(256)"
            " FROM generate_series(1, 2000) AS n",
            (shard, store.main.pool),
        )
        index_vectors(owner, shard)
        index_vectors(owner, shard)
        owner.execute("SET enable_seqscan = off; SET enable_sort = off")
        nearest = (
            "SELECT chunk FROM cairn.vectors WHERE shard = %s"
            " ORDER BY vector <-> array_fill(1::real, ARRAY[256])::halfvec(256) LIMIT 1"
        )
        assert f"vectors_{shard}_hnsw" in str(owner.execute("EXPLAIN " + nearest, (shard,)).fetchall())
        assert owner.execute(nearest, (shard,)).fetchone() == (1,)


def test_shard_on_another_server_holds_its_rows_there_under_the_same_policies(
    postgres: str, postgres_server: LocalServer
) -> None:
    with team_store(postgres) as store, new_database(postgres_server) as elsewhere_url:
        elsewhere = ShardServer("second", elsewhere_url)
        assert elsewhere_url not in repr(elsewhere)
        shard = add_shard(store.owner, elsewhere)
        far = add_repository(store.owner, "far", add_pool(store.owner, shard), shard)
        hidden = add_repository(store.owner, "hidden", far.pool, shard)
        add_file(store.owner, 7, far)
        add_file(store.owner, 8, hidden)
        grant(store.owner, "ann", [far.id, store.main.id])
        assert execute(elsewhere_url, f"SELECT file FROM cairn.chunks_{shard} ORDER BY file") == [(7,), (8,)]
        seen = store.seen("ann")
        assert seen["chunks"] == seen["vectors"] == seen["definitions"] == seen["files"] == {1, 2, 7}
        assert seen["terms"] == {far.id, store.main.id}
        index_vectors(store.owner, shard, elsewhere)
        assert execute(elsewhere_url, f"SELECT to_regclass('cairn.vectors_{shard}_hnsw')::text") != [(None,)]
        with pytest.raises(InvalidRequestError, match="another server"):
            index_vectors(store.owner, shard)
        shards = store.owner.execute("SELECT server FROM cairn.shards WHERE id = %s", (shard,)).fetchone()
        assert shards == ("second",)
        add_shard(store.owner, elsewhere)
