"""Percentiles of how long requests take."""

from __future__ import annotations

import math
from collections.abc import Iterable


def rank_of(share: float, count: int) -> int:
    """The place, from 1, of the percentile among `count` values in order (the nearest rank).

    `share` is 0 to 1. What only rounding makes more than a whole number is taken for that: 0.07 * 100 is
    7.000000000000001.
    """
    return max(1, math.ceil(share * count - 1e-9))


def percentile(durations: Iterable[float], share: float) -> float | None:
    """The duration that `share` (0 to 1) of them did not exceed; None of none."""
    ordered = sorted(durations)
    return ordered[rank_of(share, len(ordered)) - 1] if ordered else None
