"""A client of LSP over a socket, for tests."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.serving import PATIENCE_SECONDS

TOKEN = "A" * 43
"""The default token of a client."""


@define
class Editor:
    """A connected editor or other client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ids: itertools.count[int] = field(factory=itertools.count)
    answers: dict[Any, asyncio.Future[Any]] = field(factory=dict)
    unasked: list[Any] = field(factory=list)
    listening: asyncio.Task[None] | None = None

    def send(self, message: Any) -> None:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def tell(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def receive(self) -> Any:
        """Return the next message; None at the end."""
        try:
            head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:"))
        return json.loads(await self.reader.readexactly(length))

    async def listen(self) -> None:
        while (message := await self.receive()) is not None:
            if "method" in message:
                self.unasked.append(message)
                if "id" in message:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            elif message["id"] in self.answers:
                self.answers.pop(message["id"]).set_result(message)
            else:
                self.unasked.append(message)
        for waiting in self.answers.values():
            waiting.set_exception(ConnectionError("closed"))

    async def respond(self, method: str, params: Any) -> Any:
        """Send a request and return the whole response."""
        self.listening = self.listening or asyncio.create_task(self.listen())
        number = next(self.ids)
        future = self.answers[number] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await asyncio.wait_for(future, PATIENCE_SECONDS)

    async def request(self, method: str, params: Any) -> Any:
        response = await self.respond(method, params)
        assert "result" in response, response
        return response["result"]

    async def initialize(self, *roots: Path | str, **options: Any) -> Any:
        answer = await self.request("initialize", opening(*roots, **options))
        self.tell("initialized", {})
        return answer

    async def search(self, query: str) -> list[str]:
        found = await self.request("cairn/search", {"query": query})
        return [result["path"] for result in found["results"] if result["matchedTerms"]]

    async def found(self, query: str, *paths: str) -> None:
        """Wait until exactly these files contain a word of the query."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while set(await self.search(query)) != set(paths):
                await asyncio.sleep(0.02)

    async def closed(self) -> bool:
        """Return whether the server closes the connection without another byte."""
        try:
            return await asyncio.wait_for(self.reader.read(), PATIENCE_SECONDS) == b""
        except ConnectionError:
            return True

    def leave(self) -> None:
        self.writer.close()


def opening(*roots: Path | str, token: Any = TOKEN, **options: Any) -> dict[str, Any]:
    """Return the params of `initialize` with these folders or URIs."""
    uris = [root if isinstance(root, str) else root.as_uri() for root in roots]
    return {
        "processId": None,
        "rootUri": None,
        "capabilities": {},
        "workspaceFolders": [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in uris],
        "initializationOptions": {"token": token, "embedding": {"enabled": False}, **options},
    }
