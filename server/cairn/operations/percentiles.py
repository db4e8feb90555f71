"""Percentiles of request durations."""

from __future__ import annotations

import math
from collections.abc import Iterable


def rank_of(share: float, count: int) -> int:
    """Return the 1-based rank of the percentile `share` (0 to 1) among `count` sorted values (nearest rank).

    It ignores rounding errors, such as in 0.07 * 100 = 7.000000000000001.
    """
    return max(1, math.ceil(share * count - 1e-9))


def percentile(durations: Iterable[float], share: float) -> float | None:
    """Return the duration that `share` (0 to 1) of them did not exceed; None without durations."""
    ordered = sorted(durations)
    return ordered[rank_of(share, len(ordered)) - 1] if ordered else None
