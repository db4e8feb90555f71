"""The deadline of a query, which must end when it is cancelled or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import field, frozen

from cairn.startup.figures import thread_seconds

Cancelled = Callable[[], bool]
"""Returns true once the client no longer waits for the answer."""


def never() -> bool:
    return False


_LONGEST = 4.0
"""A query ends after this many times its limit by the wall clock, even if it used less CPU time."""


@frozen
class Deadline:
    """A callable that returns whether the query must end. Call it in the thread that made it.

    It measures the CPU time of the thread. Otherwise a query that waits for a core or for the GIL, because a
    build or other queries run, would be ended without results. SQLite calls it during a statement, so it must
    be cheap.
    """

    cancelled: Cancelled
    ms: float = float("inf")
    """Milliseconds of CPU time from now on."""
    _ends: tuple[float, float, float] = field(init=False)
    """The end by the thread's CPU clock, and its earliest and latest moment by the wall clock."""

    @_ends.default
    def _end(self) -> tuple[float, float, float]:
        seconds, now = self.ms / 1000, time.perf_counter()
        return (thread_seconds() or 0.0) + seconds, now + seconds, now + _LONGEST * seconds

    def __call__(self) -> bool:
        return self.is_over or self.cancelled()

    @property
    def is_over(self) -> bool:
        by_work, earliest, latest = self._ends
        now = time.perf_counter()
        # CPU time never exceeds wall time, and reading the thread's clock takes ten times as long.
        return now >= earliest and (now >= latest or _has_spent(by_work))


def _has_spent(end: float) -> bool:
    """Return whether the thread's CPU clock has reached the end; true if the system refuses this figure."""
    seconds = thread_seconds()
    return seconds is None or seconds >= end
