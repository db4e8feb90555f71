"""The worker processes of one indexing job, each controlled by a thread of this process."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import cast

from cairn.index.indexing.reading import ReadRequest, ReadResult, record_of
from cairn.index.indexing.workers.cores import Turns, busy_seconds_of_others
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.store import StaticRecipe
from cairn.startup.child_process import LOST, end, exchange, start

_PROGRAM = "from cairn.index.indexing.workers.process import serve; serve()"
_BATCH_BYTES, _BATCH_FILES = 200_000, 64
"""The maximum bytes and files of a batch, as results that wait for the writer take memory. Not yet tuned."""
_AHEAD = 2
"""The number of batches that are queued besides those in progress, so that no worker waits for the writer."""


class WorkerPool:
    """Prepares files in worker processes. Use it from one thread; `close` ends the processes."""

    def __init__(
        self, root: Path, workers: int, recipe: StaticRecipe | None = None, program: str = _PROGRAM
    ) -> None:
        """Start `workers` processes that run `program`. With a `recipe`, they also make static vectors."""
        self._root = root
        self._workers = workers
        self._recipe = recipe
        self._program = program
        self._local = threading.local()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._turns = Turns(workers, self._busy_seconds)
        self._threads = ThreadPoolExecutor(workers, "cairn-index-worker")
        self._started = [self._threads.submit(self._warm_up) for _ in range(workers)]

    @property
    def is_ready(self) -> bool:
        return any(each.done() for each in self._started)

    def read(self, requests: Iterable[ReadRequest]) -> Iterator[tuple[ReadRequest, ReadResult]]:
        """Yield the result for each file, in the order of `requests`."""
        batches = _batches(requests)
        pending: deque[tuple[list[ReadRequest], Future[list[ReadResult]]]] = deque()
        while True:
            while len(pending) < self._workers + _AHEAD and (upcoming := next(batches, None)):
                pending.append((upcoming, self._threads.submit(self._read, upcoming)))
            if not pending:
                return
            batch, answers = pending.popleft()
            yield from zip(batch, answers.result(), strict=True)

    def close(self) -> None:
        """End the processes and drop unfinished work."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            process.kill()  # otherwise the threads would wait for the processes
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            end(process)

    # --- on the pool's threads -----------------------------------------------------------------------

    def _warm_up(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._process()

    def _read(self, batch: Sequence[ReadRequest]) -> list[ReadResult]:
        answers = self._exchange(batch)
        if answers is not None:
            return answers
        # A file crashed the worker. Each file is now tried alone, so that only that file is lost.
        return [reading for request in batch for reading in (self._exchange([request]) or [_lost(request)])]

    def _exchange(self, batch: Sequence[ReadRequest]) -> list[ReadResult] | None:
        """Return the results of this thread's worker; None if it died."""
        try:
            process = self._process()
            with self._turns:
                return cast(list[ReadResult], exchange(process, (self._root, self._recipe, batch)))
        except LOST:
            self._drop()
            return None

    def _busy_seconds(self) -> float:
        with self._lock:
            own = [process.pid for process in self._processes]
        return busy_seconds_of_others(own)

    def _process(self) -> subprocess.Popen[bytes]:
        """Return this thread's worker, and start it if necessary. Raises OSError or EOFError on failure."""
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None:
            with self._lock:
                if self._closed:
                    raise EOFError("the pool is closed")
                process = self._local.process = start(self._program)
                self._processes.add(process)
            assert process.stdout
            pickle.load(process.stdout)
        return process

    def _drop(self) -> None:
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is not None:
            self._local.process = None
            with self._lock:
                self._processes.discard(process)
            end(process)


def _batches(requests: Iterable[ReadRequest]) -> Iterator[list[ReadRequest]]:
    batch: list[ReadRequest] = []
    size = 0
    for request in requests:
        batch.append(request)
        size += request.entry.size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _lost(request: ReadRequest) -> ReadResult:
    # The digest is unknown. The file is read again once it changes.
    record = record_of(request.entry, request.collection, "")
    reason = f"{request.entry.path}: the process that read it ended"
    return ReadResult(IndexedFile.left_out(record), unreadable=reason)
