"""Measures the processor time of other programs, so that the kill switch does not react to their load."""

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
"""The time (`time.monotonic`), the busy seconds of all cores, and the seconds that this process used."""


def _sample() -> Sample:
    times = psutil.cpu_times()
    # The names depend on the system. The time of guests is left out because `user` includes it.
    names = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
    busy = sum(getattr(times, name, 0.0) for name in names)
    return time.monotonic(), busy, time.process_time()


class OtherPrograms:
    """Samples the processor time of the machine and of this process. Thread-safe."""

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
        self._sampled = float("-inf")
        self._lock = threading.Lock()

    def sample(self) -> None:
        """Take a sample in 50 µs, unless the latest sample is recent."""
        with self._lock:
            now = time.monotonic()
            if now - self._sampled < self._every_seconds:
                return
            self._sampled = now
            self._samples.append(self._read())
            while self._samples[-1][0] - self._samples[0][0] > _KEPT_SECONDS:
                self._samples.popleft()

    def share(self, seconds: float) -> float:
        """Return the share (0 to 1) of all cores that others used in the last `seconds`; 0 if unknown."""
        self.sample()
        with self._lock:
            now, busy, own = self._samples[-1]
            then, busy_then, own_then = next(each for each in self._samples if now - each[0] <= seconds)
        if now <= then:
            return 0.0
        return min(1.0, max(0.0, (busy - busy_then - (own - own_then)) / ((now - then) * self._cores)))
