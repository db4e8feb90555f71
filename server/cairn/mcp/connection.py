"""One client's connection to the MCP server over a pair of streams, with one JSON message per line.

The SDK has such a transport only for stdio. This one also answers malformed lines and limits their length.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json

from cairn.attach.relay import MAX_LINE_BYTES

_LAST_WRITE_SECONDS = 1.0
"""The timeout for sending the last messages to a client that does not read."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def message_streams(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield two streams: of messages from the reader, and for messages to the writer.

    The reader's limit should be `MAX_LINE_BYTES`.
    """
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    errors_in = write_in.clone()

    async def read() -> None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in _lines(reader):
                message = message_of(line)
                if isinstance(message, types.JSONRPCError):
                    await errors_in.send(SessionMessage(message))
                elif message is not None:
                    await read_in.send(SessionMessage(message))
        read_in.close()
        errors_in.close()

    async def write() -> None:
        async with write_out:
            async for message in write_out:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                writer.write(data + b"\n")
                await writer.drain()

    reading, writing = asyncio.create_task(read()), asyncio.create_task(write())
    writing.add_done_callback(lambda _: read_in.close())  # The client has disconnected.
    try:
        yield read_out, write_in
    finally:
        write_in.close()
        errors_in.close()
        read_out.close()
        with suppress(OSError):
            await asyncio.wait([writing], timeout=_LAST_WRITE_SECONDS)
        for task in (reading, writing):
            task.cancel()
        await asyncio.gather(reading, writing, return_exceptions=True)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | None]:
    """Yield the reader's lines without their ends; None for a line longer than the reader's limit."""
    too_long = False
    while True:
        try:
            line = await reader.readuntil()
        except asyncio.IncompleteReadError as end:
            if end.partial or too_long:
                yield None if too_long else end.partial
            return
        except asyncio.LimitOverrunError as problem:
            await reader.readexactly(max(1, problem.consumed))
            too_long = True
            continue
        yield None if too_long else line.removesuffix(b"\n")
        too_long = False


def message_of(line: bytes | None) -> types.JSONRPCMessage | None:
    """Return the message of a line, the error to answer a malformed line with, or None to ignore it."""
    if line is None:
        return _error(None, types.INVALID_REQUEST, f"a message has more than {MAX_LINE_BYTES:,} bytes")
    if not line.strip():
        return None
    try:
        data = from_json(line)
    except ValueError as problem:
        return _error(None, types.PARSE_ERROR, f"that is not JSON: {problem}")
    if isinstance(data, list):
        return _error(None, types.INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(data, dict):
        return _error(None, types.INVALID_REQUEST, "a message is a JSON object")
    request_id = data.get("id")
    known = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if "method" in data and "id" in data and not known:
        return _error(None, types.INVALID_REQUEST, "an id is a string or a whole number")
    try:
        return types.jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError:
        is_answer = "method" not in data and ("result" in data or "error" in data)
        if is_answer or ("method" in data and "id" not in data):
            return None  # The client expects no response to an answer or a notification.
        reason = 'not JSON-RPC: expected "jsonrpc": "2.0", "method" and, if any, "params" as an object'
        return _error(request_id if known else None, types.INVALID_REQUEST, reason)


def _error(request_id: int | str | None, code: int, message: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
