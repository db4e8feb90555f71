"""The trial's PostgreSQL server: starting, stopping, crashes, its folder, and failures."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from tests.killable_server import KillableServer
from tests.postgres import QUICK_SETTINGS, execute, servers_folder

from cairn.errors import TeamError
from cairn.team import postgres_programs
from cairn.team.trial import HOST, LocalServer, trial_server


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


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """The folder of a server whose cluster exists, and which each test starts."""
    with servers_folder() as folder:
        KillableServer(folder / "one", settings=QUICK_SETTINGS).start()
        yield folder / "one"


@pytest.fixture
def server(cluster: Path) -> Iterator[KillableServer]:
    server = KillableServer(cluster, settings=QUICK_SETTINGS)
    server.stop()
    yield server
    server.kill()


def test_killed_server_starts_again_with_committed_rows(server: KillableServer) -> None:
    server.start()
    url = server.url()
    execute(url, "CREATE TABLE kept AS SELECT 1 AS a")
    server.kill()
    assert not server.running()
    with pytest.raises(psycopg.OperationalError):
        execute(url, "SELECT 1")
    server.start()
    assert server.url() == url
    assert execute(url, "TABLE kept") == [(1,)]


def test_folder_with_other_files_is_refused_and_unchanged(server_folder: Path) -> None:
    note = server_folder / "project" / "note.txt"
    note.parent.mkdir()
    note.write_text("mine")
    with pytest.raises(TeamError, match=r"not of a server of Cairn\. Give a new or empty folder"):
        LocalServer(note.parent).start()
    assert [entry.name for entry in note.parent.iterdir()] == ["note.txt"]
    with pytest.raises(TeamError, match="is not a folder"):
        LocalServer(note).start()
    with pytest.raises(TeamError, match="Start one first"):
        LocalServer(server_folder / "none").url()


for_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root runs it as another user"
)


@for_root
def test_folder_that_the_server_cannot_reach_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(TeamError, match=r"cannot reach .* Give a folder below one that every user can enter"):
        LocalServer(tmp_path / "one").start()


@for_root
def test_programs_that_the_account_cannot_reach_are_copied(
    server: KillableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_programs.Account, "can_reach", lambda _, path: path.name != "initdb")
    server.start()
    assert execute(server.url(), "SELECT 1") == [(1,)]
    main = psutil.Process(int((server.folder / "data" / "postmaster.pid").read_text().splitlines()[0]))
    assert Path(main.exe()).is_relative_to(server.folder / "programs")


def test_database_of_another_major_version_is_refused(server_folder: Path) -> None:
    data = server_folder / "one" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(TeamError, match="made by PostgreSQL 9, and PostgreSQL 18 is installed"):
        LocalServer(server_folder / "one").start()


def test_last_port_that_is_taken_is_avoided(server: KillableServer) -> None:
    port = server.port
    with socket.socket() as taken:
        if sys.platform != "win32":  # Connections to the server that was stopped may keep its port.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((HOST, port))
        taken.listen()
        server.start()
    assert server.port != port
    assert execute(server.url(), "SELECT 1") == [(1,)]


def test_bad_setting_is_reported_with_the_message_of_postgresql(server: KillableServer) -> None:
    wrong = LocalServer(server.folder, settings={**QUICK_SETTINGS, "shared_buffers": "many 'MB'"})
    with pytest.raises(TeamError, match=r'invalid value for parameter "shared_buffers": "many \'MB\'"'):
        wrong.start()
    assert not wrong.running()


def test_trial_folder_is_the_data_folder_where_the_server_can_reach_it(
    tmp_path: Path, server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(server_folder / "data"))
    assert trial_server().folder == server_folder / "data" / "team-trial"
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / "data"))
    is_root = sys.platform != "win32" and os.geteuid() == 0
    expected = "/var/lib/cairn/team-trial" if is_root else tmp_path / "data" / "team-trial"
    assert trial_server().folder == Path(expected)
