"""When a query must end: when nobody waits for it any more, or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import field, frozen

Cancelled = Callable[[], bool]
"""Whether nobody waits for the answer any more."""


@frozen
class Deadline:
    """Calling it says whether the query must end. SQLite calls it while a statement runs, so it must be cheap."""

    cancelled: Cancelled
    ms: float = float("inf")
    """Milliseconds from now on."""
    _ends: float = field(init=False)

    @_ends.default
    def _end(self) -> float:
        return time.perf_counter() + self.ms / 1000

    def __call__(self) -> bool:
        return time.perf_counter() >= self._ends or self.cancelled()

    @property
    def is_over(self) -> bool:
        """Whether the time is over, cancelled or not."""
        return time.perf_counter() >= self._ends
