"""The checks of `cairn doctor` for one folder: its settings, file watching, its writer and its index.

The checks may run while another process writes. Connections are read-only, and the writer's lock is taken
only for a moment, to see whether it is free.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw

from cairn.errors import IndexUnavailableError
from cairn.index.store.coordination import holder, is_locked
from cairn.index.store.database import DAMAGE, DATABASE_NAME, connect_read_only, open_reader
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import SCHEMA_VERSION, STATIC_TABLE
from cairn.operations.doctor import (
    Check,
    CheckFunction,
    Examination,
    installation_checks,
    note,
    problem,
    run_checks,
)
from cairn.operations.health import BUSY, GOOD, health_of
from cairn.paths import workspace_dir
from cairn.protocol import StatusAnswer
from cairn.settings.layers import Layers
from cairn.settings.tree import WORKSPACE_FILE
from cairn.text.counts import counted, listed, sized
from cairn.workspace.scan import FileRules, ScanReport, scan

_ENOUGH_WATCHES = 65_536
"""The number of watches that is enough. Each directory needs one; a checkout may have tens of thousands."""
_FEW_INSTANCES_LEFT = 5
_INOTIFY = Path("/proc/sys/fs/inotify")
_PROCESSES = Path("/proc")
_COUNT_SECONDS = 2.0
"""The time limit for counting directories. Counting 8,700 takes 0.12 s."""
_SCAN_SECONDS = 5.0
"""The time limit for looking at all files."""
_MOST_NAMED = 4
_CHECK_SECONDS = 5.0
"""The time limit for checking the index file: 0.2 s for 49 MB. The writer's log grows meanwhile."""
_CHECK_EVERY = 1_000
"""The number of SQLite instructions between two checks of the time."""
_LARGE_LOG = 100_000_000
"""The size in bytes of a suspicious log. SQLite restarts the log at 4 MB unless a process keeps reading."""

_DO_INDEX = "open the folder in an editor, or run `cairn index`"
_REBUILD = "Run `cairn index`: it sets the damaged index aside and makes a new one."


