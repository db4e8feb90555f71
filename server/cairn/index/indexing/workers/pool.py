"""The workers of one indexing job: as many processes as there are cores, each led by a thread of this process."""

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

from cairn.index.indexing.reading import Reading, ReadRequest, record_of
from cairn.index.indexing.workers.cores import Turns, busy_seconds_of_others
from cairn.index.indexing.workers.start import end, start
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.recipe import StaticRecipe

_PROGRAM = "from cairn.index.indexing.workers.process import serve; serve()"
_BATCH_BYTES, _BATCH_FILES = 200_000, 64
"""Files go to a worker by so many at most, whichever is less: what waits for the writer takes memory. Not tuned yet."""
_AHEAD = 2
"""Batches that wait beside those at work, so that no worker waits for the writer."""


class WorkerPool:
    """Prepares files in processes of its own. Used by one thread; `close` ends the processes."""

    def __init__(
        self, root: Path, workers: int, recipe: StaticRecipe | None = None, program: str = _PROGRAM
    ) -> None:
        """Start `workers` processes. `program` is what each runs; with `recipe` they make static vectors, too."""
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
        """Whether a worker waits for files."""
        return any(each.done() for each in self._started)

    def read(self, requests: Iterable[ReadRequest]) -> Iterator[tuple[ReadRequest, Reading]]:
        """What became of each file, in the order of `requests`."""
        batches = _batches(requests)
        pending: deque[tuple[list[ReadRequest], Future[list[Reading]]]] = deque()
        while True:
            while len(pending) < self._workers + _AHEAD and (upcoming := next(batches, None)):
                pending.append((upcoming, self._threads.submit(self._read, upcoming)))
            if not pending:
                return
            batch, answers = pending.popleft()
            yield from zip(batch, answers.result(), strict=True)

    def close(self) -> None:
        """End the processes; what they have not done is dropped."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            process.kill()  # or the threads would wait for them
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            end(process)

    # --- on the pool's threads -----------------------------------------------------------------------

    def _warm_up(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._process()

    def _read(self, batch: Sequence[ReadRequest]) -> list[Reading]:
        answers = self._ask(batch)
        if answers is not None:
            return answers
        # Some file ended the worker. Each is tried alone, so that only that one is lost.
        return [reading for request in batch for reading in (self._ask([request]) or [_lost(request)])]

    def _ask(self, batch: Sequence[ReadRequest]) -> list[Reading] | None:
        """What the worker of this thread answers; None if it died."""
        try:
            process = self._process()
            assert process.stdin
            assert process.stdout
            with self._turns:
                pickle.dump((self._root, self._recipe, batch), process.stdin, pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                return cast(list[Reading], pickle.load(process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError):
            self._drop()
            return None

    def _busy_seconds(self) -> float:
        with self._lock:
            own = [process.pid for process in self._processes]
        return busy_seconds_of_others(own)

    def _process(self) -> subprocess.Popen[bytes]:
        """The worker of this thread, started if need be. Raises OSError or EOFError where that fails."""
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


def _lost(request: ReadRequest) -> Reading:
    # Its text is not known here; with an empty digest, it is read again once it changes.
    record = record_of(request, "")
    reason = f"{request.entry.path}: the process that read it ended"
    return Reading(IndexedFile.left_out(record), unreadable=reason)
