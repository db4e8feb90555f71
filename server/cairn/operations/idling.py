"""Knows how long nobody has needed `cairn serve`, and ends it when that was long enough."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Presence:
    """Who is there: editors that are connected, requests that are answered, streams that are open. For one
    event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._here = 0
        self._left_at = clock()
        self._changed = asyncio.Event()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Around whatever somebody waits for."""
        self._here += 1
        self._changed.set()
        try:
            yield
        finally:
            self._here -= 1
            self._left_at = self._clock()
            self._changed.set()

    def seconds_left(self, patience: float) -> float | None:
        """Until nobody has been there for `patience` seconds; None while somebody is."""
        return None if self._here else max(0.0, self._left_at + patience - self._clock())

    async def over(self, patience: float) -> None:
        """Return when nobody has been there for `patience` seconds."""
        while (left := self.seconds_left(patience)) != 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue
