"""The trial server: PostgreSQL on this machine with one database for a team store, until it is taken down.

It is for trying the team store out without setting PostgreSQL up, and keeps its data when it is down.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from attrs import frozen

from cairn.errors import TeamError
from cairn.paths import data_dir
from cairn.team.local_server import LocalServer
from cairn.team.postgres_programs import INSTALL_COMMAND, server_account

DATABASE = "cairn"
_FOLDER_OF_ROOT = Path("/var/lib/cairn/team-trial")


@frozen
class TrialState:
    """What there is of the trial server in one folder."""

    folder: Path
    exists: bool
    """Whether the folder holds a database, running or not."""
    running: bool
    url: str | None
    """The connection URL with the password in it, the same when the server is up again; None where `exists` is false."""
    log: Path
    """The file that PostgreSQL writes its messages to; it may be missing."""


def trial_folder() -> Path:
    """Where the trial server lies: in the data folder, or for root, whose data folder is closed to it, in /var/lib."""
    folder = data_dir() / "team-trial"
    account = server_account()
    if account is None:
        return folder
    nearest = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    return folder if account.can_reach(nearest) else _FOLDER_OF_ROOT


def up(folder: Path) -> TrialState:
    """Make what is missing of the server and its database, and start it; it keeps running after this process.

    Raises TeamError where the extra `team-trial` is not installed or PostgreSQL does not start.
    """
    server = LocalServer(folder)
    server.start(outlive=True)
    _make_database(server)
    return state(folder)


def down(folder: Path) -> TrialState:
    """Stop the server, and keep its data; without effect where it does not run."""
    LocalServer(folder).stop()
    return state(folder)


def state(folder: Path) -> TrialState:
    """What there is of the server. Starts and changes nothing."""
    server = LocalServer(folder)
    return TrialState(
        folder=server.folder,
        exists=server.exists,
        running=server.running(),
        url=server.url(DATABASE) if server.exists else None,
        log=server.log,
    )


def _make_database(server: LocalServer) -> None:
    try:
        import psycopg  # Only who has the extra has it.
    except ImportError as problem:
        raise TeamError(
            f"The PostgreSQL client is not installed for Cairn. Install it with `{INSTALL_COMMAND}`."
        ) from problem
    # The database is there since an earlier start, most often.
    with (
        psycopg.connect(server.url(), autocommit=True) as connection,
        suppress(psycopg.errors.DuplicateDatabase),
    ):
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    with psycopg.connect(server.url(DATABASE), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
