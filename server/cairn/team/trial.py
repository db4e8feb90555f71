"""The trial server: PostgreSQL on this machine with a database for a team store.

It serves to try the team store without setting up PostgreSQL. It keeps its data when it is stopped.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from attrs import frozen

from cairn.paths import data_dir
from cairn.team.local_server import LocalServer
from cairn.team.postgres_programs import server_account

DATABASE = "cairn"
_FOLDER_OF_ROOT = Path("/var/lib/cairn/team-trial")


@frozen
class TrialState:
    folder: Path
    exists: bool
    """Whether the folder has a database, running or not."""
    running: bool
    url: str | None
    """The connection URL with the password, which restarts do not change; None if `exists` is false."""
    log: Path
    """PostgreSQL's log file, which may be missing."""


def trial_folder() -> Path:
    """Return the server's folder, in the data folder or, if its account cannot enter that, in /var/lib."""
    data = data_dir()
    account = server_account()
    nearest = next(path for path in data.resolve().parents if path.exists())
    return data / "team-trial" if account is None or account.can_enter(nearest) else _FOLDER_OF_ROOT


def up(folder: Path) -> TrialState:
    """Start the server, which outlives this process, and create its database if it is missing.

    Raise TeamError if the extra `team-trial` is not installed or PostgreSQL does not start.
    """
    server = LocalServer(folder)
    server.start(outlive=True)
    _make_database(server)
    return state(folder)


def down(folder: Path) -> TrialState:
    """Stop the server if it runs, and keep its data."""
    LocalServer(folder).stop()
    return state(folder)


def state(folder: Path) -> TrialState:
    server = LocalServer(folder)
    return TrialState(
        folder=server.folder,
        exists=server.exists,
        running=server.running(),
        url=server.url(DATABASE) if server.exists else None,
        log=server.log,
    )


def _make_database(server: LocalServer) -> None:
    import psycopg  # The import is here because stopping the trial must work without psycopg.

    with (
        psycopg.connect(server.url(), autocommit=True) as connection,
        suppress(psycopg.errors.DuplicateDatabase),
    ):
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    with psycopg.connect(server.url(DATABASE), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
