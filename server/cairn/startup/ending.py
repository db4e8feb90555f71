"""How a process that serves on an event loop learns that it is to end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Iterator
from typing import Any

_LOOK_SECONDS = 2.0
"""How often to look whether another process is still alive."""


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


async def ended(process_id: int) -> None:
    """Wait until the process has ended: somebody may still hold its end of a pipe."""
    await asyncio.sleep(_LOOK_SECONDS)
    import psutil  # once the workspace is open

    while psutil.pid_exists(process_id):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE:
                return
        await asyncio.sleep(_LOOK_SECONDS)


async def first_of(work: Awaitable[Any], *others: Awaitable[Any]) -> None:
    """Wait until one of them has ended, and cancel the others. What `work` raised by itself is raised."""
    tasks = [asyncio.ensure_future(each) for each in (work, *others)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
