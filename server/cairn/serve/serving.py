"""`cairn serve`: one process without an editor, for browsers, agents, scripts and several editors at once.

One event loop routes all requests. One engine for HTTP and MCP and one for each editor share a host.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from prometheus_client import Gauge

from cairn.attach.engine_records import SERVER
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import Runner
from cairn.errors import CairnError, StoreUnavailableError, needing
from cairn.http.admission import PAGES, Served
from cairn.http.asgi import API, MCP, http_app
from cairn.http.guard import Guard, is_loopback, resolved
from cairn.http.openapi import description
from cairn.http.web_server import Web
from cairn.lsp.socket import LspSocket
from cairn.mcp.mcp_server import McpApp
from cairn.operations.presence import Presence
from cairn.operations.prometheus import PrometheusMetrics
from cairn.operations.tokens import Callers, Token, serve_token
from cairn.serve.page_records import page_records, pages_for
from cairn.serve.shared_engine import shared
from cairn.settings.layers import Layers
from cairn.settings.tree import ServeSettings
from cairn.startup.ending import first_of, termination
from cairn.startup.interpreter import release_freed_memory, tune_for_answers
from cairn.web import highlighting

if TYPE_CHECKING:
    from cairn.engine.stored import StoredEngine
    from cairn.lsp.editor_connection import MakeEngine

_END_SECONDS = 3
"""Timeout for running requests when the server stops."""
_LOOPBACK = "127.0.0.1"
_OTHER_LOOPBACK = {"127.0.0.1": "::1", "0.0.0.0": "::1", "::1": "127.0.0.1", "::": "127.0.0.1"}
_PORT_TRIES = 9
"""The number of attempts to get a free port at both addresses of loopback."""


class PortError(CairnError):
    """A port cannot be used."""


class PortInUseError(PortError):
    """Another program listens at the port."""


@frozen
class Addresses:
    url: str
    """The URL of HTTP, without a slash at its end."""
    api: str
    mcp: str
    page: str
    link: str
    """A one-time link to the page that signs in one browser; "" if each reader has a token."""
    lsp_host: str | None
    lsp_port: int | None
    token_file: str
    folders: tuple[str, ...]
    """The URIs of the served folders."""
    process_id: int


def serve(
    folders: Sequence[Path],
    on_ready: Callable[[Addresses], None],
    *,
    lsp: bool,
    allow_remote: bool,
    new_token: bool,
    store: Sequence[str] = (),
    names: Sequence[str] = (),
    or_free_port: bool = False,
    **wanted: Any,
) -> None:
    """Serve until SIGINT, SIGTERM or the idle timeout, and call `on_ready` as soon as clients can connect.

    If `store` contains the URLs of a team's database, its repositories are served instead of folders, to
    clients with one of its tokens. `names` are further `Host` values of requests, for proxies. With
    `or_free_port`, HTTP uses another port if its own is in use. Fields of `wanted` that are not None override
    ServeSettings. Raises CairnError for a folder, an address, a token or a database that cannot be used.
    """
    settings = Layers().without_workspace().settings
    own = evolve(settings.serve, **{name: value for name, value in wanted.items() if value is not None})
    address = resolved(own.host, allow_remote=allow_remote)
    # LSP serves only this machine: other machines have other files, clients choose their folders, and LSP
    # has no TLS.
    lsp_address = address if is_loopback(address) else _LOOPBACK
    with contextlib.ExitStack() as resources:
        try:
            http = _listening(address, own.port, "--port")
        except PortError:
            if not or_free_port:
                raise
            http = _listening(address, 0, "--port")
        for bound in http:
            resources.enter_context(bound)
        lsp_sockets = _listening(lsp_address, own.lsp_port, "--lsp-port") if lsp else ()
        for bound in lsp_sockets:
            resources.enter_context(bound)
        metrics, presence = PrometheusMetrics(), Presence()
        host = Host(settings.embedding, metrics)
        callers: Callers
        engine: Engine
        if store:
            engine, callers = stored(store, host)
            editors = LspSocket(host, callers, presence, engines_for(engine, callers, host))
        else:
            engine, callers = Engine(host=host), serve_token(new=new_token)
            editors = LspSocket(host, callers, presence)
        metrics.show_figures(engine.figures)
        resources.callback(engine.stop)
        for folder in folders:
            engine.add_folder(folder)
        if not store:
            resources.callback(shared(SERVER, host))
        tune_for_answers()
        release_freed_memory()
        connected = Gauge("cairn_lsp_connections", "Editors that are connected", registry=metrics.registry)
        connected.set_function(lambda: editors.editors)
        resources.callback(highlighting.close)
        serving = _Serving(own, callers, engine, editors, metrics, presence, http, lsp_sockets, names)
        asyncio.run(serving.run(on_ready))


@frozen
class _Serving:
    settings: ServeSettings
    callers: Callers
    engine: Engine
    editors: LspSocket
    metrics: PrometheusMetrics
    presence: Presence
    http: Sequence[socket.socket]
    lsp: Sequence[socket.socket]
    names: Sequence[str]

    async def run(self, on_ready: Callable[[Addresses], None]) -> None:
        address, port = self.http[0].getsockname()[:2]
        url = f"http://{f'[{address}]' if ':' in address else address}:{port}"
        runner = Runner(lambda: self.engine)
        mcp = McpApp(
            runner,
            seconds=self.settings.request_seconds,
            max_body_bytes=self.settings.max_body_bytes,
            tools=self.engine.settings().agents.tools,
            structured=self.engine.settings().agents.structured,
        )
        pages = pages_for(url, runner, self.settings, self.callers, self.engine)
        served = Served(
            runner=runner,
            guard=Guard(self.callers, address, port, self.names),
            settings=self.settings,
            ready=self.engine.searchable,
            openapi=functools.cache(lambda: description(url)),
            metrics=self.metrics,
            presence=self.presence,
            mcp=mcp,
            pages=pages.app,
            team=self.engine if isinstance(self.callers, TeamTokens) else None,  # type: ignore[arg-type]
        )
        web = Web(http_app(served), _END_SECONDS)
        idle_seconds = 60 * self.settings.idle_minutes
        async with mcp.run():
            with termination() as stop, contextlib.ExitStack() as recorded:
                serving = asyncio.create_task(web.serve(sockets=[*self.http]))
                try:
                    for each in self.lsp:
                        await self.editors.listen(each)
                    await first_of(asyncio.shield(serving), web.listens.wait())
                    recorded.enter_context(page_records(url, [folder.root for folder in self.engine.folders]))
                    on_ready(self._addresses(url, pages.link()))
                    ends = [stop.wait(), self.presence.over(idle_seconds)] if idle_seconds else [stop.wait()]
                    await first_of(asyncio.shield(serving), *ends)
                finally:
                    web.should_exit = True
                    await asyncio.gather(self.editors.close(), serving)
            await asyncio.to_thread(runner.close)

    def _addresses(self, url: str, link: str) -> Addresses:
        lsp_host, lsp_port = self.lsp[0].getsockname()[:2] if self.lsp else (None, None)
        return Addresses(
            url=url,
            api=url + API,
            mcp=url + MCP,
            page=f"{url}{PAGES}/",
            link=url + link if link else "",
            lsp_host=lsp_host,
            lsp_port=lsp_port,
            token_file=str(self.callers.path) if isinstance(self.callers, Token) else "",
            folders=tuple(folder.uri for folder in self.engine.folders),
            process_id=os.getpid(),
        )


def _listening(address: str, port: int, option: str) -> tuple[socket.socket, ...]:
    """Return listening sockets for the address and, if it has one, for the other loopback address.

    Programs connect to either address for `localhost`. No other user may listen at the other one, for example
    to get the token of a client. Raises PortError.
    """
    other = _OTHER_LOOPBACK.get(address)
    for tries_left in reversed(range(_PORT_TRIES)):
        bound = _bound(address, port, option)
        if other is None:
            break
        try:
            return bound, _bound(other, bound.getsockname()[1], option)
        except PortInUseError:
            bound.close()
            if port or not tries_left:
                raise
        except PortError:  # The machine has no IPv6, so `localhost` leads nowhere else.
            break
    return (bound,)


def _bound(address: str, port: int, option: str) -> socket.socket:
    """Return a listening socket. Raises PortError, whose message names the option."""
    if not 0 <= port <= 65_535:
        raise PortError(f"{option}: {port} is not a port; give 1 to 65535, or 0 for a free one.")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        bound = socket.create_server((address, port), family=family, backlog=128)
        # Connections inherit this option. Without it, the second packet of an answer waits 40 ms for the
        # acknowledgement of the first. asyncio sets it only for sockets that were created with a protocol's
        # number.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return bound
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE or getattr(problem, "winerror", 0) in (10013, 10048):
            raise PortInUseError(
                f"Port {port} of {address} is in use, perhaps by another `cairn serve`; "
                f"give another one with {option}, or {option} 0 for a free one."
            ) from None
        raise PortError(f"Cannot listen at {address}, port {port}: {problem.strerror}.") from problem


# --- a team's database ---------------------------------------------------------------------------------


@frozen
class TeamTokens:
    """The tokens of a team's database. Each request looks up its token, so revocation is immediate."""

    _engine: StoredEngine

    @property
    def remedy(self) -> str:
        """Advice for error messages: which token a client has to send."""
        return "the token that `cairn team grant` made for you"

    def check(self, token: str, reader: str) -> None:
        """Raise StoreUnavailableError if the token does not belong to the reader any more."""
        if self._engine.reader_of(token) != reader:
            raise StoreUnavailableError(f"Your token is no longer valid; connect again with {self.remedy}.")

    async def caller(self, token: str) -> str | None:
        """Return the name of the token's reader; None for a token that is unknown, revoked or expired."""
        return await asyncio.to_thread(self._engine.reader_of, token) if token else None


def engines_for(engine: StoredEngine, tokens: TeamTokens, host: Host) -> Callable[[str, str], MakeEngine]:
    """Return a function that makes the engine of an LSP client, given the reader's name and token."""
    from cairn.engine.stored import ReadersEngine

    def engine_for(reader: str, token: str) -> MakeEngine:
        check = partial(tokens.check, token, reader)
        return lambda settings, on_change: ReadersEngine(engine, reader, check, settings, on_change, host)

    return engine_for


def stored(given: Sequence[str], host: Host) -> tuple[StoredEngine, TeamTokens]:
    """Return the engine of a team's database, and its tokens. `given` are the URLs, or files with the URLs.

    Raises StoreUnavailableError if the database cannot be used.
    """
    with needing("serve", "team"):
        from cairn.engine.stored import StoredEngine
        from cairn.team.team_store import connect
    engine = StoredEngine(connect(given), host)
    return engine, TeamTokens(engine)
