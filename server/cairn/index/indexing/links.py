"""What is known of all files together: how many import each, and which are copies of others.

For the Linux kernel that takes five seconds, and a process that does nothing else has 340 MB at most. A save that came meanwhile
would wait for it, so a process of its own counts a folder of many files.
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
from cairn.index.indexing.workers.process import work_for_another
from cairn.index.indexing.workers.start import end, start
from cairn.index.store.database import open_reader
from cairn.index.store.meta import raise_generation, read_facts
from cairn.index.store.writer import IndexWriter

logger = logging.getLogger(__name__)

_PROGRAM = "from cairn.index.indexing.links import serve; serve()"
_APART_FROM = 2_000
"""Files from which a process of its own counts: at the pace of the Linux kernel so many take 0.15 s, and starting a process 0.3 s."""
_AFTER_COUNTS, _EVERY_COUNTS = 10, 200
"""The intervals of counting are at most so many times as long as the latest count took: imports of a small folder, and those of any
at first, are counted at once."""
_LOOK_SECONDS = 0.1
"""Between two looks whether the process has counted."""


@frozen
class LinkCounts:
    """The counts at one moment of the index."""

    links: int
    """That moment, as `Facts` have it."""
    in_degrees: Collection[tuple[str, int]]
    """Each file that others import, and by how many."""
    copies: Collection[tuple[str, str, float]]
    """Each copy, the original, and the share of its lines that are the original's."""


def count_links(db: apsw.Connection) -> LinkCounts:
    """Count what the index has now."""
    from cairn.workspace.copies import (  # a folder in which nothing changed is not counted
        Sketched,
        find_copies,
    )
    from cairn.workspace.imports import ImportGraph

    with db:  # one moment of the index
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
    """Put the counts in place of those that the index has."""
    with db:
        imports_differ = _replace(db, "file_imports", set(counts.in_degrees))
        copies_differ = _replace(db, "copies", set(counts.copies))
        if imports_differ or copies_differ:
            raise_generation(db)


def _replace(db: apsw.Connection, table: str, now: set[tuple[object, ...]]) -> bool:
    """Bring the rows of `table`, whose first column is its key, to those of `now`; whether any differed."""
    known = set(db.execute(f"SELECT * FROM {table}"))
    db.executemany(f"DELETE FROM {table} WHERE path = ?", ((row[0],) for row in known - now))
    for row in now - known:
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return now != known


class LinkCounter:
    """Keeps the counts of an index up to date; used by the thread that owns `writer`."""

    def __init__(
        self,
        writer: IndexWriter,
        intervals: Intervals,
        apart_from: int = _APART_FROM,
        program: str = _PROGRAM,
    ) -> None:
        """From `apart_from` files on, `program` counts in a process of its own."""
        self._writer = writer
        self._intervals = intervals
        self._apart_from = apart_from
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: Future[LinkCounts | None] | None = None
        """The answer that is waited for, None where no process counts."""
        self._thread = ThreadPoolExecutor(1, "cairn-links")
        self._began, self._ended, self._took = 0.0, float("-inf"), 0.0

    def step(self, written_at: float) -> bool:
        """Count if it is time to, with `written_at` the moment when files were last written; false if nothing was done."""
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

    def next_look(self, written_at: float) -> float:
        """When a further `step` may do something."""
        if self._answer is not None:
            return time.monotonic() + _LOOK_SECONDS
        return float("inf") if self._writer.facts().is_counted else self._due(written_at)

    def close(self) -> None:
        """End the process if there is one; what it was to count is counted by whoever writes next."""
        if self._process is not None:
            self._process.kill()
        self._thread.shutdown(cancel_futures=True)

    def _count_apart(self) -> bool:
        """Begin to count in a process of its own; false if none can be started."""
        try:
            self._process = start(self._program)
        except OSError as problem:
            logger.warning("no process can be started to count imports: %s", problem)
            return False
        self._answer = self._thread.submit(_ask, self._process, Path(self._writer.db.filename))
        return True

    def _due(self, written_at: float) -> float:
        after = min(self._intervals.count_after, _AFTER_COUNTS * self._took)
        every = min(self._intervals.count_every, _EVERY_COUNTS * self._took)
        return max(written_at + after, self._ended + every)

    def _store(self, counts: LinkCounts) -> None:
        store_links(self._writer.db, counts)
        self._writer.note(counted=counts.links, compared=counts.links)
        self._ended = time.monotonic()
        self._took = self._ended - self._began


def _ask(process: subprocess.Popen[bytes], index: Path) -> LinkCounts | None:
    """What the process counts in `index`; None if it failed."""
    assert process.stdin
    assert process.stdout
    try:
        pickle.dump(index, process.stdin)
        process.stdin.flush()
        return cast(LinkCounts, pickle.load(process.stdout))
    except (OSError, EOFError, pickle.UnpicklingError):
        logger.warning("the process that counts imports ended; they are counted here")
        return None
    finally:
        end(process)


def serve() -> None:
    """Count the index whose path is asked, in a process that ends when its input does."""
    requests, answers = work_for_another()
    path = pickle.load(requests)
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    db = open_reader(path)
    if db is not None:
        pickle.dump(count_links(db), answers)
        answers.flush()
    os._exit(0)  # the thread that reads holds what the interpreter would close


def _end_with(requests: BinaryIO) -> None:
    requests.read()
    os._exit(0)
