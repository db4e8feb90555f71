"""Background work steps aside while a question is being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field

_LOOK_SECONDS = 0.01
"""How soon something urgent is seen meanwhile."""


@define(eq=False)
class QueryGate:
    """Shared by the threads that answer and those that index."""

    longest_wait: float = 0.25
    """Work steps aside for so many seconds at once, since questions without end must not stop indexing."""
    _turn: float = 0.5
    """Then it goes on for this share of the time waited in any case: one question right after another, as somebody
    types, would else let indexing take one file for each."""
    _running: int = field(default=0, init=False)
    _changed: threading.Condition = field(factory=threading.Condition, init=False)
    _owed_until: float = field(default=0.0, init=False)

    @contextmanager
    def query(self) -> Iterator[None]:
        """Around everything that a person waits for."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    def step_aside(self, urgent: Callable[[], bool] = lambda: False) -> None:
        """Wait while questions are answered, unless there is something urgent to do; called between two pieces of
        background work."""
        if not self._running or time.monotonic() < self._owed_until:
            return
        began = time.monotonic()
        with self._changed:
            while self._running and not urgent() and time.monotonic() - began < self.longest_wait:
                self._changed.wait(_LOOK_SECONDS)
        now = time.monotonic()
        self._owed_until = now + self._turn * (now - began)
