"""LSP for several editors at once over one socket.

Each connection has a server and an engine of its own, with its own unsaved documents and settings. They share
the process's host. Any program of the machine can connect, and a web page can make a browser send bytes. The
first message must therefore be an `initialize` with the right `initializationOptions.token`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable

from cairn.engine.host import Host
from cairn.errors import CairnError
from cairn.lsp.early import framed
from cairn.lsp.editor_connection import MakeEngine
from cairn.lsp.jsonrpc import FramingError, read_message, speak
from cairn.lsp.language_server import build_server
from cairn.operations.presence import Presence
from cairn.operations.tokens import Callers

logger = logging.getLogger(__name__)

_LINE_BYTES = 16_384
"""The maximum length of a header line in bytes. asyncio buffers at most twice as much."""
_UNAUTHORIZED, _SERVER_ERROR = -32001, -32603
_CONNECTIONS = 64
_FIRST_SECONDS = 10.0
_FIRST_BYTES = 1_000_000
"""The maximum size of `initialize` in bytes. That of VS Code has 10,000."""
_MESSAGE_BYTES = 64_000_000
_UNREAD_BYTES = 64_000_000
"""The size of unread responses, in bytes, at which the server disconnects the client."""


class LspSocket:
    """Serves the clients that have the token. Use it on one event loop."""

    def __init__(
        self,
        host: Host,
        callers: Callers,
        presence: Presence,
        engine_for: Callable[[str, str], MakeEngine] | None = None,
    ) -> None:
        """Create a socket. `engine_for(caller, token)` makes a client's engine, by default over folders."""
        self._host, self._callers, self._presence = host, callers, presence
        self._engine_for = engine_for
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self.editors = 0
        """Number of connected clients."""

    async def listen(self, listening: socket.socket) -> None:
        """Serve the connections of a bound socket; `close` closes it."""
        server = await asyncio.start_server(self._connected, sock=listening, limit=_LINE_BYTES)
        self._servers.append(server)

    async def close(self) -> None:
        """Disconnect all clients. Return when their engines are stopped."""
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= _CONNECTIONS:
            writer.transport.abort()
            return
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                first = await self._initialize(reader, writer)
            if first is not None:
                with self._presence.here():
                    await self._speak(*first, reader, writer)
        # asyncio raises ValueError for a line longer than `_LINE_BYTES`.
        except (TimeoutError, FramingError, ValueError, RecursionError, ConnectionError) as problem:
            logger.debug("a connection was closed: %s", problem)
        finally:
            writer.close()

    async def _initialize(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[bytes, MakeEngine | None] | None:
        """Return the first message without its token, and the function that makes the client's engine.

        Return None for a wrong message. If that is a request, it gets an error response.
        """
        body = await read_message(reader, most=_FIRST_BYTES)
        message = json.loads(body) if body else None
        if not isinstance(message, dict) or not isinstance(message.get("id"), int | str):
            return None
        params = message.get("params")
        options = params.get("initializationOptions") if isinstance(params, dict) else None
        given = options.pop("token", None) if isinstance(options, dict) else None
        token = given if isinstance(given, str) and message.get("method") == "initialize" else ""
        code = _UNAUTHORIZED
        remedy = self._callers.remedy
        reason = f"the first message must be `initialize`; as initializationOptions.token give {remedy}"
        try:
            caller = await self._callers.caller(token)
        except CairnError as problem:  # The database of tokens cannot be reached.
            caller, code, reason = None, _SERVER_ERROR, str(problem)
        if caller is not None:
            make = self._engine_for(caller, token) if self._engine_for else None
            return json.dumps(message).encode(), make
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": reason}}
        writer.write(framed(error))
        await writer.drain()
        return None

    async def _speak(
        self,
        first: bytes,
        make: MakeEngine | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        server = build_server(self._host, make)
        server.protocol.ends_process = False
        server.protocol.set_writer(_Writer(writer.transport))
        self.editors += 1
        try:
            await speak(server.protocol, reader, first, most=_MESSAGE_BYTES)
        finally:
            self.editors -= 1
            server.cancel()
            await asyncio.to_thread(server.close)
            server.shutdown()  # type: ignore[no-untyped-call]


class _Writer:
    """Writes without waiting, and disconnects a client that does not read."""

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > _UNREAD_BYTES:
            self._transport.abort()

    def close(self) -> None:
        """Do nothing: pygls requires the method, but LspSocket closes the connection."""
