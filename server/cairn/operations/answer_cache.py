"""Remembers the latest answers, so that the same question twice is free.

An answer is found only under everything that it depends on; whoever makes the key answers for that. So nothing is ever
invalidated: what is out of date is asked for no more, and falls out.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

_MOST_ANSWERS = 256
_MOST_CHARACTERS = 8_000_000
"""Of text in all answers together; an answer of ten results with what stands around them has some 30,000."""

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The answers used last, within bounds of number and size. Methods may be called from several threads at once."""

    def __init__(self, most_answers: int = _MOST_ANSWERS, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most_answers = most_answers
        self._most_characters = most_characters
        self._answers: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        """With the characters of each; the one used last at the end."""
        self._characters = 0
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable, stands: Callable[[T], bool] = lambda _: True) -> T | None:
        """The answer kept under `key`, None if there is none, or it `stands` no more; counts which of the two it was."""
        with self._lock:
            kept = self._answers.get(key)
        found = kept is not None and stands(kept[0])  # which may read files
        with self._lock:
            if not found:
                self.misses += 1
                return None
            self.hits += 1
            if key in self._answers:
                self._answers.move_to_end(key)
        return kept[0] if kept else None

    def kept(self, key: Hashable, make: Callable[[], T], characters: Callable[[T], int]) -> T:
        """The answer kept under `key`; where there is none, it is made, and kept with its number of characters."""
        answer = self.get(key)
        if answer is None:
            answer = make()
            self.put(key, answer, characters(answer))
        return answer

    def latest(self, is_wanted: Callable[[Any], bool]) -> T | None:
        """The answer used last whose key is wanted, None if there is none; it counts as neither hit nor miss."""
        with self._lock:
            return next((kept for key, (kept, _) in reversed(self._answers.items()) if is_wanted(key)), None)

    def put(self, key: Hashable, answer: T, characters: int) -> None:
        """Keep an answer of so many characters; one that is larger than all room is not kept."""
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
        """Forget all answers, not how often there were any."""
        with self._lock:
            self._answers.clear()
            self._characters = 0
