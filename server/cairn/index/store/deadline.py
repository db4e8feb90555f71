"""The end of a query: when its client no longer waits, or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from attrs import field, frozen

from cairn.errors import OutOfTimeError, QueryCancelledError
from cairn.startup.figures import thread_seconds

Cancelled = Callable[[], bool]
"""Returns true once the client no longer waits for the answer."""


def never() -> bool:
    return False


_ends: ContextVar[Cancelled] = ContextVar("ends", default=never)


@contextmanager
def ended_by(ended: Cancelled) -> Iterator[None]:
    """Let the queries of the block end once `ended()` is true, also those in other threads that work for the
    block (`cairn.startup.figures.part_of_request`)."""
    token = _ends.set(ended)
    try:
        yield
    finally:
        _ends.reset(token)


def uninterrupted() -> AbstractContextManager[None]:
    """Let the queries of the block run to their end, for a value that later queries use. While a user types,
    each query is cancelled by the next one, and none would ever have the value."""
    return ended_by(never)


def query_end() -> Cancelled:
    """Return the function that tells whether the query of this thread must end."""
    return _ends.get()


def check_end() -> None:
    """Raise QueryCancelledError if the client of this thread's request no longer waits, or OutOfTimeError if
    only the time of a Deadline is over. Every read of the index does this. Call it where a request works for
    more than a millisecond without one."""
    ended = _ends.get()
    if ended():
        raise interruption(ended)


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


def interruption(ended: Cancelled) -> OutOfTimeError | QueryCancelledError:
    """Return the error for a query that was interrupted because `ended()` is true."""
    if isinstance(ended, Deadline) and ended.is_over and not ended.cancelled():
        return OutOfTimeError("The query ran out of time.")
    return QueryCancelledError("The request was cancelled.")
