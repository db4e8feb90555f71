"""The end of a query: when its client no longer waits, or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import field, frozen

from cairn.errors import QueryCancelledError
from cairn.startup.figures import thread_seconds

Cancelled = Callable[[], bool]
"""Returns true once the client no longer waits for the answer."""


def never() -> bool:
    return False


_cancelled: ContextVar[Cancelled] = ContextVar("cancelled", default=never)


@contextmanager
def cancelled_by(cancelled: Cancelled) -> Iterator[None]:
    """Let `check_cancelled` in the block ask `cancelled`, also in other threads that work for the block
    (`cairn.startup.figures.part_of_request`)."""
    token = _cancelled.set(cancelled)
    try:
        yield
    finally:
        _cancelled.reset(token)


def check_cancelled() -> None:
    """Raise QueryCancelledError if the client of this thread's request no longer waits. Every read of the
    index does this. Call it where a request works for more than a millisecond without one."""
    if _cancelled.get()():
        raise QueryCancelledError("The request was cancelled.")


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
