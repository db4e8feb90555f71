"""Stores which results were opened, copied, or rated as helpful or unhelpful, in a file beside the index.

The file cannot be rebuilt from the workspace, so resetting or rebuilding the index leaves it alone. It never
leaves the machine. For each choice it contains the stems of the query's words, but not the query, and the
path and hash of the passage.

Every process that has the folder open may write the file at any time, in one short transaction.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import apsw
import filelock
from attrs import frozen

from cairn.errors import CairnError
from cairn.index.store.database import remove_set_aside, set_aside
from cairn.operations.places import require_directory
from cairn.paths import private_folder, workspace_dir
from cairn.protocol.status_messages import FeedbackAction
from cairn.retrieval.feedback_values import DAY_S, Choice, Learned, learn

logger = logging.getLogger(__name__)

T = TypeVar("T")

FEEDBACK_NAME = "feedback.db"
MOST_CHOICES = 4_000
"""The maximum number of stored rows: ten choices a day for a year. Choices of that age weigh 0.5 ** 12."""

_VERSION = 1
_WRITE_MS = 5_000
_READ_MS = 50
"""How many ms a search waits for another process's write, before it uses the choices read earlier."""
_SETTLED_NS = 2_000_000_000
"""The coarsest resolution of file times in any file system, in nanoseconds."""

_SCHEMA = f"""
CREATE TABLE choices(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    stems TEXT NOT NULL,
    path TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    action TEXT NOT NULL
) STRICT;
CREATE TABLE state(generation INTEGER NOT NULL) STRICT;
PRAGMA user_version = {_VERSION};
"""
# `at` is in Unix seconds; `stems` are sorted and separated by spaces. The first generation is the time, in
# nanoseconds, when the file was created, so that a new file never repeats a generation of an earlier one.

_DAMAGE = (apsw.NotADBError, apsw.CorruptError)
_Identity = tuple[int, int, int, int]


class FeedbackUnavailableError(CairnError):
    """The feedback file cannot be written or read."""


@frozen
class FileChoices:
    path: str
    counts: dict[FeedbackAction, int]
    latest: datetime.datetime
    """The time of the latest action, in UTC."""


class FeedbackStore:
    """The choices of one workspace folder. Thread-safe."""

    def __init__(self, data: Path, clock: Callable[[], float] = time.time) -> None:
        """Use the file in the data folder `data`. `clock` returns Unix seconds."""
        self.path = data / FEEDBACK_NAME
        self._damaged: str | None = None
        """What was done with a damaged file; None if no file was damaged."""
        self._problem: str | None = None
        """Why the latest read failed; None if it succeeded."""
        self._clock = clock
        self._reading = threading.Lock()
        self._learned: Learned | None = None
        """The result of the latest read."""
        self._read: tuple[_Identity | None, int] | None = None
        """The file's identity and the day of the latest read; None if the file must be read again."""

    @property
    def remark(self) -> str | None:
        """Why the file is not used, or what was done with a damaged one; None if neither."""
        return self._problem or self._damaged

    def add(
        self, stems: Collection[str], paths: Iterable[str], content_hash: str, action: FeedbackAction
    ) -> None:
        """Store the action on a passage in `paths`. Raise FeedbackUnavailableError if that fails."""
        now = int(self._clock())
        query = " ".join(sorted(stems))

        def insert(db: apsw.Connection) -> None:
            db.executemany(
                "INSERT INTO choices(at, stems, path, content_hash, action) VALUES (?, ?, ?, ?, ?)",
                [(now, query, path, content_hash, action.value) for path in paths],
            )
            # Ids have no gaps, because only the oldest rows are deleted.
            db.execute("DELETE FROM choices WHERE id <= (SELECT max(id) FROM choices) - ?", (MOST_CHOICES,))

        self._write(insert)

    def learned(self) -> Learned | None:
        """Return what the choices of all processes teach, or None. Without a change, this is one system call.

        If the file cannot be read, return None, so that searches work without it; `remark` says why.
        """
        today = int(self._clock()) // DAY_S
        with self._reading:
            try:
                file = _identity(self.path)
                if self._read != (file, today):
                    self._learned = self._learn(today) if file else None
                    self._read = (file, today) if file is None or _is_settled(file) else None
                self._problem = None
            except apsw.BusyError as problem:  # Use the earlier result for now.
                logger.debug("%s", problem)
            except _DAMAGE as problem:
                self._learned = self._read = None
                self._set_aside(problem)
            except (apsw.Error, OSError, FeedbackUnavailableError) as problem:
                self._learned = self._read = None
                self._cannot_be_read(problem)
            return self._learned

    def files(self) -> tuple[FileChoices, ...]:
        """Return the choices by file, most chosen first. Raise FeedbackUnavailableError if that fails."""
        choices: list[Choice] = []
        try:
            if self.path.exists():
                with _opened(self.path, _WRITE_MS) as db:
                    choices += _choices(db) if _is_usable(db) else ()
        except _DAMAGE as problem:
            with self._reading:
                self._set_aside(problem)
        except (apsw.Error, OSError) as problem:
            raise _unavailable(self.path, problem) from problem
        by_path: defaultdict[str, list[Choice]] = defaultdict(list)
        for choice in choices:
            by_path[choice.path].append(choice)
        every = []
        for path, chosen in by_path.items():
            counts = Counter(choice.action for choice in chosen)
            latest = datetime.datetime.fromtimestamp(max(choice.at for choice in chosen), datetime.UTC)
            every.append(
                FileChoices(path, {each: counts[each] for each in FeedbackAction if counts[each]}, latest)
            )
        return tuple(sorted(every, key=lambda file: (-sum(file.counts.values()), file.path)))

    def reset(self) -> int:
        """Delete all choices and return their number. Raise FeedbackUnavailableError if that fails."""

        def delete(db: apsw.Connection) -> int:
            db.execute("DELETE FROM choices")
            return db.changes()

        forgotten = self._write(delete) if self.path.exists() else 0
        remove_set_aside(self.path)
        self._damaged = None
        return forgotten

    def _learn(self, today: int) -> Learned | None:
        with _opened(self.path, _READ_MS) as db:
            if not _is_usable(db):  # Another process is just creating the file.
                return None
            generation = int(db.execute("SELECT generation FROM state").get)
            if self._learned is not None and self._learned.version == (generation, today):
                return self._learned
            return learn(_choices(db), generation, today)

    def _write(self, change: Callable[[apsw.Connection], T]) -> T:
        try:
            try:
                return self._change(change)
            except _DAMAGE as problem:
                with self._reading:
                    self._set_aside(problem)
                return self._change(change)
        except (apsw.Error, OSError) as problem:
            raise _unavailable(self.path, problem) from problem

    def _change(self, change: Callable[[apsw.Connection], T]) -> T:
        private_folder(self.path.parent)
        with _opened(self.path, _WRITE_MS, create=True) as db:
            if not _is_usable(db):
                db.execute(_SCHEMA)
                db.execute("INSERT INTO state VALUES (?)", (time.time_ns(),))
            changed = change(db)
            db.execute("UPDATE state SET generation = generation + 1")
            return changed

    def _set_aside(self, problem: Exception) -> None:
        """Rename a damaged file, unless another process did. The caller must have the lock `_reading`."""
        try:
            with filelock.FileLock(self.path.with_suffix(".lock"), timeout=_WRITE_MS / 1000):
                if not _is_damaged(self.path):
                    return
                copy = set_aside(self.path)
        except OSError as failure:  # filelock.Timeout is an OSError, too.
            self._cannot_be_read(failure)
            return
        self._damaged = (
            f"The feedback file was damaged ({problem}); it was set aside as {copy}, and a new one started."
        )
        logger.warning(self._damaged)

    def _cannot_be_read(self, problem: Exception) -> None:
        before, self._problem = self._problem, str(_unavailable(self.path, problem))
        if before is None:  # Warn once, not with every search.
            logger.warning(self._problem)


