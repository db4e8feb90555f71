"""Background work steps aside while a question is being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LONGEST_WAIT = 0.25
"""Seconds to step aside at once; questions without end must not stop indexing."""
_LOOK_SECONDS = 0.01
"""How soon something urgent is seen meanwhile."""
_TURN = 0.5
"""Share of the time waited that is worked afterwards in any case: one question right after another, as somebody types,
would else let indexing take one file for each."""


class QueryGate:
    """Shared by the threads that answer and those that index."""

    def __init__(self) -> None:
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
            while self._running and not urgent() and time.monotonic() - began < _LONGEST_WAIT:
                self._changed.wait(_LOOK_SECONDS)
        now = time.monotonic()
        self._owed_until = now + _TURN * (now - began)
