"""What other processes ask of the one that writes: rows in the index, taken up within a second.

The file is the only thing that the processes of one workspace share, so no second channel is needed.
"""

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
"""An empty file."""


class RequestKind(enum.StrEnum):
    """What can be asked."""

    REINDEX = "reindex"
    """Index a file, a directory or, with an empty path, everything anew."""
    RECONCILE = "reconcile"
    """Look for changes that nobody reported; with a path, take in what that is now, as after a save."""
    CHECK = "check"
    """Something in the index could not be read: look whether it is sound."""
    PAUSE = "pause"
    RESUME = "resume"

    @classmethod
    def _missing_(cls, value: object) -> RequestKind:
        """What only a newer Cairn knows to ask for; whoever asked waits until it is done."""
        return cls.RECONCILE


@frozen
class WaitingRequest:
    """One request as it waits."""

    id: int
    kind: RequestKind
    path: str


def leave_request(folder: Path, kind: RequestKind, *paths: str) -> int | None:
    """Ask the writer of the index in `folder`, once for each path; the latest request's id, None while there is no index.

    Raises IndexUnavailableError where the folder cannot be written, or the index is busy for seconds or damaged.
    """
    try:
        db = open_for_request(folder / DATABASE_NAME)
        if db is None:
            return None
        with contextlib.closing(db):
            db.transaction_mode = "IMMEDIATE"
            with db:
                rows = [(kind.value, path) for path in paths]
                db.executemany("INSERT INTO requests(kind, path) VALUES (?, ?)", rows)
            return int(db.last_insert_rowid())
    except UNWRITABLE as problem:
        raise unwritable(folder, problem) from problem
    except apsw.Error as problem:
        raise IndexUnavailableError(
            f"The index in {folder} takes no requests now ({problem}). Try again in a moment."
        ) from problem


def ask_for_check(folder: Path) -> None:
    """Have the index in `folder` checked, and rebuilt if it is damaged, by whoever writes it next."""
    try:
        leave_request(folder, RequestKind.CHECK, "")
    except IndexUnavailableError as problem:  # where requests lie may be what is damaged
        logger.warning("%s", problem)
        with contextlib.suppress(OSError):
            (folder / _CHECK_MARK).touch()


def check_is_marked(folder: Path) -> bool:
    """Whether a check was asked for beside the index, which could not take the request."""
    return (folder / _CHECK_MARK).exists()


def take_check_mark(folder: Path) -> bool:
    """The same; it is asked for no longer."""
    if not check_is_marked(folder):
        return False
    (folder / _CHECK_MARK).unlink(missing_ok=True)
    return True


def waiting_requests(db: apsw.Connection) -> list[WaitingRequest]:
    """The requests that nobody took up yet, oldest first."""
    rows = db.execute("SELECT id, kind, path FROM requests ORDER BY id")
    return [WaitingRequest(row[0], RequestKind(row[1]), row[2]) for row in rows]


def drop_requests(db: apsw.Connection, ids: list[int]) -> None:
    """Mark requests as done: who left them waits until they are gone."""
    if ids:
        with db:
            db.executemany("DELETE FROM requests WHERE id = ?", [(number,) for number in ids])