def examine(folder: Path, status: Callable[[], StatusAnswer]) -> Examination:
    """Check this machine, the installation and the index of `folder`. Failures are results of checks.

    `status` returns the folder's status, of which the last check is the judgement (`operations/health.py`).
    This changes nothing, except that it creates a missing data folder and unpacks the grammars.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # The messages of the checks already contain what they log.
    try:
        checks = (*installation_checks(), *folder_checks(folder), ("state", lambda: _state(status())))
        return Examination(tuple(run_checks(checks)))
    finally:
        logging.disable(before)


def folder_checks(folder: Path, check_seconds: float = _CHECK_SECONDS) -> Sequence[tuple[str, CheckFunction]]:
    data = workspace_dir(folder)

    def of_index(check: Callable[[apsw.Connection], Check | str | None]) -> CheckFunction:
        return lambda: _inside(data / DATABASE_NAME, check)

    return (
        ("folder's settings", lambda: _settings(folder)),
        ("files", lambda: _files(folder)),
        ("watching", lambda: check_watching(folder)),
        ("writer", lambda: _writer(data)),
        ("index", lambda: _index(data)),
        ("index is sound", of_index(lambda db: _soundness(db, check_seconds))),
        ("index is in step", of_index(_steps)),
        ("vectors", of_index(_vectors)),
    )


def _inside(path: Path, check: Callable[[apsw.Connection], Check | str | None]) -> Check | str | None:
    """Return the result of a check on the open index, or an SQLite error as a problem. Return None if the
    index does not open, as the check `index` says."""
    try:
        db = open_reader(path)
        if db is None:
            return None
        with contextlib.closing(db):
            return check(db)
    except DAMAGE as error:
        return problem(f"damaged: {error}", _REBUILD)
    except apsw.Error as error:
        return problem(f"cannot be read: {error}", "Try again; if it stays so, restart your editor.")


def _settings(folder: Path) -> Check | str:
    laid = Layers().of(folder)
    settings, warnings = laid.settings, laid.texts(WORKSPACE_FILE)
    if settings.search.weights:
        from cairn.retrieval.signals import weight_warnings  # This imports all of ranking.

        warnings.extend(weight_warnings(settings.search.weights))
    if warnings:
        return problem("; ".join(warnings), f"Correct {folder.resolve() / WORKSPACE_FILE}.")
    if not settings.retrieval.enabled:
        return note("answering is switched off (`retrieval.enabled`)")
    return str(folder.resolve())


def _files(folder: Path) -> Check | str:
    """Check whether the files and directories that the rules admit can be read."""
    root, report, deadline = folder.resolve(), ScanReport(), time.monotonic() + _SCAN_SECONDS
    rules = FileRules(root, Layers().of(root).settings.index)
    files, closed = 0, list[str]()
    for entry in scan(root, rules, report, stop=lambda: time.monotonic() > deadline):
        files += 1
        if not os.access(root / entry.path, os.R_OK):
            closed.append(f"{entry.path}: {os.strerror(errno.EACCES)}")
    closed += report.unreadable
    if not closed:
        return f"{counted(files, 'file')} can be read"
    count = counted(len(closed), "file or directory", "files or directories")
    remedy = "Make them readable for you, or exclude them in .cairnignore."
    return note(f"{count} cannot be read ({listed(closed, _MOST_NAMED)})", remedy)


# --- watching --------------------------------------------------------------------------------------


def check_watching(folder: Path, limits: Path = _INOTIFY, processes: Path = _PROCESSES) -> Check | str:
    """Check whether the system allows watching all directories of `folder`."""
    if not limits.is_dir():
        return "the system sets no limit"
    try:
        watches = int((limits / "max_user_watches").read_text())
        instances = int((limits / "max_user_instances").read_text())
    except (OSError, ValueError) as error:
        return note(f"the limits of inotify cannot be read: {error}")
    directories, are_all = _count_directories(folder)
    used_instances, used_watches = _inotify_use(processes)
    found = (
        f"{directories}{'' if are_all else ' or more'} directories here; {used_watches} of {watches} watches"
        f" and {used_instances} of {instances} watchers are in use"
    )
    more = "Without enough watches Cairn polls. Run: sudo sysctl fs.inotify.max_user_watches=524288"
    if directories > watches:
        return problem(found, more)
    if used_instances > instances - _FEW_INSTANCES_LEFT:
        return note(found, "Close some programs, or run: sudo sysctl fs.inotify.max_user_instances=512")
    if watches < _ENOUGH_WATCHES or directories > watches - used_watches:
        return note(found, more)
    return found


def _count_directories(folder: Path) -> tuple[int, bool]:
    """Return the number of directories, including the folder itself, and whether all were counted in time."""
    deadline = time.monotonic() + _COUNT_SECONDS
    count = 0
    for count, _ in enumerate(os.walk(folder), 1):
        if time.monotonic() > deadline:
            return count, False
    return count, True


def _inotify_use(processes: Path) -> tuple[int, int]:
    """Return the numbers of inotify instances and watches of this user's processes. Others cannot be read."""
    watchers = watches = 0
    for descriptor in processes.glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # This is another user's process, or one that has ended.
            if os.readlink(descriptor) == "anon_inode:inotify":  # noqa: PTH115 - the target is not a path
                watchers += 1
                info = descriptor.parents[1] / "fdinfo" / descriptor.name
                watches += sum(line.startswith("inotify ") for line in info.read_text().splitlines())
    return watchers, watches


# --- the index -------------------------------------------------------------------------------------


def _writer(data: Path) -> Check | str:
    if not is_locked(data):
        return note(f"no process keeps the index up to date; {_DO_INDEX}")
    who = holder(data)
    if who is None:
        return "some process keeps the index up to date"
    since = datetime.datetime.fromtimestamp(who.since).astimezone()
    return f"{who.command}, process {who.pid}, keeps the index up to date since {since:%Y-%m-%d %H:%M:%S}"


def _index(data: Path) -> Check | str:
    path = data / DATABASE_NAME
    if not path.exists():
        return note("this folder is not indexed yet", "Run `cairn index`.")
    return _inside(path, lambda db: _contents(data, db)) or _why_unreadable(path)


