"""What is made of a whole index, and kept: of a small one while its content stays, of a large one for some time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from attrs import define, field

from cairn.index.store.meta import Facts

MANY_CHUNKS = 200_000
"""From so many on, what is made of all files takes a tenth of a second and more; while somebody saves, each question would make it anew."""
_SHARE = 0.01
"""Of a large index it is made anew for so much of the time at most."""
_FEWEST_SECONDS = 3.0

T = TypeVar("T")


@define(eq=False)
class Kept(Generic[T]):
    """One value. May be asked for by several threads at once."""

    _value: T | None = None
    _version: tuple[object, int] | None = None
    """Of which index and content it is."""
    _due: float = -math.inf
    """When that of a large index is too old."""
    _making: threading.Lock = field(factory=threading.Lock, init=False)

    def get(self, identity: object, facts: Facts, make: Callable[[], T]) -> T:
        """The value for the index `identity` as it is at the moment of `facts`; of a large index, as it was a moment ago.

        Of a large one a single thread makes it anew: the others go on with the one before.
        """
        version, known = (identity, facts.content), self._version
        if version == known:
            return cast(T, self._value)
        may_be_old = facts.chunks >= MANY_CHUNKS and known is not None and known[0] == identity
        if may_be_old and (time.monotonic() < self._due or not self._making.acquire(blocking=False)):
            return cast(T, self._value)
        if not may_be_old:
            self._making.acquire()
        try:
            began = time.monotonic()
            value = make()
            now = time.monotonic()
            self._due = now + max(_FEWEST_SECONDS, (now - began) / _SHARE)
            self._value, self._version = value, version
            return value
        finally:
            self._making.release()