def store_of(folder: Path) -> FeedbackStore:
    """Return the store of a workspace folder. Raise InvalidRequestError if it is not a directory."""
    require_directory(folder)
    return FeedbackStore(workspace_dir(folder))


@contextlib.contextmanager
def _opened(path: Path, busy_ms: int, *, create: bool = False) -> Iterator[apsw.Connection]:
    """Open a transaction. Raise one of `_DAMAGE` if a check (1 ms for 4,000 choices) finds damage."""
    # With a rollback journal there is only one file between writes, which can be read in a read-only folder,
    # too. Without permission to write, SQLite opens the file read-only.
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    with contextlib.closing(apsw.Connection(str(path), flags=flags)) as db:
        db.set_busy_timeout(busy_ms)
        db.pragma("secure_delete", True)  # Free pages must not keep deleted choices.
        verdict = db.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise apsw.CorruptError(str(verdict))
        # `with db` would keep the GIL while it waits for the lock. After an exception, nothing is committed.
        db.execute("BEGIN IMMEDIATE" if create else "BEGIN")
        yield db
        db.execute("COMMIT")


def _is_usable(db: apsw.Connection) -> bool:
    """Return whether the tables exist. Raise FeedbackUnavailableError if another version made them."""
    version = db.pragma("user_version")
    if version not in (0, _VERSION):
        raise FeedbackUnavailableError(
            f"{db.filename} is in the format of another version of Cairn and is not used. "
            "Use that version, or delete the file to begin anew."
        )
    return bool(version)


def _choices(db: apsw.Connection) -> Iterator[Choice]:
    """Yield the choices, oldest first. Leave out actions that only a newer version of Cairn knows."""
    known = set(FeedbackAction)
    for stems, path, action, at in db.execute("SELECT stems, path, action, at FROM choices ORDER BY id"):
        if action in known:
            yield Choice(frozenset(str(stems).split()), str(path), FeedbackAction(action), int(at))


def _is_damaged(path: Path) -> bool:
    try:
        if path.exists():
            with _opened(path, _WRITE_MS):
                pass
    except _DAMAGE:
        return True
    return False


def _identity(path: Path) -> _Identity | None:
    """Return a value that changes with the file; None without a file. This is one system call of 2 µs."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_settled(file: _Identity) -> bool:
    """Return whether the next change will change the identity. Two within 2 s may have the same time."""
    return time.time_ns() - file[-1] > _SETTLED_NS


def _unavailable(path: Path, problem: Exception) -> FeedbackUnavailableError:
    if isinstance(problem, FeedbackUnavailableError):
        return problem
    return FeedbackUnavailableError(
        f"Feedback cannot be stored in {path} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )
