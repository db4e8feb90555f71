"""Cancels work for a client that has disconnected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from cairn.startup.ending import first_of


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of `work`; cancel it and raise ClientDisconnect if the client disconnects."""
    task = asyncio.ensure_future(work)
    await first_of(task, disconnected(request.receive))
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def disconnected(receive: Callable[[], Awaitable[Message]]) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
