"""`cairn serve`: one process without an editor, for agents, scripts and several editors at once.

Everything is one event loop that only routes; an engine for HTTP and MCP, and one for each editor, share a
host.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from attrs import field, frozen
from prometheus_client import Gauge

from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import Runner
from cairn.errors import CairnError
from cairn.http.app import API, MCP, Served, http_app
from cairn.http.connection import ConnectionLimits, Web
from cairn.http.guard import Guard, is_loopback, resolved
from cairn.http.openapi import description
from cairn.lsp.socket import LspSocket
from cairn.mcp.server import mcp_app
from cairn.operations.idling import Presence
from cairn.operations.prometheus import PrometheusMetrics
from cairn.operations.tokens import Token, serve_token
from cairn.settings.layers import Layers
from cairn.settings.tree import ServeSettings
from cairn.startup.ending import told_to_end
from cairn.startup.responsive import let_queries_in

_END_SECONDS = 3
"""What is being answered may take so long when the server is to end; then it is broken off."""
_LOOPBACK = "127.0.0.1"


class PortError(CairnError):
    """A port cannot be had."""


@frozen
class Wanted:
    """What the command line asks for; None for what the settings say."""

    folders: tuple[Path, ...]
    host: str | None = None
    port: int | None = None
    lsp_port: int | None = None
    lsp: bool = True
    idle_minutes: float | None = None
    allow_remote: bool = False
    new_token: bool = False


@frozen
class Addresses:
    """Where the server listens."""

    url: str
    """Of HTTP, without a slash at its end."""
    api: str
    mcp: str
    lsp_host: str | None
    lsp_port: int | None
    token_file: str
    folders: tuple[str, ...]
    """URIs."""
    process_id: int


def serve(wanted: Wanted, tell: Callable[[Addresses], None]) -> None:
    """Serve until SIGINT, SIGTERM or the end of its patience. `tell` is called as soon as clients can
    connect.

    Raises CairnError for a folder, an address or a token that cannot be used.
    """
    settings = Layers().without_workspace().settings
    own = settings.serve
    address = resolved(own.host if wanted.host is None else wanted.host, allow_remote=wanted.allow_remote)
    # A file's URI means nothing on another machine, and a client opens what folders it likes.
    lsp_address = address if is_loopback(address) else _LOOPBACK
    with contextlib.ExitStack() as resources:
        http = _bound(address, own.port if wanted.port is None else wanted.port, "--port")
        resources.enter_context(http)
        lsp = None
        if wanted.lsp:
            port = own.lsp_port if wanted.lsp_port is None else wanted.lsp_port
            lsp = resources.enter_context(_bound(lsp_address, port, "--lsp-port"))
        token = serve_token(new=wanted.new_token)
        metrics = PrometheusMetrics()
        host = Host(settings.embedding, metrics)
        engine = Engine(host=host)
        metrics.show_figures(engine.figures)
        resources.callback(engine.stop)
        for folder in wanted.folders:
            engine.add_folder(folder)
        let_queries_in()
        idle_minutes = own.idle_minutes if wanted.idle_minutes is None else wanted.idle_minutes
        asyncio.run(_Serving(own, token, host, engine, metrics, http, lsp, idle_minutes, tell).run())


@frozen
class _Serving:
    """What is served, and how."""

    settings: ServeSettings
    token: Token
    host: Host
    engine: Engine
    metrics: PrometheusMetrics
    http: socket.socket
    lsp: socket.socket | None
    idle_minutes: float
    tell: Callable[[Addresses], None]
    presence: Presence = field(factory=Presence)

    async def run(self) -> None:
        """Until it is told to end."""
        address, port = self.http.getsockname()[:2]
        runner = Runner(lambda: self.engine)
        editors = LspSocket(self.host, self.token, self.presence)
        connected = Gauge(
            "cairn_lsp_connections", "Editors that are connected", registry=self.metrics.registry
        )
        connected.set_function(lambda: editors.editors)
        mcp = mcp_app(
            runner,
            seconds=self.settings.request_seconds,
            max_body_bytes=self.settings.max_body_bytes,
        )
        served = Served(
            runner=runner,
            guard=Guard(self.token, address, port),
            settings=self.settings,
            ready=self.engine.searchable,
            openapi=functools.cache(lambda: description(_url(address, port))),
            metrics=self.metrics,
            presence=self.presence,
            mcp=mcp,
        )
        web = Web(http_app(served), ConnectionLimits(), _END_SECONDS)
        async with mcp.run():
            await self._until_told(web, editors)
            await asyncio.to_thread(runner.close)

    async def _until_told(self, web: Web, editors: LspSocket) -> None:
        with told_to_end() as told:
            serving = asyncio.create_task(web.serve(sockets=[self.http]))
            try:
                if self.lsp is not None:
                    await editors.listen(self.lsp)
                await _first_of(serving, web.listens.wait())
                self.tell(self._addresses())
                patience = (self.presence.over(60 * self.idle_minutes),) if self.idle_minutes else ()
                await _first_of(serving, told.wait(), *patience)
            finally:
                web.should_exit = True
                await asyncio.gather(editors.close(), serving)

    def _addresses(self) -> Addresses:
        address, port = self.http.getsockname()[:2]
        lsp_host, lsp_port = self.lsp.getsockname()[:2] if self.lsp else (None, None)
        url = _url(address, port)
        return Addresses(
            url=url,
            api=url + API,
            mcp=url + MCP,
            lsp_host=lsp_host,
            lsp_port=lsp_port,
            token_file=str(self.token.path),
            folders=tuple(folder.uri for folder in self.engine.folders),
            process_id=os.getpid(),
        )


async def _first_of(serving: asyncio.Task[None], *others: Coroutine[Any, Any, Any]) -> None:
    """Wait for one of them, and drop the others but for `serving`, whose failure is raised."""
    tasks = {asyncio.ensure_future(other) for other in others}
    try:
        await asyncio.wait({serving, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    if serving.done():
        serving.result()


def _bound(address: str, port: int, option: str) -> socket.socket:
    """A socket that listens there. Raises PortError with what to do."""
    if not 0 <= port <= 65_535:
        raise PortError(f"{option}: {port} is no port; give 1 to 65535, or 0 for a free one.")
    try:
        return socket.create_server((address, port), family=_family(address), backlog=128)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE or getattr(problem, "winerror", 0) in (10013, 10048):
            raise PortError(
                f"Port {port} of {address} is in use, perhaps by another `cairn serve`; "
                f"give another one with {option}, or {option} 0 for a free one."
            ) from None
        raise PortError(f"Cannot listen at {address}, port {port}: {problem.strerror}.") from problem


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
