"""When a query is to end: because nobody waits for it any more, or because it has had its time."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import field, frozen


@frozen
class Until:
    """True once the query is to end. SQLite asks it while a statement runs, so it must be cheap."""

    cancelled: Callable[[], bool]
    ms: float = float("inf")
    """Milliseconds from now until it has had its time."""
    _ends: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_ends", time.perf_counter() + self.ms / 1000)

    def __call__(self) -> bool:
        return time.perf_counter() >= self._ends or self.cancelled()

    @property
    def ms_left(self) -> float:
        """Milliseconds, 0 at least."""
        return max(0.0, (self._ends - time.perf_counter()) * 1000)

    @property
    def is_over(self) -> bool:
        """Whether it has had its time, cancelled or not."""
        return time.perf_counter() >= self._ends
