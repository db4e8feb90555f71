"""A team's store in a database of its own, and real servers of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from attrs import frozen
from tests.data_folder import create_data_dir
from tests.postgres import new_database
from tests.serving import PATIENCE_SECONDS, Served

from cairn.index.postgres.access import issue_token
from cairn.index.postgres.team_schema import prepare
from cairn.team.team_store import OwnedStore
from cairn.team.trial import LocalServer

LOGIN, PASSWORD = "cairn_test_server", "Mole-and-berth-7"
"""The servers' login."""

LIGHTHOUSE = {
    "README.md": "# Lighthouse\n\nThe lighthouse warns ships of the reef by a lamp that turns.\n",
    "src/lighthouse/lamp.py": '''"""The lamp."""


def kindle_lamp(fog: float) -> float:
    """How bright the lamp has to burn through the fog."""
    return 400 + 12 * fog


def keeper_rota(keepers):
    """Who keeps the lamp burning in which night."""
    return [kindle_lamp(0) for _ in keepers]
''',
}
"""The files of a repository that only some readers may see."""


@frozen
class TeamStore:
    """A prepared database, with the URLs of its owner and of the servers' login."""

    url: str
    server_url: str

    @classmethod
    def prepared(cls, url: str) -> TeamStore:
        with psycopg.connect(url, autocommit=True) as connection, suppress(psycopg.errors.DuplicateObject):
            connection.execute(f"CREATE ROLE {LOGIN} LOGIN PASSWORD '{PASSWORD}'".encode())
        OwnedStore(url).prepare(LOGIN)
        return cls(url, with_login(url))

    @property
    def owned(self) -> OwnedStore:
        return OwnedStore(self.url)

    def reader(self, name: str, *repositories: str, everything: bool = False) -> str:
        """Let a reader see these repositories, and return a new token of the reader."""
        self.owned.grant(name, repositories, everything=everything)
        return self.owned.token(name)

    def expiring_token(self, reader: str, seconds: float) -> str:
        """A token that expires after `seconds`."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            token = issue_token(connection, reader)
            connection.execute(
                "UPDATE cairn.tokens SET expires_at = now() + make_interval(secs => %s)"
                " WHERE hash = sha256(%s::bytea)",
                (seconds, token.encode()),
            )
        return token


@contextmanager
def own_store(server: LocalServer, folder: Path) -> Iterator[TeamStore]:
    """A prepared store in a database of its own, in the environment of `machine(folder)`."""
    with on_machine(folder), new_database(server, prepare) as url:
        yield TeamStore.prepared(url)


@contextmanager
def on_machine(folder: Path) -> Iterator[None]:
    """Give this process the environment of `machine(folder)`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in machine(folder).items():
            patch.setenv(name, value)
        yield


def with_login(url: str) -> str:
    """The URL of the same database for the servers' login."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{LOGIN}:{quote(PASSWORD)}@{parts.hostname}:{parts.port}"))


@contextmanager
def team_serving(
    *stores: str,
    log: Path,
    command: tuple[str, ...] = ("serve",),
    port: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """A running `cairn serve --store`.

    It must end cleanly, and its log has no tracebacks and no passwords.
    """
    arguments = ["--json", "--port", str(port), "--lsp-port", "0"]
    arguments += [argument for store in stores for argument in ("--store", store)]
    with log.open("ab") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "cairn", *command, *arguments],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env={**os.environ, **(environment or {})},
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"it ended with {process.wait(PATIENCE_SECONDS)}: {log.read_text()}"
        served = Served(process, json.loads(line), "")
        yield served
        if process.poll() is None:
            assert served.end() == 0
        logged = log.read_text()
        assert "Traceback" not in logged
        assert PASSWORD not in logged
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def machine(folder: Path) -> dict[str, str]:
    """The environment of a machine without indexes and settings, but with caches for quick starts."""
    if not (folder / "data").exists():
        create_data_dir(folder / "data")
    return {"CAIRN_DATA_DIR": str(folder / "data"), "CAIRN_CONFIG_DIR": str(folder / "config")}
