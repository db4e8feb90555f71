"""When a query must end: when nobody waits for it any more, or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import field, frozen

Cancelled = Callable[[], bool]
"""Whether nobody waits for the answer any more."""


def never() -> bool:
    """A request that nobody cancels."""
    return False


_LONGEST = 4.0
"""A query ends after this many times its time, however little of it the query has worked."""


@frozen
class Deadline:
    """Calling it says whether the query must end; in the thread that made it. SQLite calls it while a statement runs, so it
    must be cheap.

    What counts is the thread's own work: a query that waits for a core or for Python's lock, because a build or other
    questions run beside it, would else be broken off with nothing found.
    """

    cancelled: Cancelled
    ms: float = float("inf")
    """Milliseconds of work from now on."""
    _ends: tuple[float, float, float] = field(init=False)
    """When, by the thread's clock; and by the wall's at the earliest and at the latest."""

    @_ends.default
    def _end(self) -> tuple[float, float, float]:
        seconds, now = self.ms / 1000, time.perf_counter()
        return time.thread_time() + seconds, now + seconds, now + _LONGEST * seconds

    def __call__(self) -> bool:
        return self.is_over or self.cancelled()

    @property
    def is_over(self) -> bool:
        """Whether the time is over, cancelled or not."""
        by_work, earliest, latest = self._ends
        now = time.perf_counter()
        # No thread works for longer than passes; its own clock takes ten times as long to read.
        return now >= earliest and (now >= latest or time.thread_time() >= by_work)
