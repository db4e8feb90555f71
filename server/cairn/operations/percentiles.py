"""Percentiles of request durations."""

from __future__ import annotations

import math
from collections.abc import Iterable


def rank_of(share: float, count: int) -> int:
    """Return the 1-based nearest rank of the percentile `share` (0 to 1) among `count` sorted values.

    Rounding errors, as in 0.07 * 100 = 7.000000000000001, are ignored.
    """
    return max(1, math.ceil(share * count - 1e-9))


def percentile(durations: Iterable[float], share: float) -> float | None:
    """Return the duration that `share` (0 to 1) of the durations do not exceed; None if there are none."""
    ordered = sorted(durations)
    return ordered[rank_of(share, len(ordered)) - 1] if ordered else None