def _contents(data: Path, db: apsw.Connection) -> Check | str:
    path, log = data / DATABASE_NAME, data / f"{DATABASE_NAME}-wal"
    log_size = log.stat().st_size if log.exists() else 0
    facts = read_facts(db)
    files, latest = db.execute("SELECT count(*), max(indexed_at) FROM files").fetchone() or (0, None)
    found = (
        f"{files} files, {facts.chunks} chunks, {sized(path.stat().st_size)} and a log of"
        f" {sized(log_size)}, generation {facts.generation}, the latest file read at {latest}, {data}"
    )
    if facts.writing and not is_locked(data):
        return note(f"{found}; its writer ended without closing it", "The next one checks it first.")
    if log_size > _LARGE_LOG:
        return note(found, "Some process reads the index without end: close editors, and open them again.")
    return found


def _why_unreadable(path: Path) -> Check:
    try:
        with contextlib.closing(connect_read_only(path)) as db:
            version = db.pragma("user_version")
    except DAMAGE as error:
        return problem(f"{path} is damaged: {error}", _REBUILD)
    except apsw.Error as error:
        return problem(f"{path} cannot be read: {error}", "Make the file readable for you, or delete it.")
    if version != SCHEMA_VERSION:
        return note("the index is from another version of Cairn", "Run `cairn index`: it is made anew.")
    raise IndexUnavailableError(f"{path} cannot be read now; try again")


def _soundness(db: apsw.Connection, seconds: float) -> Check | str:
    began = time.monotonic()
    db.set_progress_handler(lambda: time.monotonic() > began + seconds, _CHECK_EVERY)
    try:
        verdict = str(db.execute("PRAGMA quick_check(1)").get)
    except apsw.InterruptError:
        size = sized(Path(db.filename).stat().st_size)
        return note(f"{size} are more than can be checked in {seconds:.0f} s; nothing was found until then")
    if verdict != "ok":
        return problem(f"damaged: {verdict}", _REBUILD)
    return f"quick_check took {time.monotonic() - began:.1f} s"


def _steps(db: apsw.Connection) -> Check | str:
    with db:  # All counts read one snapshot.
        differ = [f"{name}: {left} and {right}" for name, left, right in _pairs(db) if left != right]
    if differ:
        return problem("; ".join(differ), "Run `cairn reindex`.")
    return "chunks, keywords and vectors belong together"


def _pairs(db: apsw.Connection) -> Iterator[tuple[str, int, int]]:
    """Yield pairs of numbers that must be equal, each with its name."""
    facts = read_facts(db)

    def count(sql: str, *values: int) -> int:
        return int(db.execute(sql, values).get or 0)

    chunks = count("SELECT count(*) FROM chunks")
    yield "chunks counted and there", facts.chunks, chunks
    yield "chunks and their keywords", chunks, count("SELECT count(*) FROM chunks_fts_docsize")
    files = count("SELECT count(*) FROM files")
    yield "files and the words of their paths", files, count("SELECT count(*) FROM paths_fts_docsize")
    if facts.has_static:
        static = count(f"SELECT count(*) FROM {STATIC_TABLE}_rowids")
        yield "chunks that have or await a vector", chunks, static + facts.static_queued


def _vectors(db: apsw.Connection) -> Check | str:
    facts = read_facts(db)
    if not facts.has_static:
        return note("none; answers use keywords only")
    queued = facts.static_queued
    model = str(db.execute("SELECT value FROM meta WHERE key = 'static_table'").get or "").partition(" ")[0]
    made = f"{facts.chunks - queued} of {facts.chunks} chunks, {model}"
    if facts.paused and queued:
        return note(f"{made}; paused", "Run `cairn resume`.")
    return note(made, f"They are made during indexing: {_DO_INDEX}.") if queued else made


def _state(status: StatusAnswer) -> Check | str | None:
    if not status.generation:  # The check `index` says that there is none.
        return None
    health = health_of(status)
    return health.text if health.level in (GOOD, BUSY) else note(health.text)
