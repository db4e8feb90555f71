"""How long requests take, over the latest of them."""

from __future__ import annotations

import math
import threading
from collections import deque

_WINDOW = 500


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
            ordered = sorted(self._durations)
        return round(ordered[math.ceil(share * len(ordered)) - 1], 3) if ordered else None
