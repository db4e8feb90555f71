"""Repositories whose rows lie on another server: how they get there, and what is told when that server is away."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.postgres import QUICK_SETTINGS, execute, new_database
from tests.serving import until
from tests.team.git_repositories import (
    GitRepository,
    assert_equal_to_checkout,
    harbour,
    index,
    many_files,
    snapshot_reader,
)
from tests.team.team_server import LIGHTHOUSE, TeamStore

from cairn import protocol
from cairn.engine import stored
from cairn.engine.runner import CALLER, Runner
from cairn.engine.stored import StoredEngine
from cairn.errors import InvalidRequestError, PartUnavailableError, StoreUnavailableError
from cairn.index.postgres import other_server, repositories
from cairn.index.postgres.connection import Store
from cairn.team.garbage import remove_repository
from cairn.team.local_server import LocalServer
from cairn.team.store import OwnedStore


@pytest.fixture
def second(postgres_server: LocalServer) -> Iterator[str]:
    """The URL of a database beside the store's own."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture
def store(postgres: str) -> TeamStore:
    return TeamStore.prepared(postgres)


def test_repository_on_another_server_is_that_of_its_checkout(
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

    # A later commit, and a fork, need not say where.
    repository.write({"pier.py": "def pier_at(depth):\n    return depth\n"})
    repository.commit("A pier")
    assert index(store.url, repository).files_read == 1
    fork = repository.clone(tmp_path / "fork")
    fork.write({"crane.py": "def lift(crate):\n    return crate\n"})
    fork.commit("A crane")
    assert index(store.url, fork, name="fork").files_read == 1
    assert_equal_to_checkout(store.url, repository, "main", tmp_path)
    assert _shards(store.url, None) == []

    index(store.url, harbour(tmp_path / "lighthouse", **LIGHTHOUSE), name="lighthouse")
    for name in ("harbour", "fork"):
        remove_repository(store.url, name)
    assert execute(second, f"SELECT count(*) FROM cairn.chunks_{shard}") == [(0,)]
    assert [each.name for each in store.owned.repositories()] == ["lighthouse"]


def test_another_shard_is_made_there_when_the_first_is_full(
    store: TeamStore, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "_FULL", 5)
    store.owned.add_server("second", second)
    index(store.url, harbour(tmp_path / "harbour"), server="second")
    lighthouse = harbour(tmp_path / "lighthouse", **LIGHTHOUSE)
    index(store.url, lighthouse, name="lighthouse", server="second")
    _, other = _shards(store.url, "second")
    assert execute(second, f"SELECT count(*) > 0 FROM cairn.chunks_{other}") == [(True,)]


def test_what_cannot_be_is_said(store: TeamStore, second: str, tmp_path: Path) -> None:
    repository = harbour(tmp_path / "harbour")
    with pytest.raises(
        InvalidRequestError, match="'second' is not a server of the store; `cairn team add-server`"
    ):
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
    with pytest.raises(InvalidRequestError, match="lies on the store's own server already"):
        index(store.url, repository, server="second")


def test_owner_without_the_right_is_told_what_an_administrator_runs(store: TeamStore, second: str) -> None:
    for statement in (
        "CREATE ROLE plain_owner LOGIN PASSWORD 'Mole-and-berth-9'",
        "GRANT ALL ON SCHEMA cairn TO plain_owner",
        "GRANT ALL ON ALL TABLES IN SCHEMA cairn TO plain_owner",
    ):
        execute(store.url, statement)
    try:
        plain = make_conninfo(store.url, user="plain_owner", password="Mole-and-berth-9")
        with pytest.raises(
            StoreUnavailableError, match=r"CREATE EXTENSION .*; GRANT USAGE .* TO plain_owner"
        ):
            OwnedStore(plain).add_server("second", second)
        assert _shards(store.url, "second") == []
    finally:
        execute(store.url, "DROP OWNED BY plain_owner")
        execute(store.url, "DROP ROLE plain_owner")


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped there")
def test_server_that_hangs_is_told_at_once_after_the_first_time(
    store: TeamStore, server_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_server, "_AWAY_SECONDS", 3600.0)
    server = _with_second_server(store, server_folder)
    index(store.url, harbour(tmp_path / "harbour"), server="second")
    with snapshot_reader(store.url, "harbour", "main") as reader:
        assert (found := reader.definitions(["berth"], 10, 10, lambda: False))
        with _stopped(server), pytest.raises(StoreUnavailableError, match="second, that does not answer"):
            reader.definitions(["moor_ship"], 10, 10, lambda: False)
        # It is not even asked now.
        with pytest.raises(StoreUnavailableError, match="second, that does not answer"):
            reader.definitions(["berth"], 10, 10, lambda: False)
        assert reader.memory.elsewhere is not None
        reader.memory.elsewhere._retry_at = 0.0
        assert reader.definitions(["berth"], 10, 10, lambda: False) == found


@pytest.mark.parametrize("at_once", [32, 2])
def test_others_are_asked_without_what_is_away(
    store: TeamStore, server_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(stored, "_MOST_AT_ONCE", at_once)
    server = _with_second_server(store, server_folder)
    commit = index(store.url, harbour(tmp_path / "harbour"), server="second").commit
    for number in range(3):
        index(
            store.url, GitRepository(tmp_path / f"buoy{number}", {"buoy.py": f"def buoy_{number}(): pass\n"})
        )
    store.owned.grant("ada", [], everything=True)
    runner = Runner(lambda: StoredEngine(Store([store.server_url])))

    async def search(query: str, workspace: str = "") -> protocol.SearchAnswer:
        found: protocol.SearchAnswer = await runner.answer(
            "search", {"query": query}, front="rest", workspace=workspace, as_json=False
        )
        return found

    def ask(query: str, workspace: str = "") -> protocol.SearchAnswer:
        return asyncio.run(search(query, workspace))

    def folders(answer: protocol.SearchAnswer) -> set[str]:
        return {result.folder for result in answer.results}

    caller = CALLER.set("ada")
    try:
        both = {"cairn-team:///harbour", "cairn-team:///buoy1"}
        for question in ("moor_ship buoy_1", "buoy_1"):
            answer = ask(question)
            first = answer.results[0].folder.removeprefix("cairn-team:///")
            assert answer.index.source.startswith(f"From the team's index: {first}, main at ")
        assert folders(ask("moor_ship buoy_1")) >= both
        engine = cast(StoredEngine, runner.engine)
        assert engine.locate("ada", [commit])
        server.stop()
        with pytest.raises(PartUnavailableError):  # so that a clone is indexed where it lies
            engine.locate("ada", [commit])
        for question in ("moor_ship and buoy_1", "buoy_1 and moor_ship"):
            answer = ask(question)
            assert "cairn-team:///buoy1" in folders(answer)
            assert "cairn-team:///harbour" not in folders(answer)
            said = " harbour is left out: the server second does not answer."
            assert answer.index.source.endswith(said)
        with pytest.raises(
            PartUnavailableError, match="lies on another server, second, that does not answer"
        ):
            ask("where does moor_ship stand", "harbour")
        server.start()
        until(lambda: folders(ask("where do moor_ship and buoy_1 stand")) >= both)
    finally:
        CALLER.reset(caller)
        runner.stop()


def _with_second_server(store: TeamStore, server_folder: Path) -> LocalServer:
    """A server that the store has as `second`."""
    server = LocalServer(server_folder / "second", settings=QUICK_SETTINGS)
    server.start()
    execute(server.url(), "CREATE DATABASE shards")
    store.owned.add_server("second", server.url("shards"))
    return server


@contextmanager
def _stopped(server: LocalServer) -> Iterator[None]:
    main = server._main_process()
    assert main is not None
    processes: list[psutil.Process] = [main, *main.children(recursive=True)]
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def _shards(url: str, server: str | None) -> list[int]:
    with psycopg.connect(url) as owner:
        rows = owner.execute(
            "SELECT id FROM cairn.shards WHERE server IS NOT DISTINCT FROM %s ORDER BY id", (server,)
        )
        return [int(number) for (number,) in rows]
