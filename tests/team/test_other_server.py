"""Repositories on another server of a store: indexing them there, and answers while that server is away."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from psycopg.conninfo import make_conninfo
from tests.git_repository import GitRepository
from tests.killable_server import KillableServer
from tests.postgres import QUICK_SETTINGS, execute
from tests.serving import wait_for
from tests.team.git_repositories import assert_equal_to_checkout, harbour, index, many_files, snapshot_reader
from tests.team.team_server import LIGHTHOUSE, TeamStore

from cairn import protocol
from cairn.engine import stored
from cairn.engine.runner import CALLER, Runner
from cairn.engine.stored import StoredEngine
from cairn.errors import InvalidRequestError, PartUnavailableError, StoreUnavailableError
from cairn.index.postgres import repositories, shards
from cairn.index.postgres.transactions import Store
from cairn.team.garbage import remove_repository
from cairn.team.team_store import OwnedStore


@pytest.fixture
def second(postgres: str) -> str:
    """The URL of a database beside the store's own."""
    return postgres


@pytest.fixture
def store(prepared_postgres: str) -> TeamStore:
    return TeamStore.prepared(prepared_postgres)


def test_repository_on_another_server_equals_its_checkout(
    store: TeamStore, second: str, tmp_path: Path
) -> None:
    url_file = tmp_path / "second-url"
    url_file.write_text(second)
    url_file.chmod(0o600)
    store.owned.add_server("second", str(url_file))
    repository = harbour(tmp_path / "harbour", **many_files(20))
    done = index(store.url, repository, server="second")
    assert_equal_to_checkout(store.url, repository, "main", tmp_path)
    (shard,) = _shards(store.url, "second")
    assert execute(second, f"SELECT count(*) FROM cairn.chunks_{shard}") == [(done.chunks_new,)]

    # A later commit and a fork go to the same server by default.
    repository.write({"pier.py": "def pier_at(depth):\n    return depth\n"})
    repository.commit("A pier")
    assert index(store.url, repository).files_read == 1
    fork = repository.clone(tmp_path / "fork")
    fork.write({"crane.py": "def lift(crate):\n    return crate\n"})
    fork.commit("A crane")
    assert index(store.url, fork, name="fork").files_read == 1
    assert_equal_to_checkout(store.url, repository, "main", tmp_path)
    assert _shards(store.url, "") == []

    index(store.url, harbour(tmp_path / "lighthouse", **LIGHTHOUSE), name="lighthouse")
    for name in ("harbour", "fork"):
        remove_repository(store.url, name)
    assert execute(second, f"SELECT count(*) FROM cairn.chunks_{shard}") == [(0,)]
    assert [each.name for each in store.owned.repositories()] == ["lighthouse"]


def test_full_shard_of_another_server_is_followed_by_a_second(
    store: TeamStore, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "_FULL", 5)
    store.owned.add_server("second", second)
    index(store.url, harbour(tmp_path / "harbour"), server="second")
    lighthouse = harbour(tmp_path / "lighthouse", **LIGHTHOUSE)
    index(store.url, lighthouse, name="lighthouse", server="second")
    _, other = _shards(store.url, "second")
    assert execute(second, f"SELECT count(*) > 0 FROM cairn.chunks_{other}") == [(True,)]


def test_wrong_server_or_name_is_refused(store: TeamStore, second: str, repository: GitRepository) -> None:
    unknown = "'second' is not a server of the store; `cairn team add-server`"
    with pytest.raises(InvalidRequestError, match=unknown):
        index(store.url, repository, server="second")
    assert store.owned.repositories() == []
    with pytest.raises(InvalidRequestError, match="small letters"):
        store.owned.add_server("The second", second)
    with pytest.raises(StoreUnavailableError, match="is not a database"):
        store.owned.add_server("second", f"{second}_gone")
    store.owned.add_server("second", second)
    with pytest.raises(InvalidRequestError, match="already"):
        store.owned.add_server("second", second)
    index(store.url, repository)
    with pytest.raises(InvalidRequestError, match="is already on the store's own server"):
        index(store.url, repository, server="second")


