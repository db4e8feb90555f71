"""Keep the runs of team indexing apart: by locks in the team's database, and by temporary folders.

The locks serialise the runs of a repository or of a pool. A lock belongs to a connection and ends with it,
however the process ended. To avoid deadlocks, all runs take locks in the same order: the repository's name,
its root commits, its pool.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
from filelock import FileLock, Timeout
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from cairn.index.postgres.failures import explained, place
from cairn.index.postgres.team_schema import check_version
from cairn.paths import data_dir, private_folder

Progress = Callable[[str], None]
"""The type of a function that receives a sentence about each step of a run."""

_NOTICES_LOSS: Mapping[str, int] = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Options that end a run within a minute after a machine vanished (in s; `tcp_user_timeout` in ms)."""

# A run may wait for locks for long, and its connection is idle while the run reads files.
_PATIENT = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout', 'transaction_timeout')
"""


@contextmanager
def owner_connection(url: str, name: str) -> Iterator[Connection[TupleRow]]:
    """Connect as the store's owner in autocommit mode. The locks of a run end with its connection."""
    where = place(url)
    given = conninfo_to_dict(url)
    missing = {option: value for option, value in _NOTICES_LOSS.items() if option not in given}
    conninfo = make_conninfo(url, application_name=name, **missing)
    with explained(where), psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(_PATIENT)
        check_version(connection)
        yield connection


@contextmanager
def locked(
    connection: Connection[TupleRow], keys: Iterable[str], waiting: str, progress: Progress
) -> Iterator[None]:
    """Take these locks in order. Report `waiting` as progress if another run has one of them."""
    taken: list[str] = []
    try:
        for key in keys:
            found = connection.execute(
                "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (key,)
            ).fetchone()
            if found is None or not found[0]:
                progress(waiting)
                connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (key,))
            taken.append(key)
        yield
    finally:
        if not connection.closed and not connection.broken:
            for key in reversed(taken):
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (key,))


def repository_lock(name: str) -> str:
    return f"cairn.repository {name}"


def root_lock(commit: str) -> str:
    """Return the key of the lock for all repositories with this root commit."""
    return f"cairn.root {commit}"


def pool_lock(pool: int) -> str:
    return f"cairn.pool {pool}"


# --- temporary folders ------------------------------------------------------------------------------


def team_dir() -> Path:
    """Return the folder for clones and temporary folders of team indexing."""
    return data_dir() / "team"


@contextmanager
def work_folder() -> Iterator[Path]:
    """Create an empty folder for this run, and delete it at the end. First delete those of killed runs."""
    parent = team_dir() / "work"
    private_folder(parent)
    for left in parent.glob("*.lock"):
        _delete_if_left(left)
    folder = parent / secrets.token_hex(8)
    lock = FileLock(folder.with_suffix(".lock"))
    with lock:
        private_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            Path(lock.lock_file).unlink(missing_ok=True)


def _delete_if_left(lock_file: Path) -> None:
    """Delete a run's folder unless the run still has its lock, which ends with its process."""
    try:
        with FileLock(lock_file, timeout=0):
            shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
            lock_file.unlink(missing_ok=True)
    except Timeout:
        return
