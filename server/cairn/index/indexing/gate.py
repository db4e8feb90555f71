"""Background work steps aside while a question is being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_SECONDS = 0.01
"""How soon something urgent is seen meanwhile."""


class QueryGate:
    """Shared by the threads that answer and those that index."""

    def __init__(self, longest_wait: float = 0.25, turn: float = 0.5) -> None:
        """Work steps aside for `longest_wait` seconds at once, since questions without end must not stop indexing. Then
        it goes on for the share `turn` of the time waited in any case: one question right after another, as somebody
        types, would else let indexing take one file for each.
        """
        self.longest_wait = longest_wait
        self._turn = turn
        self._running = 0
        self._changed = threading.Condition()
        self._owed_until = 0.0

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
