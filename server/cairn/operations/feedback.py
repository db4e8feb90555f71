"""Remembers which results were opened, copied, found helpful or not, in a file of its own beside the index.

The file cannot be made again from the workspace, so nothing that happens to the index touches it. It never leaves the
machine, and the text of a question is not in it: only the stems of its words, with the path and the hash of what was chosen.

Every process that has the folder open may write it at any time, in one short transaction each.
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
from cairn.paths import workspace_dir
from cairn.protocol.feedback import FeedbackAction
from cairn.retrieval.learned import DAY_S, Choice, Learned, learn

logger = logging.getLogger(__name__)

T = TypeVar("T")

FEEDBACK_NAME = "feedback.db"
MOST_CHOICES = 4_000
"""Rows kept, about a year of ten choices a day; the oldest leave. Those count nothing long before: 0.5 ** 12."""

_VERSION = 1
_WRITE_MS = 5_000
_READ_MS = 50
"""A search waits no longer for another process's write; it goes by what was read before."""
_SETTLED_NS = 2_000_000_000
"""File systems tell times in steps, of 2 s at most."""

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
# `at` is in Unix seconds, `stems` are sorted and parted by spaces. The generation starts at the time at which the file was
# made, in nanoseconds: one that takes the place of another never has a generation that the other had.

_DAMAGE = (apsw.NotADBError, apsw.CorruptError)
_Identity = tuple[int, int, int, int]


class FeedbackUnavailableError(CairnError):
    """What was chosen cannot be kept or read."""


@frozen
class FileChoices:
    """What was done with the results of one file."""

    path: str
    counts: dict[FeedbackAction, int]
    latest: datetime.datetime
    """UTC."""


class FeedbackStore:
    """The choices of one workspace folder. Methods may be called from several threads at once."""

    def __init__(self, data: Path, clock: Callable[[], float] = time.time) -> None:
        """`data` is the folder's data folder; `clock` tells Unix seconds."""
        self.path = data / FEEDBACK_NAME
        self._damaged: str | None = None
        """What became of a damaged file."""
        self._problem: str | None = None
        """Why the file could not be read the last time."""
        self._clock = clock
        self._reading = threading.Lock()
        self._learned: Learned | None = None
        """As it was last read."""
        self._read: tuple[_Identity | None, int] | None = None
        """Which file that was, and on which day."""

    @property
    def remark(self) -> str | None:
        """Why the file is not used now, or what became of a damaged one."""
        return self._problem or self._damaged

    def add(
        self, stems: Collection[str], paths: Iterable[str], content_hash: str, action: FeedbackAction
    ) -> None:
        """Remember what was done with the result that each of `paths` holds, when asked for `stems`.

        Raises FeedbackUnavailableError where the file cannot be written.
        """
        now = int(self._clock())
        asked = " ".join(sorted(stems))

        def insert(db: apsw.Connection) -> None:
            db.executemany(
                "INSERT INTO choices(at, stems, path, content_hash, action) VALUES (?, ?, ?, ?, ?)",
                [(now, asked, path, content_hash, action.value) for path in paths],
            )
            # Ids have no gaps: only the oldest ever leave.
            db.execute("DELETE FROM choices WHERE id <= (SELECT max(id) FROM choices) - ?", (MOST_CHOICES,))

        self._write(insert)

    def learned(self) -> Learned | None:
        """What the choices of all processes say now; None where there were none yet. Costs a look at the file.

        What cannot be read says nothing: `remark` tells why, and searches go on without it.
        """
        today = int(self._clock()) // DAY_S
        with self._reading:
            try:
                file = _identity(self.path)
                if self._read != (file, today):
                    self._learned = self._learn(today) if file else None
                    self._read = (file, today) if file is None or _is_settled(file) else None
                self._problem = None
            except apsw.BusyError as problem:  # what was read before will do until the next time
                logger.debug("%s", problem)
            except _DAMAGE as problem:
                self._learned = self._read = None
                self._set_aside(problem)
            except (apsw.Error, OSError, FeedbackUnavailableError) as problem:
                self._learned = self._read = None
                self._cannot_be_read(problem)
            return self._learned

    def files(self) -> tuple[FileChoices, ...]:
        """What was done with each file, most often chosen first. Raises FeedbackUnavailableError."""
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
        counts: defaultdict[str, Counter[FeedbackAction]] = defaultdict(Counter)
        latest: defaultdict[str, int] = defaultdict(int)
        for choice in choices:
            counts[choice.path][choice.action] += 1
            latest[choice.path] = max(choice.at, latest[choice.path])
        every = [
            FileChoices(
                path,
                {action: counted[action] for action in FeedbackAction if action in counted},
                datetime.datetime.fromtimestamp(latest[path], datetime.UTC),
            )
            for path, counted in counts.items()
        ]
        return tuple(sorted(every, key=lambda file: (-sum(file.counts.values()), file.path)))

    def reset(self) -> int:
        """Forget everything, what was set aside included; how many choices there were.

        Raises FeedbackUnavailableError where the file cannot be written.
        """

        def delete(db: apsw.Connection) -> int:
            db.execute("DELETE FROM choices")
            return db.changes()

        forgotten = self._write(delete) if self.path.exists() else 0
        remove_set_aside(self.path)
        self._damaged = None
        return forgotten

    def _learn(self, today: int) -> Learned | None:
        with _opened(self.path, _READ_MS) as db:
            if not _is_usable(db):  # another process is just making it
                return None
            generation = int(db.execute("SELECT generation FROM state").get)
            if self._learned is not None and self._learned.version == (generation, today):
                return self._learned
            return learn(_choices(db), generation, today)

    def _write(self, change: Callable[[apsw.Connection], T]) -> T:
        """`change` the file in a transaction; a damaged one is set aside before."""
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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(self.path, _WRITE_MS, create=True) as db:
            if not _is_usable(db):
                db.execute(_SCHEMA)
                db.execute("INSERT INTO state VALUES (?)", (time.time_ns(),))
            changed = change(db)
            db.execute("UPDATE state SET generation = generation + 1")
            return changed

    def _set_aside(self, problem: Exception) -> None:
        """Move the damaged file out of the way, unless another process has done so. Nobody may read it here now."""
        try:
            with filelock.FileLock(self.path.with_suffix(".lock"), timeout=_WRITE_MS / 1000):
                if not _is_damaged(self.path):
                    return
                kept = set_aside(self.path)
        except OSError as failure:  # a lock that others hold is one, too
            self._cannot_be_read(failure)
            return
        self._damaged = f"What was learned from choices was damaged ({problem}); it was set aside as {kept}, and a new file begun."
        logger.warning(self._damaged)

    def _cannot_be_read(self, problem: Exception) -> None:
        told, self._problem = self._problem, str(_unavailable(self.path, problem))
        if told is None:  # once, not with every search
            logger.warning(self._problem)


