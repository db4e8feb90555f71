"""How a process that serves on an event loop is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def told_to_end() -> Iterator[asyncio.Event]:
    """Set by SIGINT, SIGTERM and Windows' Ctrl-Break; a second one ends the process as if nobody caught
    it."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    before = {number: signal.getsignal(number) for name in names if (number := getattr(signal, name, None))}

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(told.set)

    for number in before:
        signal.signal(number, end)
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
