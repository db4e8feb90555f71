"""The worker processes of one indexing job, each controlled by a thread, and how many may work at once."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import cast

from cairn.index.indexing.reading import ReadRequest, ReadResult, record_of
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.startup.child_process import LOST, end, exchange, start
from cairn.startup.figures import busy_seconds, is_on_battery, processor_seconds

_EVERY_SECONDS = 2.0
"""How often other programs' CPU use is measured. More often would react to a single short process."""


def most_workers(wanted: int = 0) -> int:
    """Return the number of worker processes: `wanted`, or if that is 0, the number of cores that this process
    may use, halved on battery. With 1, the writing thread reads the files instead."""
    if wanted:
        return wanted
    cores = _own_cores()
    return max(1, cores // 2) if is_on_battery() else cores


def _own_cores() -> int:
    count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # a container may have a quota of CPU time (cgroup v2)
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        count = min(count, max(1, int(quota) // int(period)))
    return int(count)


class Turns:
    """A context manager that limits how many threads work at once to the number of idle cores. It updates the
    limit every two seconds, for example while a build runs."""

    def __init__(self, most: int, busy_seconds: Callable[[], float]) -> None:
        """Allow at most `most` threads; `busy_seconds` returns the CPU seconds of other programs so far."""
        self._most = self._allowed = most
        self._busy_seconds = busy_seconds
        self._measured_at, self._busy = time.monotonic(), busy_seconds()
        self._at_work = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._update_limit()
            while self._at_work >= self._allowed:
                self._changed.wait(_EVERY_SECONDS)
                self._update_limit()
            self._at_work += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._at_work -= 1
            self._changed.notify_all()

    def _update_limit(self) -> None:
        now = time.monotonic()
        if (passed := now - self._measured_at) < _EVERY_SECONDS:
            return
        busy = self._busy_seconds()
        self._allowed = max(1, self._most - round((busy - self._busy) / passed))
        self._measured_at, self._busy = now, busy


def busy_seconds_of_others(own: Iterable[int]) -> float:
    """Return the CPU seconds used on this machine by all processes but this one and `own` (ids)."""
    return busy_seconds() - sum(map(processor_seconds, (os.getpid(), *own)))


_PROGRAM = "from cairn.index.indexing.reading import serve; serve()"
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
