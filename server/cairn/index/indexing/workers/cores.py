"""The number of worker processes that may work at once: one for each core that other programs leave idle."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

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
