"""Reads columns of query results as arrays.

SQLite returns each column as one string of numbers: 80,000 take 9 ms that way, and 54 ms row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


def read_ids(db: apsw.Connection, select: str, values: Sequence[Any] = ()) -> Ids:
    """Return the column `id` of the query's result, int64[n]."""
    return numbers(db.execute(f"SELECT group_concat(id) FROM ({select})", tuple(values)).get)


def numbers(text: object) -> Ids:
    """Parse comma-separated numbers to int64[n]; None gives an empty array."""
    return np.fromstring(str(text), np.int64, sep=",") if text else np.empty(0, np.int64)
