"""Caches of values derived from a whole index. Those of a large index are only refreshed now and then."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from attrs import define, field

from cairn.index.store.meta import Facts

MANY_CHUNKS = 200_000
"""The number of chunks from which an index is large. Deriving a value then takes 0.1 s or more, and the first
query after each save would wait for it."""
_SHARE = 0.01
"""The share of time that may be spent on refreshing a value of a large index."""
_FEWEST_SECONDS = 10.0
"""The minimum time between two refreshes of a value of a large index."""

T = TypeVar("T")


def due_again(began: float) -> float:
    """Return when to refresh a value of a large index, computed from the time `began` until now."""
    now = time.monotonic()
    return now + max(_FEWEST_SECONDS, (now - began) / _SHARE)


@define(eq=False)
class ContentCache(Generic[T]):
    """One value derived from an index. Several threads may use it at once."""

    _value: T | None = None
    _version: tuple[object, int] | None = None
    """The identity of the index and the version of its content from which the value was derived."""
    _due: float = -math.inf
    """When the value of a large index must be refreshed."""
    _making: threading.Lock = field(factory=threading.Lock, init=False)

    def get(self, identity: object, facts: Facts, make: Callable[[], T]) -> T:
        """Return the value for the index `identity` in the state of `facts`. The value of a large index may
        be older; while one thread refreshes it, other threads get the old value."""
        version, known = (identity, facts.content), self._version
        is_usable = facts.chunks >= MANY_CHUNKS and known is not None and known[0] == identity
        if version == known or (is_usable and time.monotonic() < self._due):
            return cast(T, self._value)
        if not self._making.acquire(blocking=not is_usable):
            return cast(T, self._value)
        try:
            if version != self._version:  # No other thread made it meanwhile.
                began = time.monotonic()
                value = make()
                self._due = due_again(began)
                self._value, self._version = value, version
            return cast(T, self._value)
        finally:
            self._making.release()
