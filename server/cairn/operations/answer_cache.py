"""Caches the latest answers, so that a repeated request is free.

The caller's key must include everything on which the answer depends. So no answer needs to be invalidated:
stale keys are never requested again, and their answers are evicted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

_MOST_ANSWERS = 256
_MOST_CHARACTERS = 8_000_000
"""The maximum number of characters of all answers together. Ten results with context have some 30,000."""

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """A least-recently-used cache of answers, bounded in number and size. Thread-safe."""

    def __init__(self, most_answers: int = _MOST_ANSWERS, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most_answers = most_answers
        self._most_characters = most_characters
        self._answers: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        """The answers with their numbers of characters, most recently used last."""
        self._characters = 0
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable, is_current: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return the cached answer if `is_current` accepts it, else None. Count a hit or a miss."""
        with self._lock:
            cached = self._answers.get(key)
        hit = cached is not None and is_current(cached[0])  # This may read files, so no lock.
        with self._lock:
            if not hit:
                self.misses += 1
                return None
            self.hits += 1
            if key in self._answers:
                self._answers.move_to_end(key)
        return cached[0] if cached else None

    def get_or_make(self, key: Hashable, make: Callable[[], T], characters: Callable[[T], int]) -> T:
        """Return the cached answer, or make and cache it. `characters` returns its number of characters."""
        answer = self.get(key)
        if answer is None:
            answer = make()
            self.put(key, answer, characters(answer))
        return answer

    def latest(self, is_wanted: Callable[[Any], bool]) -> T | None:
        """Return the most recently used answer whose key is wanted, else None. Count no hit or miss."""
        with self._lock:
            return next(
                (answer for key, (answer, _) in reversed(self._answers.items()) if is_wanted(key)), None
            )

    def put(self, key: Hashable, answer: T, characters: int) -> None:
        """Cache an answer with this number of characters, unless it is larger than the whole cache."""
        if characters > self._most_characters:
            return
        with self._lock:
            _, before = self._answers.pop(key, (None, 0))
            self._answers[key] = (answer, characters)
            self._characters += characters - before
            while len(self._answers) > self._most_answers or self._characters > self._most_characters:
                _, (_, gone) = self._answers.popitem(last=False)
                self._characters -= gone

    def clear(self) -> None:
        """Drop all answers, but not the counts of hits and misses."""
        with self._lock:
            self._answers.clear()
            self._characters = 0
