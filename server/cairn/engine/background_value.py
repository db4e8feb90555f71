"""Computes slow values for the web page on background threads, so that the page never waits long."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.08
"""How many seconds a page waits for a missing value. The page must appear within 200 ms."""
_AFTER_FAILURE_SECONDS = 30.0
_SHARE = 0.02
"""The maximum share of the thread's time that computing newer versions takes."""


@define(eq=False)
class BackgroundValue(Generic[T]):
    """One value that a background thread computes. Thread-safe."""

    _value: T | None = None
    _version: object = None
    _expires: float = -math.inf
    """The time after which the value is computed again even if its version is unchanged."""
    _next_start: float = -math.inf
    """The earliest time at which another version is computed."""
    _running: threading.Event | None = None
    """The event that the running thread sets when it ends; None without one."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def get(
        self, version: object, make: Callable[[], T], fresh_seconds: float, wait: float = WAIT_SECONDS
    ) -> T | None:
        """Return the value of this version, at most `fresh_seconds` old, or else an older value.

        Wait at most `wait` seconds for a value that is not ready. Return None before the first value is
        ready. Another thread calls `make`, and retries half a minute after a failure. Versions are skipped if
        computing takes long.
        """
        with self._lock:
            now = time.monotonic()
            if now < (self._expires if self._version == version else self._next_start):
                return self._value
            running = self._running
            if running is None:
                running = self._running = threading.Event()
                make_args = (version, make, fresh_seconds, running)
                threading.Thread(target=self._make, args=make_args, name="cairn-count", daemon=True).start()
        running.wait(max(0.0, wait))
        return self._value

    def _make(
        self, version: object, make: Callable[[], T], fresh_seconds: float, running: threading.Event
    ) -> None:
        began = time.monotonic()
        try:
            value = make()
            now = time.monotonic()
            with self._lock:
                self._value, self._version = value, version
                self._next_start = now + (now - began) / _SHARE
                self._expires = max(now + fresh_seconds, self._next_start)
        except Exception:  # The page shows everything else.
            logger.exception("A value for the page could not be computed.")
            self._next_start = self._expires = time.monotonic() + _AFTER_FAILURE_SECONDS
            self._version = version
        finally:
            self._running = None
            running.set()
