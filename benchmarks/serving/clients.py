"""Clients of `cairn serve`, one for each front, which send one request after the other."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from serving.server import Server

TIMEOUT_SECONDS = 120.0


class AnswerError(Exception):
    """The server answered with an error."""


class Asker(Protocol):
    """One connection."""

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the JSON answer of the protocol's method (without `cairn/`). Raises AnswerError."""

    def close(self) -> None:
        """End the connection."""


class Rest:
    """One HTTP connection that is kept alive."""

    def __init__(self, server: Server) -> None:
        address = urlsplit(server.api)
        self._path = address.path.rstrip("/")
        self._connection = http.client.HTTPConnection(address.netloc, timeout=TIMEOUT_SECONDS)
        self._headers = {"Content-Type": "application/json", **server.authorization}

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in method)
        self._connection.request("POST", f"{self._path}/{name}", json.dumps(params), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != http.HTTPStatus.OK:
            raise AnswerError(f"{response.status} {body[:300]!r}")
        return json.loads(body)

    def close(self) -> None:
        self._connection.close()


class Lsp:
    """One editor on the socket."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._socket = socket.create_connection((server.lsp_host, server.lsp_port), TIMEOUT_SECONDS)
        self._file = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        uri = folder.as_uri()
        self._request(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": {},
                "workspaceFolders": [{"uri": uri, "name": folder.name}],
                "initializationOptions": {"token": server.token},
            },
        )
        self.notify("initialized", {})

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        return self._request(f"cairn/{method}", params)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def close(self) -> None:
        self._request("shutdown", None)
        self.notify("exit", None)
        self._socket.close()

    def _request(self, method: str, params: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            elif message.get("id") == number:
                if "error" in message:
                    raise AnswerError(f"{method}: {message['error']}")
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _read(self) -> dict[str, Any]:
        length = 0
        while line := self._file.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise AnswerError("the server closed the connection")
        message: dict[str, Any] = json.loads(self._file.read(length))
        return message


class Mcp:
    """One agent over streamable HTTP, or over stdio with its own process, with the SDK's client."""

    def __init__(self, server: Server | StdioServerParameters) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client: Client | None = None
        self._ready = threading.Event()
        self._living = asyncio.run_coroutine_threadsafe(self._live(server), self._loop)
        if not self._ready.wait(TIMEOUT_SECONDS):
            raise TimeoutError(f"no MCP session within {TIMEOUT_SECONDS:g} s")

    async def _live(self, server: Server | StdioServerParameters) -> None:
        """Enter and leave the client in one task, as anyio requires."""
        async with AsyncExitStack() as stack:
            if isinstance(server, StdioServerParameters):
                client = Client(server)
            else:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=server.authorization, timeout=TIMEOUT_SECONDS)
                )
                client = Client(streamable_http_client(server.mcp, http_client=http))
            self._client = await stack.enter_async_context(client)
            self._end = asyncio.Event()
            self._ready.set()
            await self._end.wait()

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        tool = {"fetchPage": "read", "change": "changes"}.get(method, method)
        return self._called(tool, params, meta={"cairn/structured": True}).structured_content

    def text(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the text that a tool gives to a model."""
        return "".join(part.text for part in self._called(tool, arguments).content)

    def _called(self, tool: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        assert self._client is not None
        call = self._client.call_tool(tool, dict(arguments), **options)
        result = asyncio.run_coroutine_threadsafe(call, self._loop).result(TIMEOUT_SECONDS)
        if result.is_error:
            raise AnswerError(f"{tool}: {result.content}")
        return result

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._living.result(TIMEOUT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_SECONDS)
        self._loop.close()
