"""Caches the latest answers, so that repeating a request is free. A stale answer is never returned.

The key must include everything on which the answer depends, except the files that it quotes. So no answer
needs to be invalidated: stale keys are never requested again, and their answers are evicted. The quoted files
are compared before the answer is reused, because the index always lags a little behind the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from attrs import frozen
from cachetools import LRUCache

_MOST_CHARACTERS, _FEWEST_CHARACTERS = 8_000_000, 30_000
"""The maximum number of characters of all answers together, and the size as which a small answer counts, so
that at most 266 stay. Ten results with context have some 30,000."""

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """A least-recently-used cache of answers, bounded in size. Thread-safe."""

    def __init__(
        self, most_characters: int = _MOST_CHARACTERS, fewest_characters: int = _FEWEST_CHARACTERS
    ) -> None:
        self._answers: LRUCache[Hashable, tuple[T, int]] = LRUCache(most_characters, lambda kept: kept[1])
        """The answers with their numbers of characters."""
        self._fewest_characters = fewest_characters
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable, is_current: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return the cached answer if `is_current` accepts it, else None. Count a hit or a miss."""
        with self._lock:
            cached = self._answers.get(key)
        answer = cached[0] if cached and is_current(cached[0]) else None  # This may read files, so no lock.
        with self._lock:
            self.hits += answer is not None
            self.misses += answer is None
        return answer

    def get_or_make(self, key: Hashable, make: Callable[[], T], characters: Callable[[T], int]) -> T:
        """Return the cached answer, or make and cache it. `characters` returns its number of characters."""
        answer = self.get(key)
        if answer is None:
            answer = make()
            self.put(key, answer, characters(answer))
        return answer

    def latest(self, is_wanted: Callable[[Any], bool]) -> T | None:
        """Return the latest answer whose key is wanted, else None. Count no hit or miss."""
        with self._lock:
            key = next(filter(is_wanted, reversed(list(self._answers))), None)
            return None if key is None else self._answers[key][0]

    def put(self, key: Hashable, answer: T, characters: int) -> None:
        """Cache an answer with this number of characters, unless it is larger than the whole cache."""
        with self._lock, suppress(ValueError):
            self._answers.pop(key, None)
            self._answers[key] = (answer, max(characters, self._fewest_characters))

    def clear(self) -> None:
        """Drop all answers, but not the counts of hits and misses."""
        with self._lock:
            self._answers.clear()


LinesOf = Callable[[str], Sequence[str] | None]


@frozen
class CachedAnswer:
    """An answer, and hashes of the files that it quotes."""

    answer: Any
    files: Mapping[str, int | None]
    """A hash of the lines of each file, by URI."""

    @classmethod
    def of(cls, answer: Any, files: Mapping[str, Sequence[str] | None]) -> CachedAnswer:
        return cls(answer, {uri: _hash_of(lines) for uri, lines in files.items()})

    def is_current(self, lines_of: LinesOf) -> bool:
        return all(_hash_of(lines_of(uri)) == known for uri, known in self.files.items())


def _hash_of(lines: Sequence[str] | None) -> int | None:
    """Return a hash that is valid in this process; None for a file that is gone or not text."""
    return None if lines is None else hash(tuple(lines))