def store_of(folder: Path) -> FeedbackStore:
    """The store of a workspace folder, whether or not anything is in it. Raises InvalidRequestError if it is no directory."""
    require_directory(folder)
    return FeedbackStore(workspace_dir(folder))


@contextlib.contextmanager
def _opened(path: Path, busy_ms: int, *, create: bool = False) -> Iterator[apsw.Connection]:
    """A transaction on the file. Raises one of _DAMAGE if the file contradicts itself: 1 ms for 4,000 choices."""
    # A rollback journal, not a log: one file is all there is between two writes, and it can be read where nothing may be
    # written. Without permission to write, SQLite opens it to read.
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    with contextlib.closing(apsw.Connection(str(path), flags=flags)) as db:
        db.set_busy_timeout(busy_ms)
        if create:
            db.transaction_mode = "IMMEDIATE"
        db.pragma("secure_delete", True)  # what is forgotten is not left in free pages
        verdict = db.execute("PRAGMA quick_check(1)").get
        if verdict != "ok":
            raise apsw.CorruptError(str(verdict))
        with db:
            yield db


def _is_usable(db: apsw.Connection) -> bool:
    """Whether the tables are there. Raises FeedbackUnavailableError for those of another version."""
    version = db.pragma("user_version")
    if version not in (0, _VERSION):
        raise FeedbackUnavailableError(
            f"{db.filename} is in the format of another version of Cairn and is not used. "
            "Use that version, or delete the file to begin anew."
        )
    return bool(version)


def _choices(db: apsw.Connection) -> Iterator[Choice]:
    """The choices, the oldest first, without actions that only a newer Cairn knows."""
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
    """What differs once the file was changed, or another file has this path; None without a file. One system call, 2 µs."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_settled(file: _Identity) -> bool:
    """Whether the next change will show: two soon after each other may leave the file with one time."""
    return time.time_ns() - file[-1] > _SETTLED_NS


def _unavailable(path: Path, problem: Exception) -> FeedbackUnavailableError:
    if isinstance(problem, FeedbackUnavailableError):
        return problem
    return FeedbackUnavailableError(
        f"What was chosen cannot be kept in {path} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )
