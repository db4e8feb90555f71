"""How much of the machine other programs take, so that what is slow because of them is not taken for a fault of ours."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

import psutil

_EVERY_SECONDS = 1.0
_KEPT_SECONDS = 600.0


Sample = tuple[float, float, float]
"""Seconds of `time.monotonic`, those that all cores together were busy, and those of this process among them."""


def _sample() -> Sample:
    times = psutil.cpu_times()
    # Which there are depends on the system. Time of guests is counted in that of users as well.
    names = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
    busy = sum(getattr(times, name, 0.0) for name in names)
    return time.monotonic(), busy, time.process_time()


class OtherPrograms:
    """Samples of the machine's and this process's time. Methods may be called from several threads at once."""

    def __init__(
        self,
        read: Callable[[], Sample] = _sample,
        cores: int = os.cpu_count() or 1,
        every_seconds: float = _EVERY_SECONDS,
    ) -> None:
        self._read = read
        self._cores = cores
        self._every_seconds = every_seconds
        self._samples: deque[Sample] = deque()
        self._looked = float("-inf")
        self._lock = threading.Lock()

    def look(self) -> None:
        """Take a sample, unless that was done just now; 50 µs."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < self._every_seconds:
                return
            self._looked = now
            self._samples.append(self._read())
            while self._samples[-1][0] - self._samples[0][0] > _KEPT_SECONDS:
                self._samples.popleft()

    def share(self, seconds: float) -> float:
        """The share of all cores that other programs took during the last `seconds`, 0 to 1; 0 where that is not known."""
        self.look()
        with self._lock:
            now, busy, own = self._samples[-1]
            then, busy_then, own_then = next(each for each in self._samples if now - each[0] <= seconds)
        if now <= then:
            return 0.0
        return min(1.0, max(0.0, (busy - busy_then - (own - own_then)) / ((now - then) * self._cores)))
