"""Requests of other processes to the writing process. They are rows in the index, which the writing process
reads within a second. The processes of a workspace share that file anyway, so no other channel is needed."""

from __future__ import annotations

import contextlib
import enum
import logging
from pathlib import Path

import apsw
from attrs import frozen

from cairn.errors import IndexUnavailableError
from cairn.index.store.database import DATABASE_NAME, UNWRITABLE, open_for_request, unwritable

logger = logging.getLogger(__name__)

_CHECK_MARK = "check"
"""The name of an empty file that requests a check, as a damaged index may not be able to store requests."""


class RequestKind(enum.StrEnum):
    REINDEX = "reindex"
    """Index a file, a directory or, with an empty path, the whole folder again."""
    RECONCILE = "reconcile"
    """Compare the folder with the index and index what changed; with a path, only that file or directory."""
    CHECK = "check"
    """Check the index, because part of it could not be read."""
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
        leave_request(folder, RequestKind.CHECK, "")
    except IndexUnavailableError as problem:  # the table of requests may itself be damaged
        logger.warning("%s", problem)
        with contextlib.suppress(OSError):
            (folder / _CHECK_MARK).touch()


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
