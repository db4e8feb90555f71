"""Keeps questions quick while the same process indexes."""

from __future__ import annotations

import sys

_SWITCH_SECONDS = 0.0005
"""A query gives the interpreter's lock away some twenty times, to read the index, and would wait for the indexing thread up
to 5 ms, Python's own interval, each time."""


def let_queries_in() -> None:
    """Have threads hand over the interpreter sooner, in the whole process: for one that answers and indexes."""
    sys.setswitchinterval(_SWITCH_SECONDS)
