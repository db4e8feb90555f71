"""Ends the work for a client that has left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from cairn.startup.ending import first_of


async def unless_left(request: Request, asked: Coroutine[Any, Any, Any]) -> Any:
    """What `asked` answers; it is cancelled when the client leaves, which raises ClientDisconnect."""
    answering = asyncio.ensure_future(asked)
    await first_of(answering, _left(request.receive))
    if answering.cancelled():
        raise ClientDisconnect
    return answering.result()


async def _left(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
