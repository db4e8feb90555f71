"""Values that take long to make, for people who look at a page: made on a thread of their own, so that nobody waits for long."""

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
"""A page waits so long for what is not made yet: it appears within 200 ms, and most folders are looked through by then."""
_AFTER_FAILURE_SECONDS = 30.0
"""What could not be made is not tried again before."""
_SHARE = 0.02
"""So much of the time may be spent on making a value anew."""


@define(eq=False)
class InBackground(Generic[T]):
    """One value. May be asked for by several threads at once."""

    _value: T | None = None
    _version: object = None
    _due: float = -math.inf
    """When the value is too old."""
    _rests_until: float = -math.inf
    """No other version is made before."""
    _making: threading.Event | None = None
    """Set when the thread that makes it now has ended."""
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def get(
        self, version: object, make: Callable[[], T], fresh_seconds: float, wait: float = WAIT_SECONDS
    ) -> T | None:
        """The value of this version and no older than so, if it can be had within `wait` seconds; else the one before.

        None before there is the first. `make` is called on another thread; where it fails, it is tried again after half a minute. What
        takes long is not made for each version, but for a small share of the time.
        """
        with self._lock:
            now = time.monotonic()
            if now < (self._due if self._version == version else self._rests_until):
                return self._value
            making = self._making
            if making is None:
                making = self._making = threading.Event()
                name = "cairn-count"
                threading.Thread(
                    target=self._make, args=(version, make, fresh_seconds, making), name=name, daemon=True
                ).start()
        making.wait(max(0.0, wait))
        return self._value

    def _make(
        self, version: object, make: Callable[[], T], fresh_seconds: float, making: threading.Event
    ) -> None:
        began = time.monotonic()
        try:
            value = make()
            now = time.monotonic()
            with self._lock:
                self._value, self._version = value, version
                self._rests_until = now + (now - began) / _SHARE
                self._due = max(now + fresh_seconds, self._rests_until)
        except Exception:  # Whatever it is, the page shows all else.
            logger.exception("what a page shows could not be made")
            self._rests_until = self._due = time.monotonic() + _AFTER_FAILURE_SECONDS
            self._version = version
        finally:
            self._making = None
            making.set()
