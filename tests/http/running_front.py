"""A running HTTP front over real sockets, with a configurable runner instead of an engine."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from attrs import define, field

from cairn.engine.methods import Tell
from cairn.http.admission import Served
from cairn.http.asgi import http_app
from cairn.http.guard import Guard
from cairn.http.web_server import Web
from cairn.operations.presence import Presence
from cairn.operations.prometheus import PrometheusMetrics
from cairn.operations.tokens import Token
from cairn.settings.tree import ServeSettings

TOKEN = Token("A" * 43, Path("serve-token"))
PATIENCE_SECONDS = 60
QUICK = {"_HEAD_SECONDS": 0.3, "_UNREAD_SECONDS": 0.3, "_KEEP_ALIVE_SECONDS": 1}


@define
class StagedRunner:
    """A runner that sends `stages` on a thread, waits for `proceed` if it `waits`, and returns `act()`."""

    act: Callable[[], Any] = lambda: {"ok": True}
    calls: list[tuple[str, Any, str]] = field(factory=list)
    """The name, the params and the workspace of each call."""
    cancelled: asyncio.Event = field(factory=asyncio.Event)
    waits: bool = False
    proceed: asyncio.Event = field(factory=asyncio.Event)
    stages: Callable[[Tell], None] = lambda tell: None

    async def answer(
        self,
        name: str,
        data: Any,
        *,
        front: str,
        workspace: str = "",
        seconds: float | None = None,
        tell: Tell | None = None,
    ) -> Any:
        self.calls.append((name, data, workspace))
        try:
            if tell is not None:
                await asyncio.to_thread(self.stages, tell)
            if self.waits:
                await self.proceed.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.act()


@define
class Running:
    """A listening front."""

    port: int
    runner: StagedRunner
    presence: Presence
    metrics: PrometheusMetrics
    connections: Callable[[], int] = lambda: 0

    async def exchange(self, data: bytes) -> bytes:
        """Send bytes, and return everything that the front sends before it closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            return await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        except ConnectionError:  # The server closed the connection before it had read everything.
            return b""
        finally:
            writer.close()

    def request(
        self,
        body: bytes = b'{"query": "a"}',
        path: str = "/api/v1/search",
        method: str = "POST",
        **changes: str | None,
    ) -> bytes:
        headers: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {TOKEN.value}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **{name.replace("_", "-"): value for name, value in changes.items()},
        }
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body

    async def ask(self, *arguments: Any, **changes: Any) -> tuple[int, Any]:
        """Send a request, and return the status and the JSON of the answer."""
        return parsed(await self.exchange(self.request(*arguments, **changes)))


def parsed(answer: bytes) -> tuple[int, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


def code(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["code"]


@asynccontextmanager
async def running(
    runner: StagedRunner | None = None,
    settings: ServeSettings | None = None,
    limits: Mapping[str, float] | None = None,
    ready: Callable[[], bool] = lambda: True,
) -> AsyncIterator[Running]:
    """Run a front; `limits` replace constants of `cairn.http.web_server`."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    front = Running(port, runner or StagedRunner(), Presence(), PrometheusMetrics())
    served = Served(
        runner=front.runner,  # type: ignore[arg-type]
        guard=Guard(TOKEN, "127.0.0.1", port),
        settings=settings or ServeSettings(),
        ready=ready,
        openapi=lambda: b"{}",
        metrics=front.metrics,
        presence=front.presence,
    )
    with ExitStack() as patches:
        if limits:
            patches.enter_context(mock.patch.multiple("cairn.http.web_server", **limits))
        web = Web(http_app(served), 1)
        front.connections = lambda: len(web.server_state.connections)
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        try:
            await web.listens.wait()
            yield front
        finally:
            web.should_exit = True
            await serving


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)
