"""The end of a process that serves on an event loop: by signals, or by the death of its client."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Iterator
from typing import Any

from cairn.startup.figures import asked

_LOOK_SECONDS = 2.0
"""The interval of checks whether another process still runs."""


@contextlib.contextmanager
def termination() -> Iterator[asyncio.Event]:
    """Yield an event that SIGINT, SIGTERM and Windows' Ctrl-Break set. A second signal kills the process."""
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    before = {number: signal.getsignal(number) for name in names if (number := getattr(signal, name, None))}

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(signalled.set)

    for number in before:
        signal.signal(number, end)
    try:
        yield signalled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def ended(process_id: int) -> None:
    """Wait for the end of a process. This polls: another process may keep its pipe open."""
    await asyncio.sleep(_LOOK_SECONDS)
    while runs(process_id):
        await asyncio.sleep(_LOOK_SECONDS)


def runs(process_id: int) -> bool:
    """Return whether a process runs, also if the system does not say."""
    if asked(lambda psutil: psutil.pid_exists(process_id)) is False:
        return False
    return asked(lambda psutil: psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE) is not True


async def first_of(work: Awaitable[Any], *others: Awaitable[Any]) -> None:
    """Wait until one of them ends, and cancel the others. Raise the exception of `work`, if any."""
    tasks = [asyncio.ensure_future(each) for each in (work, *others)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
