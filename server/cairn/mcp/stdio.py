"""MCP's stdio transport: one JSON message a line.

The SDK has one of its own. This one answers lines that are no message, where that one leaves their sender waiting, bounds
the length of a line, and ends at once when it is told to: its threads may be waiting for a pipe, and nothing waits for them.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import BinaryIO

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json

MAX_LINE_BYTES = DEFAULT_MAX_REQUEST_BODY_SIZE
"""What the SDK takes over HTTP, 4 MiB. What the stages take is 500,000 characters of text at most."""
_LAST_WRITE_SECONDS = 1.0
"""How long the end waits for a client that does not read."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio_streams() -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The messages that come from stdin, and where those for stdout go; what else is printed goes to stderr."""
    loop = asyncio.get_running_loop()
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    errors_in = write_in.clone()
    wire = _claimed_stdout()

    async def take(line: bytes | None) -> None:
        message = message_of(line)
        if isinstance(message, types.JSONRPCError):
            await errors_in.send(SessionMessage(message))
        elif message is not None:
            await read_in.send(SessionMessage(message))

    async def end() -> None:
        read_in.close()
        errors_in.close()

    def read() -> None:
        # At the end of the loop or of its streams nobody is left to read for.
        with suppress(RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            with open(0, "rb", closefd=False) as stdin:
                for line in lines(stdin):
                    asyncio.run_coroutine_threadsafe(take(line), loop).result()
            asyncio.run_coroutine_threadsafe(end(), loop).result()

    async def write() -> None:
        async with write_out:
            async for message in write_out:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                await wire.write(data + b"\n")

    # A thread that waits for a pipe cannot be woken: it may not be waited for.
    threading.Thread(target=read, name="cairn-mcp-read", daemon=True).start()
    writing = asyncio.create_task(write())
    writing.add_done_callback(lambda _: read_in.close())  # a client that does not read asks for nothing
    try:
        yield read_out, write_in
    finally:
        write_in.close()
        errors_in.close()
        read_out.close()
        with suppress(OSError):
            await asyncio.wait([writing], timeout=_LAST_WRITE_SECONDS)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


def lines(stdin: BinaryIO, longest: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """The lines of a stream, the last one also without its end; None for one of more bytes than `longest`."""
    while line := stdin.readline(longest + 1):
        too_long = len(line) > longest and not line.endswith(b"\n")
        while too_long and line and not line.endswith(b"\n"):
            line = stdin.readline(longest + 1)
        yield None if too_long else line.removesuffix(b"\n")


def message_of(line: bytes | None) -> types.JSONRPCMessage | None:
    """The message of a line; the error that answers it where it is none; None where nothing is to be done."""
    if line is None:
        return _error(None, types.INVALID_REQUEST, f"a message has more than {MAX_LINE_BYTES:,} bytes")
    if not line.strip():
        return None
    try:
        data = from_json(line)
    except ValueError as problem:
        return _error(None, types.PARSE_ERROR, f"that is no JSON: {problem}")
    if isinstance(data, list):
        return _error(None, types.INVALID_REQUEST, "batches are not taken; send one message a line")
    if not isinstance(data, dict):
        return _error(None, types.INVALID_REQUEST, "a message is a JSON object")
    request_id = data.get("id")
    known = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if "method" in data and "id" in data and not known:
        return _error(None, types.INVALID_REQUEST, "an id is a string or a whole number")
    try:
        return types.jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError:
        if "method" not in data and ("result" in data or "error" in data):
            return None  # an answer that cannot be read answers nothing
        if "method" in data and "id" not in data:
            return None  # nobody waits for an answer
        shape = 'expected "jsonrpc": "2.0", "method" and, if any, "params" as an object'
        return _error(request_id if known else None, types.INVALID_REQUEST, f"no JSON-RPC message: {shape}")


def _error(request_id: int | str | None, code: int, message: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


class _Wire:
    """Writes on a thread: a client that does not read must not stop everything else."""

    def __init__(self, stdout: BinaryIO) -> None:
        self._stdout = stdout
        self._waiting: queue.SimpleQueue[tuple[bytes, Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="cairn-mcp-write", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Raises OSError where nobody reads any more."""
        written: Future[None] = Future()
        self._waiting.put((data, written))
        await asyncio.wrap_future(written)

    def _run(self) -> None:
        while True:
            data, written = self._waiting.get()
            if not written.set_running_or_notify_cancel():
                continue
            try:
                self._stdout.write(data)
                self._stdout.flush()
            except (OSError, ValueError) as problem:
                written.set_exception(OSError(str(problem)))
            else:
                written.set_result(None)


def _claimed_stdout() -> _Wire:
    """The real stdout; from now on, what is printed by mistake, by a C library too, goes to stderr."""
    sys.stdout.flush()
    real = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return _Wire(real)
