"""Reads the body of a request within limits."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from cairn.http.refusals import RefusedError
from cairn.settings.tree import ServeSettings


async def limited_body(request: Request, settings: ServeSettings) -> bytes:
    """Return the whole body. Raises RefusedError as soon as the body exceeds the limit or the timeout."""
    most, seconds = settings.max_body_bytes, settings.request_seconds
    too_large = RefusedError(
        "tooLarge", f"The body has more than {most:,} bytes; send less, or raise serve.max_body_bytes."
    )
    if int(request.headers.get("content-length", 0)) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        message = f"The body did not arrive within {seconds:g} seconds."
        raise RefusedError("requestTimeout", message) from None
    return bytes(body)
