"""Caches of values read or derived from an index."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from attrs import define, field
from cachetools import LRUCache

from cairn.index.store.deadline import uninterrupted
from cairn.index.store.meta import Facts

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@define(eq=False)
class GenerationCache(Generic[K, V]):
    """A thread-safe cache of at most `most` values by key. It helps because consecutive queries, as a user
    types or browses, find the same chunks and files."""

    most: int
    _known: tuple[Hashable, dict[K, V]] = field(factory=lambda: (None, {}), init=False)

    def get(
        self, version: Hashable, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, V]]
    ) -> dict[K, V]:
        """Return the values of `keys`, in their order, in `version` of the index or a later one. `read` reads
        the values that are not cached. Keys without a value are left out, and are read again next time."""
        cached = self._known
        # Another thread may still fill the old dictionary, but none reads it any more.
        if cached[0] != version:
            cached = self._known = (version, {})
        known, wanted = cached[1], list(keys)
        found = {key: value for key in wanted if (value := known.get(key)) is not None}
        missing = [key for key in wanted if key not in found]
        if missing:
            new = read(missing)
            if len(known) + len(new) > self.most:
                known = {}
                self._known = (version, known)
            known.update(new)
            found |= new
            found = {key: found[key] for key in wanted if key in found}
        return found


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
                with uninterrupted():
                    value = make()
                self._due = due_again(began)
                self._value, self._version = value, version
            return cast(T, self._value)
        finally:
            self._making.release()


def bounded(most: int, size: Callable[[V], int] = lambda value: 1) -> LRUCache[Any, V]:
    """Return a cache that evicts the least recently used values, so that the sum of their sizes is at most
    `most`. A value that is larger by itself counts as `most`. The cache is not thread-safe."""
    return LRUCache(most, getsizeof=lambda value: min(most, size(value)))
