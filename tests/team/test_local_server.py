"""A PostgreSQL server on this machine: starting, stopping, crashing, copying, and failures."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
from tests.postgres import QUICK_SETTINGS, execute

from cairn.errors import TeamError
from cairn.team import postgres_programs
from cairn.team.local_server import HOST, LocalServer


def make_server(folder: Path, **options: object) -> LocalServer:
    return LocalServer(folder, settings=QUICK_SETTINGS, **options)  # type: ignore[arg-type]


def wait_for(url: str, query: str, wanted: object, seconds: float = 20.0) -> None:
    """Wait for the query's single value."""
    deadline = time.monotonic() + seconds
    while (found := execute(url, query)[0][0]) != wanted:
        assert time.monotonic() < deadline, f"{query}: {found}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("SHOW server_encoding", "UTF8"),
        ("SELECT lower('ÄŁ')", "äł"),
        ("SHOW maintenance_work_mem", QUICK_SETTINGS["maintenance_work_mem"]),
        ("SHOW jit", "off"),
        ("SHOW listen_addresses", HOST),
        ("SHOW unix_socket_directories", ""),
    ],
)
def test_server_has_its_settings_and_unicode(postgres_server: LocalServer, query: str, value: str) -> None:
    assert execute(postgres_server.url(), query) == [(value,)]


def test_server_requires_the_password(postgres_server: LocalServer) -> None:
    url = postgres_server.url()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        execute(url.replace(postgres_server.password, "guess"), "SELECT 1")
    password = postgres_server.folder / "password"
    assert sys.platform == "win32" or stat.S_IMODE(password.stat().st_mode) == 0o600


@pytest.fixture
def server(server_folder: Path) -> LocalServer:
    return make_server(server_folder / "one")


def test_server_stops_and_starts_again_with_its_data_and_port(server: LocalServer) -> None:
    assert not server.running()
    server.start()
    execute(server.url(), "CREATE TABLE kept AS SELECT 1 AS a")
    url = server.url()
    server.start()
    assert server.url() == url

    server.stop()
    assert not server.running()
    server.stop()
    with pytest.raises(psycopg.OperationalError):
        execute(url, "SELECT 1")

    again = make_server(server.folder)
    again.start()
    assert again.url() == url
    assert execute(url, "TABLE kept") == [(1,)]
    server.restart()
    assert execute(url, "TABLE kept") == [(1,)]


def test_killed_server_starts_again_with_committed_rows(server: LocalServer) -> None:
    server.start()
    execute(server.url(), "CREATE TABLE kept AS SELECT 1 AS a")
    with psycopg.connect(server.url()) as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
        processes = [p for p in psutil.process_iter() if str(server.folder) in " ".join(cmdline(p))]
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert processes
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
    assert not server.running()
    server.kill()

    server.start()
    assert execute(server.url(), "TABLE kept") == [(1,)]


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_replica_follows_lags_and_is_promoted(server_folder: Path) -> None:
    primary = make_server(server_folder / "primary")
    primary.start()
    execute(primary.url(), "CREATE TABLE followed AS SELECT 1 AS a")
    replica = primary.make_replica(server_folder / "replica")
    replica.start()
    assert replica.port != primary.port
    assert execute(replica.url(), "TABLE followed") == [(1,)]
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        execute(replica.url(), "INSERT INTO followed VALUES (0)")

    execute(replica.url(), "SELECT pg_wal_replay_pause()")
    wait_for(replica.url(), "SELECT pg_get_wal_replay_pause_state()", "paused")
    execute(primary.url(), "INSERT INTO followed VALUES (2)")
    assert execute(replica.url(), "SELECT count(*) FROM followed") == [(1,)]
    execute(replica.url(), "SELECT pg_wal_replay_resume()")
    wait_for(replica.url(), "SELECT count(*) FROM followed", 2)

    primary.kill()
    assert execute(replica.url(), "SELECT count(*) FROM followed") == [(2,)]
    replica.promote()
    execute(replica.url(), "INSERT INTO followed VALUES (3)")
    assert execute(replica.url(), "SELECT pg_is_in_recovery(), count(*) FROM followed") == [(False, 3)]


