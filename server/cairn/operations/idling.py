"""Knows how long nobody has needed a process that serves, such as `cairn serve`, so that it ends when that was long enough."""

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
        self._left = False
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
            self._left = True
            self._left_at = self._clock()
            self._changed.set()

    def seconds_left(self, patience: float) -> float | None:
        """Until nobody has been there for `patience` seconds; None while somebody is."""
        return None if self._here else max(0.0, self._left_at + patience - self._clock())

    async def arrival(self) -> None:
        """Return once somebody is there, or has been."""
        while not self._here and not self._left:
            self._changed.clear()
            await self._changed.wait()

    async def over(self, patience: float) -> None:
        """Return when nobody has been there for `patience` seconds."""
        while (left := self.seconds_left(patience)) != 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue
