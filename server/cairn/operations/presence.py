"""Measures how long a server process, such as `cairn serve`, has been idle, so that it can end itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Presence:
    """Counts connected editors, running requests and open streams. Use it on one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._here = 0
        self._left = False
        self._left_at = clock()
        self._changed = asyncio.Event()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Count a connection, request or stream during the block."""
        self._here += 1
        self._changed.set()
        try:
            yield
        finally:
            self._here -= 1
            self._left = True
            self._left_at = self._clock()
            self._changed.set()

    def seconds_left(self, patience: float) -> float | None:
        """Return the number of seconds until `patience` seconds of idleness are over; None while in use."""
        return None if self._here else max(0.0, self._left_at + patience - self._clock())

    async def arrival(self) -> None:
        """Wait for the first use."""
        while not self._here and not self._left:
            self._changed.clear()
            await self._changed.wait()

    async def over(self, patience: float) -> None:
        """Wait until the process has been idle for `patience` seconds."""
        while (left := self.seconds_left(patience)) != 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue
