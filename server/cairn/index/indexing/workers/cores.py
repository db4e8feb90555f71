"""How many worker processes may be at work: as many as there are cores that nobody else uses."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

_EVERY_SECONDS = 2.0
"""Between two looks at what others do: shorter ones take a single compiler call for a build."""
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
"""What psutil counts as time at work; which of them there are depends on the system."""


def most_workers(wanted: int = 0) -> int:
    """How many workers to have: `wanted`, or one for each core of this process, on battery for every other one.

    1 means none: the thread that writes does it all.
    """
    if wanted:
        return wanted
    cores = _own_cores()
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return max(1, cores // 2) if battery is not None and not battery.power_plugged else cores


def _own_cores() -> int:
    """The cores that this process may use."""
    count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # a container may have less of them, as time (cgroup v2)
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        count = min(count, max(1, int(quota) // int(period)))
    return int(count)


class Turns:
    """Lets so many threads work at once as there are cores to spare: fewer while others compute, a build for example.

    Each thread works inside a `with` statement. How many may is decided anew every two seconds.
    """

    def __init__(self, most: int, busy_seconds: Callable[[], float]) -> None:
        """`most` threads at once; `busy_seconds` gives the time that others have computed so far, on all cores together."""
        self._most = self._allowed = most
        self._busy_seconds = busy_seconds
        self._looked, self._busy = time.monotonic(), busy_seconds()
        self._at_work = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._look()
            while self._at_work >= self._allowed:
                self._changed.wait(_EVERY_SECONDS)
                self._look()
            self._at_work += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._at_work -= 1
            self._changed.notify_all()

    def _look(self) -> None:
        now = time.monotonic()
        if (passed := now - self._looked) < _EVERY_SECONDS:
            return
        busy = self._busy_seconds()
        self._allowed = max(1, self._most - round((busy - self._busy) / passed))
        self._looked, self._busy = now, busy


def busy_seconds_of_others(own: Iterable[int]) -> float:
    """CPU seconds that were used on this machine so far, but by this process and those with the ids `own`."""
    times = psutil.cpu_times()
    return sum(getattr(times, name, 0.0) for name in _BUSY) - time.process_time() - sum(map(_seconds_of, own))


def _seconds_of(process: int) -> float:
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(process).cpu_times()
        return float(times.user + times.system)
    return 0.0