def test_owner_without_the_right_gets_the_statements_for_an_administrator(
    store: TeamStore, second: str
) -> None:
    for statement in (
        "CREATE ROLE plain_owner LOGIN PASSWORD 'Mole-and-berth-9'",
        "GRANT ALL ON SCHEMA cairn TO plain_owner",
        "GRANT ALL ON ALL TABLES IN SCHEMA cairn TO plain_owner",
    ):
        execute(store.url, statement)
    try:
        plain = make_conninfo(store.url, user="plain_owner", password="Mole-and-berth-9")
        statements = r"CREATE EXTENSION .*; GRANT USAGE .* TO plain_owner"
        with pytest.raises(StoreUnavailableError, match=statements):
            OwnedStore(plain).add_server("second", second)
        assert _shards(store.url, "second") == []
    finally:
        execute(store.url, "DROP OWNED BY plain_owner")
        execute(store.url, "DROP ROLE plain_owner")


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped there")
def test_server_that_hangs_fails_at_once_after_the_first_time(
    store: TeamStore, server_folder: Path, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "_AWAY_SECONDS", 3600.0)
    server = _add_second_server(store, server_folder)
    index(store.url, repository, server="second")
    with snapshot_reader(store.url, "harbour", "main") as reader:
        assert (found := reader.definitions(["berth"], 10, 10))
        with _stopped(server), pytest.raises(StoreUnavailableError, match="second, that does not answer"):
            reader.definitions(["moor_ship"], 10, 10)
        with pytest.raises(StoreUnavailableError, match="second, that does not answer"):
            reader.definitions(["berth"], 10, 10)
        assert reader.memory.elsewhere is not None
        reader.memory.elsewhere._retry_at = 0.0
        assert reader.definitions(["berth"], 10, 10) == found


def test_others_are_searched_without_a_server_that_is_away(
    store: TeamStore, server_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = _add_second_server(store, server_folder)
    commit = index(store.url, harbour(tmp_path / "harbour"), server="second").commit
    for number in range(3):
        files = {"buoy.py": f"def buoy_{number}(): pass\n"}
        index(store.url, GitRepository(tmp_path / f"buoy{number}", files))
    store.owned.grant("ada", [], everything=True)
    runner = Runner(lambda: StoredEngine(Store([store.server_url])))

    def ask(query: str, workspace: str = "") -> protocol.SearchAnswer:
        answer = runner.answer("search", {"query": query}, front="rest", workspace=workspace, as_json=False)
        return cast(protocol.SearchAnswer, asyncio.run(answer))

    def folders(answer: protocol.SearchAnswer) -> set[str]:
        return {result.folder for result in answer.results}

    caller = CALLER.set("ada")
    try:
        both = {"cairn-team:///harbour", "cairn-team:///buoy1"}
        for at_once in (32, 2):
            monkeypatch.setattr(stored, "_MOST_AT_ONCE", at_once)
            for query in (f"moor_ship buoy_1 {at_once}", f"buoy_1 {at_once}"):
                answer = ask(query)
                first = answer.results[0].folder.removeprefix("cairn-team:///")
                assert answer.index.source.startswith(f"From the team's index: {first}, main at ")
            assert folders(ask(f"moor_ship buoy_1 {at_once}")) >= both
        engine = cast(StoredEngine, runner.engine)
        assert engine.locate("ada", [commit])
        server.stop()
        with pytest.raises(PartUnavailableError):  # The clone is then indexed on its own machine.
            engine.locate("ada", [commit])
        for at_once in (32, 2):
            monkeypatch.setattr(stored, "_MOST_AT_ONCE", at_once)
            for query in (f"moor_ship and buoy_1 {at_once}", f"buoy_1 and moor_ship {at_once}"):
                answer = ask(query)
                assert "cairn-team:///buoy1" in folders(answer)
                assert "cairn-team:///harbour" not in folders(answer)
                remark = " harbour is left out: the server second does not answer."
                assert answer.index.source.endswith(remark)
        away = "is on another server, second, that does not answer"
        with pytest.raises(PartUnavailableError, match=away):
            ask("where does moor_ship stand", "harbour")
        server.start()
        wait_for(lambda: folders(ask("where do moor_ship and buoy_1 stand")) >= both)
    finally:
        CALLER.reset(caller)
        runner.stop()


def _add_second_server(store: TeamStore, server_folder: Path) -> KillableServer:
    """Start a server, and add it to the store as `second`."""
    server = KillableServer(server_folder / "second", settings=QUICK_SETTINGS)
    server.start()
    execute(server.url(), "CREATE DATABASE shards")
    store.owned.add_server("second", server.url("shards"))
    return server


@contextmanager
def _stopped(server: KillableServer) -> Iterator[None]:
    processes = server.processes()
    assert processes
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def _shards(url: str, server: str) -> list[object]:
    """The ids of a server's shards; "" is the store's own server."""
    rows = execute(url, f"SELECT id FROM cairn.shards WHERE coalesce(server, '') = '{server}' ORDER BY id")
    return [number for (number,) in rows]
