"""The workers of one indexing job: as many processes as there are cores to spare, each led by a thread of this process."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import cast

import psutil

from cairn.index.indexing.reading import Reading, ReadRequest, record_of
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.recipe import StaticRecipe

_PROGRAM = "from cairn.index.indexing.workers.process import serve; serve()"
_BATCH_BYTES, _BATCH_FILES = 200_000, 64
"""Files go to a worker by so many at most, whichever is less: what waits for the writer takes memory. Not tuned yet."""
_AHEAD = 2
"""Batches that wait beside those at work, so that no worker waits for the writer."""
_END_SECONDS = 5.0
"""A worker that does not end by then is killed."""


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
            process.kill()  # they have nothing to lose
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            _forget(process)

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
            pickle.dump((self._root, self._recipe, batch), process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            return cast(list[Reading], pickle.load(process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError):
            self._drop()
            return None

    def _process(self) -> subprocess.Popen[bytes]:
        """The worker of this thread, started if need be. Raises OSError or EOFError where that fails."""
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None:
            with self._lock:
                if self._closed:
                    raise EOFError("the pool is closed")
                process = self._local.process = _start(self._program)
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
            process.kill()
            _forget(process)


def spare_cores(wanted: int = 0) -> int:
    """How many workers to start: `wanted`, or by the cores of this process and what else they do. 1 means none: the thread
    that writes does it all."""
    if wanted:
        return wanted
    cores = _cores()
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None and not battery.power_plugged:
        return max(1, cores // 2)
    busy = int(psutil.getloadavg()[0])  # over the last minute; other folders' indexing included
    return max(1, cores // 2, cores - busy)


def _cores() -> int:
    """The cores that this process may use."""
    count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # a container may have less of them, as time (cgroup v2)
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        count = min(count, max(1, int(quota) // int(period)))
    return int(count)


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


def _start(program: str) -> subprocess.Popen[bytes]:
    # With the same search path, and without the current directory, whose modules are somebody's workspace.
    path = [entry for entry in sys.path if entry]
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path!r}; {program}"]
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, creationflags=flags)


def _forget(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
