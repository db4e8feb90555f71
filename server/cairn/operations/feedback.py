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
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import apsw
import filelock
from attrs import frozen

from cairn.errors import CairnError
from cairn.operations.places import require_directory
from cairn.paths import workspace_dir
from cairn.protocol.feedback import FeedbackAction
from cairn.retrieval.learned import Choice, Learned, learn

logger = logging.getLogger(__name__)

FEEDBACK_NAME = "feedback.db"
MOST_CHOICES = 4_000
"""Rows kept, about a year of ten choices a day; the oldest leave. Those count nothing long before: 0.5 ** 12."""

_VERSION = 1
_WRITE_MS = 5_000
_READ_MS = 50
"""A search waits no longer for another process's write; it goes by what was read before."""
_DAY_S = 24 * 60 * 60

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

    def __init__(
        self, data: Path, clock: Callable[[], float] = time.time, most_choices: int = MOST_CHOICES
    ) -> None:
        """`data` is the folder's data folder; `clock` tells Unix seconds."""
        self.path = data / FEEDBACK_NAME
        self._damaged: str | None = None
        """What became of a damaged file."""
        self._problem: str | None = None
        """Why the file could not be read the last time."""
        self._clock = clock
        self._most_choices = most_choices
        self._reading = threading.Lock()
        self._reader: apsw.Connection | None = None
        self._read_file: tuple[int, int] | None = None
        """Which file the reader has open."""
        self._learned: Learned | None = None
        """As it was last read."""

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
            db.execute(
                "DELETE FROM choices WHERE id <= (SELECT max(id) FROM choices) - ?", (self._most_choices,)
            )

        self._write(insert)

    def learned(self) -> Learned | None:
        """What the choices of all processes say now; None where there were none yet. Costs a look at the file.

        What cannot be read says nothing: `remark` tells why, and searches go on without it.
        """
        with self._reading:
            try:
                db = self._opened()
                self._learned = None if db is None else self._read(db)
                self._problem = None
            except _DAMAGE as problem:
                self._forget_reader()
                self._learned = None
                self._set_aside(problem)
            except apsw.BusyError as problem:  # what was read before will do until the next time
                logger.debug("%s", problem)
            except (apsw.Error, OSError, FeedbackUnavailableError) as problem:
                self._forget_reader()
                self._learned = None
                self._cannot_be_read(problem)
            return self._learned

    def files(self) -> tuple[FileChoices, ...]:
        """What was done with each file, most often chosen first. Raises FeedbackUnavailableError."""
        counts: defaultdict[str, Counter[FeedbackAction]] = defaultdict(Counter)
        latest: defaultdict[str, int] = defaultdict(int)
        for path, action, count, at in self._rows():
            if action in set(FeedbackAction):
                counts[path][FeedbackAction(action)] += count
                latest[path] = max(latest[path], at)
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
        forgotten = 0

        def delete(db: apsw.Connection) -> None:
            nonlocal forgotten
            forgotten = int(db.execute("SELECT count(*) FROM choices").get)
            db.execute("DELETE FROM choices")

        if self.path.exists():
            self._write(delete)
        for damaged in self.path.parent.glob(f"{FEEDBACK_NAME}*.damaged-*"):
            damaged.unlink(missing_ok=True)
        self._damaged = None
        return forgotten

    def close(self) -> None:
        """Let go of the file; it is opened again when it is asked for."""
        with self._reading:
            self._forget_reader()

    # --- reading -----------------------------------------------------------------------------------

    def _opened(self) -> apsw.Connection | None:
        """The connection to read with, to the file that is there now; None where there is none."""
        file = _identity(self.path)
        if self._reader is None or file != self._read_file:
            self._forget_reader()
            if file is not None:
                reader = _connect(self.path, _READ_MS)
                try:
                    _check(reader)
                except BaseException:
                    reader.close(True)
                    raise
                self._reader, self._read_file = reader, file
        return self._reader

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.close(True)
        self._reader = self._read_file = None

    def _read(self, db: apsw.Connection) -> Learned | None:
        with db:
            if not _is_usable(db):  # another process is just making it
                return None
            generation = int(db.execute("SELECT generation FROM state").get)
            today = int(self._clock()) // _DAY_S
            if self._learned is not None and self._learned.version == (generation, today):
                return self._learned
            known = set(FeedbackAction)
            rows = db.execute("SELECT stems, path, action, at FROM choices ORDER BY id")
            choices = [
                Choice(frozenset(str(stems).split()), str(path), FeedbackAction(action), int(at) // _DAY_S)
                for stems, path, action, at in rows
                if action in known  # only a newer Cairn knows others
            ]
        return learn(choices, generation, today)

    def _rows(self) -> list[tuple[str, str, int, int]]:
        if not self.path.exists():
            return []
        try:
            with contextlib.closing(_connect(self.path, _WRITE_MS)) as db:
                if not _is_usable(db):
                    return []
                rows = db.execute("SELECT path, action, count(*), max(at) FROM choices GROUP BY path, action")
                return [(str(row[0]), str(row[1]), int(row[2]), int(row[3])) for row in rows]
        except _DAMAGE as problem:
            self._set_aside(problem)
            return []
        except (apsw.Error, OSError) as problem:
            raise _unavailable(self.path, problem) from problem

    # --- writing -----------------------------------------------------------------------------------

    def _write(self, change: Callable[[apsw.Connection], None]) -> None:
        """`change` the file in a transaction; a damaged one is set aside before."""
        try:
            try:
                self._change(change)
            except _DAMAGE as problem:
                self.close()
                self._set_aside(problem)
                self._change(change)
        except (apsw.Error, OSError, filelock.Timeout) as problem:
            raise _unavailable(self.path, problem) from problem

    def _change(self, change: Callable[[apsw.Connection], None]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(_connect(self.path, _WRITE_MS, create=True)) as db:
            _check(db)
            with db:
                if not _is_usable(db):
                    db.execute(_SCHEMA)
                    db.execute("INSERT INTO state VALUES (?)", (time.time_ns(),))
                change(db)
                db.execute("UPDATE state SET generation = generation + 1")

    def _set_aside(self, problem: Exception) -> None:
        """Move the damaged file out of the way, unless another process has done so; only the latest is kept."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        kept = self.path.with_name(f"{self.path.name}.damaged-{stamp}")
        journal = Path(f"{self.path}-journal")
        try:
            with filelock.FileLock(self.path.with_suffix(".lock"), timeout=_WRITE_MS / 1000):
                if not _is_damaged(self.path):
                    return
                for older in self.path.parent.glob(f"{FEEDBACK_NAME}*.damaged-*"):
                    older.unlink(missing_ok=True)
                # The journal first: one that stays behind would be applied to the file that is made next.
                if journal.exists():
                    journal.replace(f"{kept}-journal")
                self.path.replace(kept)
        except (OSError, filelock.Timeout) as failure:
            self._cannot_be_read(failure)
            return
        self._damaged = (
            f"What was learned from choices was damaged ({problem}); "
            f"it was set aside as {kept.name}, and a new file begun."
        )
        logger.warning(self._damaged)

    def _cannot_be_read(self, problem: Exception) -> None:
        told, self._problem = self._problem, str(_unavailable(self.path, problem))
        if told is None:  # once, not with every search
            logger.warning(self._problem)


def store_of(folder: Path) -> FeedbackStore:
    """The store of a workspace folder, whether or not anything is in it. Raises InvalidRequestError if it is no directory."""
    require_directory(folder)
    return FeedbackStore(workspace_dir(folder))


def _connect(path: Path, busy_ms: int, *, create: bool = False) -> apsw.Connection:
    # A rollback journal, not a log: one file is all there is between two writes, and it can be read where nothing may be
    # written. Without permission to write, SQLite opens it to read.
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(busy_ms)
    if create:
        connection.transaction_mode = "IMMEDIATE"
    connection.pragma("secure_delete", True)  # what is forgotten is not left in free pages
    return connection


def _is_usable(db: apsw.Connection) -> bool:
    """Whether the tables are there. Raises FeedbackUnavailableError for those of another version."""
    version = db.pragma("user_version")
    if version not in (0, _VERSION):
        raise FeedbackUnavailableError(
            f"{db.filename} is in the format of another version of Cairn and is not used. "
            "Use that version, or delete the file to begin anew."
        )
    return bool(version)


def _check(db: apsw.Connection) -> None:
    """Raise one of _DAMAGE if the file contradicts itself: 1 ms for 4,000 choices."""
    verdict = db.execute("PRAGMA quick_check(1)").get
    if verdict != "ok":
        raise apsw.CorruptError(str(verdict))


def _is_damaged(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with contextlib.closing(_connect(path, _WRITE_MS)) as db:
            _check(db)
    except _DAMAGE:
        return True
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """What differs once another file has this path; None without a file. One system call, 2 µs."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _unavailable(path: Path, problem: Exception) -> FeedbackUnavailableError:
    if isinstance(problem, FeedbackUnavailableError):
        return problem
    return FeedbackUnavailableError(
        f"What was chosen cannot be kept in {path} ({problem}). "
        "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    )
