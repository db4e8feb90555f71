"""Measures how many queries a process runs at the same time, on average over the duration of one query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field


@define(eq=False)
class Concurrency:
    """The concurrency during one query, known after the query ends."""

    mean: float = 1.0
    """The mean number of running queries. It is at least 1, because the query itself counts."""


@define(eq=False)
class ConcurrentQueries:
    """Counts the running queries. Thread-safe."""

    _clock: Callable[[], float] = time.monotonic
    _count: int = field(default=0, init=False)
    _query_seconds: float = field(default=0.0, init=False)
    """The integral of the count over time, in query-seconds."""
    _since: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    @contextmanager
    def counted(self) -> Iterator[Concurrency]:
        """Count a query during the block. The yielded object gets its mean when the block ends."""
        concurrency = Concurrency()
        began, before = self._change(1)
        try:
            yield concurrency
        finally:
            ended, after = self._change(-1)
            if ended > began:
                concurrency.mean = max(1.0, (after - before) / (ended - began))

    def _change(self, by: int) -> tuple[float, float]:
        """Change the count. Return the current time and the query-seconds so far."""
        with self._lock:
            now = self._clock()
            self._query_seconds += self._count * (now - self._since)
            self._since, self._count = now, self._count + by
            return now, self._query_seconds


CONCURRENT_QUERIES = ConcurrentQueries()
