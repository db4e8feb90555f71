"""How the processes of a workspace coordinate: the writer's lock on an index, and requests to the writer.

The lock is a file lock of the operating system, freed when the process that has it dies. A JSON file beside
it describes that process for users. Only the lock decides who writes. Requests are rows in the index, which
the writing process reads within a second. The processes share that file anyway, so no other channel is
needed.
"""

from __future__ import annotations

import contextlib
import enum
import json
import logging
import os
import re
import sys
import time
from pathlib import Path

import apsw
import filelock
from attrs import frozen

from cairn.errors import IndexUnavailableError
from cairn.index.store.database import DATABASE_NAME, UNWRITABLE, open_for_request, unwritable
from cairn.paths import write_private

logger = logging.getLogger(__name__)

_NAME = "writer.lock"
_NOTE = "writer.json"
_NOTE_BYTES = 4_096
_COMMAND = re.compile(r"[a-z]{1,20}")
_CLOCKS_DIFFER_SECONDS = 2.0
"""The system's clock and the start times of processes may disagree by this much."""


@frozen
class Holder:
    """The process that writes an index, as it describes itself."""

    pid: int
    command: str
    """`cairn` and the name of the subcommand, without its arguments."""
    since: float
    """The time in Unix seconds at which the process took the lock."""


def writer_lock(data: Path) -> filelock.BaseFileLock:
    """Return the lock of the index in the data folder `data`; acquire it without blocking."""
    return filelock.FileLock(data / _NAME, thread_local=False)


def is_locked(data: Path) -> bool:
    if not (data / _NAME).exists():
        return False
    try:
        with writer_lock(data).acquire(blocking=False):
            return False
    except filelock.Timeout:
        return True
    except OSError:  # a data folder that cannot be written has no writer
        return False


def note_holder(data: Path) -> None:
    """Describe this process in the file beside the lock. A failure is only logged."""
    command = next((word for word in sys.argv[1:2] if _COMMAND.fullmatch(word)), "")
    note = {"pid": os.getpid(), "command": f"cairn {command}".strip(), "since": time.time()}
    try:
        write_private(data / _NOTE, json.dumps(note))
    except OSError as problem:
        logger.debug("%s is not written: %s", data / _NOTE, problem)


def holder(data: Path) -> Holder | None:
    """Return the process that the file beside the lock describes; None if it ended or the file is invalid."""
    try:
        with (data / _NOTE).open("rb") as file:
            note = json.loads(file.read(_NOTE_BYTES))
        found = Holder(note["pid"], note["command"], float(note["since"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_sound = isinstance(found.pid, int) and isinstance(found.command, str)
    return found if is_sound and was_alive_at(found.pid, found.since) else None


def was_alive_at(pid: int, moment: float) -> bool:
    """Return whether the process with this id started before `moment`: the system reuses process ids."""
    import psutil  # the import takes 30 ms

    try:
        return bool(psutil.Process(pid).create_time() <= moment + _CLOCKS_DIFFER_SECONDS)
    except (psutil.AccessDenied, OSError):  # a process of another user, or a system that does not say
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False


_CHECK_MARK = "check"
"""The name of an empty file that requests a check, because a damaged index may not take requests."""


class RequestKind(enum.StrEnum):
    REINDEX = "reindex"
    """Index a file, a directory or, with an empty path, the whole folder again."""
    RECONCILE = "reconcile"
    """Compare the folder with the index and index what changed; with a path, only that file or directory."""
    PAUSE = "pause"
    RESUME = "resume"

    @classmethod
    def _missing_(cls, value: object) -> RequestKind:
        """Treat a kind of a newer Cairn as RECONCILE, because its sender waits until it is done."""
        return cls.RECONCILE


@frozen
class WaitingRequest:
    id: int
    kind: RequestKind
    path: str


def leave_request(folder: Path, kind: RequestKind, *paths: str) -> int | None:
    """Leave one request for each path; return the latest id, or None while `folder` has no index.

    Raises IndexUnavailableError if the folder cannot be written, or if the index is damaged or busy for
    seconds.
    """
    try:
        db = open_for_request(folder / DATABASE_NAME)
        if db is None:
            return None
        with contextlib.closing(db):
            db.execute("BEGIN IMMEDIATE")  # `with db` would keep the GIL while it waits for the lock
            rows = [(kind.value, path) for path in paths]
            db.executemany("INSERT INTO requests(kind, path) VALUES (?, ?)", rows)
            db.execute("COMMIT")
            return int(db.last_insert_rowid())
    except UNWRITABLE as problem:
        raise unwritable(folder, problem) from problem
    except apsw.Error as problem:
        raise IndexUnavailableError(
            f"The index in {folder} takes no requests now ({problem}). Try again soon."
        ) from problem


def ask_for_check(folder: Path) -> None:
    """Make the next writer of the index in `folder` check it, and rebuild it if it is damaged."""
    try:
        (folder / _CHECK_MARK).touch()
    except OSError as problem:
        logger.warning("The index in %s cannot be marked for a check: %s", folder, problem)


def check_is_marked(folder: Path) -> bool:
    """Return whether `ask_for_check` left its file beside the index."""
    return (folder / _CHECK_MARK).exists()


def take_check_mark(folder: Path) -> bool:
    """Remove the file that requests a check; return whether there was one."""
    if not check_is_marked(folder):
        return False
    (folder / _CHECK_MARK).unlink(missing_ok=True)
    return True


def waiting_requests(db: apsw.Connection) -> list[WaitingRequest]:
    """Return the requests, oldest first."""
    rows = db.execute("SELECT id, kind, path FROM requests ORDER BY id")
    return [WaitingRequest(row[0], RequestKind(row[1]), row[2]) for row in rows]


def drop_requests(db: apsw.Connection, ids: list[int]) -> None:
    """Delete completed requests. Their senders wait for that."""
    if ids:
        with db:
            db.executemany("DELETE FROM requests WHERE id = ?", [(number,) for number in ids])
