"""How long requests take, over the latest of them."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence

_WINDOW = 500


def rank_of(share: float, count: int) -> int:
    """The place, from 1, of the percentile among `count` values in order (the nearest rank).

    `share` is 0 to 1. What only rounding makes more than a whole number is taken for that: 0.07 * 100 is
    7.000000000000001.
    """
    return max(1, math.ceil(share * count - 1e-9))


def percentile(durations: Sequence[float], share: float) -> float | None:
    """The duration that `share` (0 to 1) of them did not exceed; None of none."""
    return sorted(durations)[rank_of(share, len(durations)) - 1] if durations else None


class LatencyWindow:
    """The latest durations in ms, and their percentiles."""

    def __init__(self) -> None:
        self._durations: deque[float] = deque(maxlen=_WINDOW)
        self._lock = threading.Lock()

    def add(self, milliseconds: float) -> None:
        """Take one duration in; the oldest leaves once there are 500."""
        with self._lock:
            self._durations.append(milliseconds)

    def percentile(self, share: float) -> float | None:
        """The duration in ms that `share` (0 to 1) of the requests did not exceed; None before the first."""
        with self._lock:
            durations = list(self._durations)
        found = percentile(durations, share)
        return None if found is None else round(found, 3)
