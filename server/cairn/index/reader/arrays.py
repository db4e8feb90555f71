"""Reads a column of a query's result as an array.

SQLite returns the column as one string of numbers. For 80,000 numbers this takes 9 ms; reading row by row
takes 54 ms.
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
    """Return comma-separated numbers as int64[n], and None as an empty array."""
    return np.fromstring(str(text), np.int64, sep=",") if text else np.empty(0, np.int64)
