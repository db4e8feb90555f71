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
"""So much of the time may be spent on making it anew, where the index is large."""
_FEWEST_SECONDS = 10.0
"""It is not made anew before these have passed, however little time it takes."""

T = TypeVar("T")


def due_again(began: float) -> float:
    """When to make anew what was just made of a large index, and was begun at `began`."""
    now = time.monotonic()
    return now + max(_FEWEST_SECONDS, (now - began) / _SHARE)


@define(eq=False)
class Kept(Generic[T]):
    """One value. May be asked for by several threads at once."""

    _value: T | None = None
    _version: tuple[object, int] | None = None
    """The index and the content that it was made of."""
    _due: float = -math.inf
    """From when on it is too old, where the index is large."""
    _making: threading.Lock = field(factory=threading.Lock, init=False)

    def get(self, identity: object, facts: Facts, make: Callable[[], T]) -> T:
        """The value for the index `identity` as it is at the moment of `facts`; of a large index, as it was a moment ago.

        Of a large one a single thread makes it anew: the others go on with the one before.
        """
        version, known = (identity, facts.content), self._version
        is_usable = facts.chunks >= MANY_CHUNKS and known is not None and known[0] == identity
        if version == known or (is_usable and time.monotonic() < self._due):
            return cast(T, self._value)
        if not self._making.acquire(blocking=not is_usable):
            return cast(T, self._value)
        try:
            if version != self._version:  # nobody made it while this thread waited
                began = time.monotonic()
                value = make()
                self._due = due_again(began)
                self._value, self._version = value, version
            return cast(T, self._value)
        finally:
            self._making.release()