def test_replica_catches_up_after_its_primary_restarts(server_folder: Path) -> None:
    primary = make_server(server_folder / "primary")
    primary.start()
    replica = primary.make_replica(
        server_folder / "replica", settings={"wal_retrieve_retry_interval": "100ms"}
    )
    replica.start()
    primary.kill()
    primary.start()
    execute(primary.url(), "CREATE TABLE later AS SELECT 1 AS a")
    wait_for(replica.url(), "SELECT to_regclass('later')::text", "later")
    with pytest.raises(TeamError, match="holds a database already"):
        primary.make_replica(server_folder / "replica")

    primary.stop()
    with pytest.raises(TeamError, match=r"could not be made.*Connection refused"):
        primary.make_replica(server_folder / "other")


def test_folder_with_other_files_is_refused_and_unchanged(server_folder: Path) -> None:
    note = server_folder / "project" / "note.txt"
    note.parent.mkdir()
    note.write_text("mine")
    with pytest.raises(TeamError, match=r"not of a server of Cairn\. Give a new or empty folder"):
        make_server(note.parent).start()
    assert [entry.name for entry in note.parent.iterdir()] == ["note.txt"]
    with pytest.raises(TeamError, match="is not a folder"):
        make_server(note).start()
    with pytest.raises(TeamError, match="Start one first"):
        make_server(server_folder / "none").url()


for_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root runs it as another user"
)


@for_root
def test_folder_that_the_server_cannot_reach_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(TeamError, match=r"cannot reach .* Give a folder below one that every user can enter"):
        make_server(tmp_path / "one").start()


@for_root
def test_programs_that_the_account_cannot_reach_are_copied(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_programs.Account, "can_reach", lambda _, path: path.name != "initdb")
    server.start()
    assert execute(server.url(), "SELECT 1") == [(1,)]
    main = psutil.Process(int((server.folder / "data" / "postmaster.pid").read_text().splitlines()[0]))
    assert Path(main.exe()).is_relative_to(server.folder / "programs")


def test_database_of_another_major_version_is_refused(server: LocalServer) -> None:
    data = server.folder / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(TeamError, match="made by PostgreSQL 9, and PostgreSQL 18 is installed"):
        server.start()


def test_chosen_port_that_is_taken_is_refused_and_any_other_avoided(server_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TeamError, match=f"Port {port} of 127.0.0.1 is taken by another program"):
            make_server(server_folder / "one", port=port).start()
        (server_folder / "one" / "port").write_text(str(port))
        server = make_server(server_folder / "one")
        server.start()
        assert server.port != port
        assert execute(server.url(), "SELECT 1") == [(1,)]


def test_bad_setting_is_reported_with_the_message_of_postgresql(server_folder: Path) -> None:
    server = LocalServer(server_folder / "one", settings={**QUICK_SETTINGS, "shared_buffers": "many 'MB'"})
    with pytest.raises(TeamError, match=r'invalid value for parameter "shared_buffers": "many \'MB\'"'):
        server.start()
    assert not server.running()


@pytest.mark.parametrize("outlive", [False, True])
def test_server_ends_with_its_process_unless_it_may_outlive_it(server: LocalServer, outlive: bool) -> None:
    program = (
        "import pathlib, sys\n"
        "from cairn.team.local_server import LocalServer\n"
        f"LocalServer(pathlib.Path(sys.argv[1]), settings={QUICK_SETTINGS!r}).start(outlive={outlive})\n"
    )
    subprocess.run([sys.executable, "-c", program, str(server.folder)], check=True, timeout=60)
    assert server.running() is outlive
    if outlive:
        # A process that finds it running does not stop it either.
        subprocess.run([sys.executable, "-c", program, str(server.folder)], check=True, timeout=60)
        assert execute(server.url(), "SELECT 1") == [(1,)]
