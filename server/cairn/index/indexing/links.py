"""Counts for each file how many others import it, and finds files that are copies of others.

For the Linux kernel, counting takes five seconds and at most 340 MB. Saves would have to wait for it, so a
separate process counts in a folder of many files.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, cast

import apsw
from attrs import astuple, frozen

from cairn.index.indexing.folder_state import Intervals
from cairn.index.store.database import open_reader
from cairn.index.store.meta import raise_generation, read_facts
from cairn.index.store.writer import IndexWriter
from cairn.startup.child_process import LOST, NICENESS, end, exchange, send, set_up_child_process, start

logger = logging.getLogger(__name__)

_PROGRAM = "from cairn.index.indexing.links import serve; serve()"
_APART_FROM = 2_000
"""The number of files from which a separate process counts. Counting this many files of the Linux kernel
takes 0.15 s; starting a process takes 0.3 s."""
_AFTER_COUNTS, _EVERY_COUNTS = 10, 200
"""`Intervals.count_after` and `Intervals.count_every` are limited to these multiples of the time that the
latest count took. So a small folder is counted almost immediately, and a new folder without any wait."""
_POLL_SECONDS = 0.1
"""The interval in seconds at which the indexing thread checks whether the process has counted."""


@frozen
class LinkCounts:
    links: int
    """The value of `Facts.links` at the time of the count."""
    in_degrees: Collection[tuple[str, int]]
    """Each imported file, and how many files import it."""
    copies: Collection[tuple[str, str, float]]
    """Each copy, its original, and the share of its lines that are in the original."""


def count_links(db: apsw.Connection) -> LinkCounts:
    # Imported here because an unchanged folder needs no count.
    from cairn.workspace.copies import Sketched, find_copies
    from cairn.workspace.import_graph import ImportGraph

    with db:  # one snapshot of the index
        links = read_facts(db).links
        imports = db.execute("SELECT path, imports FROM files WHERE is_text").fetchall()
        files: list[Any] = db.execute(
            "SELECT path, size, content_hash, sketch FROM files WHERE is_text AND chunks"
        ).fetchall()
    in_degrees = ImportGraph({str(path): json.loads(str(specs)) for path, specs in imports}).in_degrees()
    sketched = [
        Sketched(path, size, digest, sketch, in_degrees.get(path, 0)) for path, size, digest, sketch in files
    ]
    return LinkCounts(links, list(in_degrees.items()), [astuple(copy) for copy in find_copies(sketched)])


def store_links(db: apsw.Connection, counts: LinkCounts) -> None:
    with db:
        imports_differ = _replace(db, "file_imports", set(counts.in_degrees))
        copies_differ = _replace(db, "copies", set(counts.copies))
        if imports_differ or copies_differ:
            raise_generation(db)


def _replace(db: apsw.Connection, table: str, now: set[tuple[object, ...]]) -> bool:
    """Make `now` the rows of `table`, whose key is `path`; return whether any row changed."""
    known = set(db.execute(f"SELECT * FROM {table}"))
    db.executemany(f"DELETE FROM {table} WHERE path = ?", ((row[0],) for row in known - now))
    for row in now - known:
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return now != known


class LinkCounter:
    """Keeps the counts of an index up to date, on the thread that owns `writer`."""

    def __init__(
        self,
        writer: IndexWriter,
        intervals: Intervals,
        apart_from: int = _APART_FROM,
        program: str = _PROGRAM,
    ) -> None:
        """Run `program` in a separate process if there are at least `apart_from` files."""
        self._writer = writer
        self._intervals = intervals
        self._apart_from = apart_from
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: Future[LinkCounts | None] | None = None
        """The future result of the process that counts; None while no process counts."""
        self._thread = ThreadPoolExecutor(1, "cairn-links")
        self._began, self._ended, self._took = 0.0, float("-inf"), 0.0

    @property
    def is_counting(self) -> bool:
        return self._answer is not None

    def step(self, written_at: float) -> bool:
        """Count if that is due, given the time of the latest write; return false if nothing was done."""
        if self._answer is not None:
            if not self._answer.done():
                return False
            counts, self._answer = self._answer.result(), None
            self._store(counts or count_links(self._writer.db))
            return True
        facts, now = self._writer.facts(), time.monotonic()
        if facts.is_counted or now < self._due(written_at):
            return False
        self._began = now
        if facts.files_total < self._apart_from or not self._count_apart():
            self._store(count_links(self._writer.db))
        return True

    def next_step_at(self, written_at: float) -> float:
        """Return the monotonic time at which `step` may do something."""
        if self.is_counting:
            return time.monotonic() + _POLL_SECONDS
        return float("inf") if self._writer.facts().is_counted else self._due(written_at)

    def close(self) -> None:
        """End the process, if any. The next writer of the index counts instead."""
        if self._process is not None:
            self._process.kill()
        self._thread.shutdown(cancel_futures=True)

    def _count_apart(self) -> bool:
        """Start a process that counts; return false if none can be started."""
        try:
            self._process = start(self._program)
        except OSError as problem:
            logger.warning("no process can be started to count imports: %s", problem)
            return False
        self._answer = self._thread.submit(_counted_apart, self._process, Path(self._writer.db.filename))
        return True

    def _due(self, written_at: float) -> float:
        after = min(self._intervals.count_after, _AFTER_COUNTS * self._took)
        every = min(self._intervals.count_every, _EVERY_COUNTS * self._took)
        return max(written_at + after, self._ended + every)

    def _store(self, counts: LinkCounts) -> None:
        store_links(self._writer.db, counts)
        self._writer.note(counted=counts.links)
        self._ended = time.monotonic()
        self._took = self._ended - self._began


def _counted_apart(process: subprocess.Popen[bytes], index: Path) -> LinkCounts | None:
    """Return the counts that the process makes for `index`; None if it fails."""
    try:
        return cast(LinkCounts, exchange(process, index))
    except LOST:
        logger.warning("the process that counts imports ended; they are counted here")
        return None
    finally:
        end(process)


def serve() -> None:
    """Read the path of an index from the input, count, and write the counts to the output. The process ends
    early when its input is closed, so it does not outlive its parent."""
    requests, answers = set_up_child_process(NICENESS)
    path = pickle.load(requests)
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    db = open_reader(path)
    if db is not None:
        send(answers, count_links(db))
    os._exit(0)  # an ordinary exit would wait for the pipe that the thread reads


def _end_with(requests: BinaryIO) -> None:
    requests.read()
    os._exit(0)
