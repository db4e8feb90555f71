"""Background work steps aside while a question is being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_WAIT = 0.25
"""Seconds to step aside at once; questions without end must not stop indexing."""
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

    def step_aside(self) -> None:
        """Wait while questions are answered; called between two pieces of background work."""
        if not self._running or time.monotonic() < self._owed_until:
            return
        began = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, _LONGEST_WAIT)
        now = time.monotonic()
        self._owed_until = now + _TURN * (now - began)
