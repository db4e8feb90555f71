"""How many questions a process answers at once, on average while one of them is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field


@define(eq=False)
class Sharing:
    """How many questions one shared the process with; known once it is answered."""

    mean: float = 1.0
    """At least 1, for itself."""


@define(eq=False)
class QuestionsAtOnce:
    """Counts the questions that are being answered. May be used by several threads at once."""

    _clock: Callable[[], float] = time.monotonic
    _count: int = field(default=0, init=False)
    _question_seconds: float = field(default=0.0, init=False)
    """The sum over all seconds of how many were answered."""
    _since: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    @contextmanager
    def counted(self) -> Iterator[Sharing]:
        """Count a question until the block ends; then it is known how many there were meanwhile."""
        sharing = Sharing()
        began, before = self._changed(1)
        try:
            yield sharing
        finally:
            ended, after = self._changed(-1)
            if ended > began:
                sharing.mean = max(1.0, (after - before) / (ended - began))

    def _changed(self, by: int) -> tuple[float, float]:
        """The time now, and the question-seconds until now."""
        with self._lock:
            now = self._clock()
            self._question_seconds += self._count * (now - self._since)
            self._since, self._count = now, self._count + by
            return now, self._question_seconds


AT_ONCE = QuestionsAtOnce()
"""One for the whole process, because its engines share the cores and the interpreter's lock."""
