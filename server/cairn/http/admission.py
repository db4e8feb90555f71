"""Middleware that checks, limits and counts requests, and discards the bodies of refused ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen
from prometheus_client import Counter, Gauge
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.engine.runner import CALLER, Runner
from cairn.errors import CairnError
from cairn.http.guard import Guard
from cairn.http.refusals import RefusedError, error_response, error_text, refusal_of
from cairn.http.web_server import HEAD_BYTES
from cairn.operations.presence import Presence
from cairn.operations.prometheus import PrometheusMetrics
from cairn.settings.tree import ServeSettings

if TYPE_CHECKING:
    from cairn.engine.stored import StoredEngine

logger = logging.getLogger(__name__)

HEALTH = ("/healthz", "/readyz")
"""Addresses that need no token. Requests to them do not keep an idle server running."""
DESCRIPTION = "/openapi.json"
"""The address of the API's description, which is the same for everyone and needs no token either."""
PAGES = "/ui"
"""The pages for browsers are below this address; they use sessions instead of the token."""
MAX_IN_FLIGHT = 64
"""The maximum number of requests that are read or answered at once. There are four query threads, so the last
request waits for sixteen others."""
_DISCARD_SECONDS = 2.0
"""How long to discard the rest of a refused body: a client that still sends would miss the response."""


@frozen
class Served:
    """The parts of the server that the HTTP front needs."""

    runner: Runner
    guard: Guard
    settings: ServeSettings
    ready: Callable[[], bool]
    """Returns whether every folder can be searched; called on a thread."""
    openapi: Callable[[], bytes]
    """Returns the OpenAPI description in JSON; called on a thread."""
    metrics: PrometheusMetrics
    presence: Presence
    mcp: ASGIApp | None = None
    pages: ASGIApp | None = None
    team: StoredEngine | None = None
    """The team's index that other Cairns read, if a team's database is served."""


class Admission:
    """The outermost ASGI middleware."""

    def __init__(
        self, app: ASGIApp, served: Served, routes: frozenset[str], limited: tuple[str, ...]
    ) -> None:
        """Create the middleware of `app`.

        `routes` are the possible labels of the request counter; `limited` are the prefixes of addresses to
        which `MAX_IN_FLIGHT` applies.
        """
        self._app, self._routes, self._limited = app, routes, limited
        self._guard, self._presence = served.guard, served.presence
        self._has_pages = served.pages is not None
        self._max_body_bytes = served.settings.max_body_bytes
        self._in_flight = 0
        registry = served.metrics.registry
        self._requests = Counter(
            "cairn_http_requests", "HTTP requests", ("route", "status"), registry=registry
        )
        Gauge(
            "cairn_http_requests_in_flight", "HTTP requests that are being answered", registry=registry
        ).set_function(lambda: self._in_flight)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, status = _Body(scope, receive), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status >= 400 and not await body.discarded(self._max_body_bytes):
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        try:
            caller = await self._caller(scope)
            with self._counted(scope):
                CALLER.set(caller)
                await self._app(scope, body, answer)
        except (RefusedError, CairnError) as problem:
            refusal = refusal_of(problem)
            respond = error_text if self._is_page(scope["path"]) else error_response
            await respond(refusal)(scope, body, answer)
        except Exception:
            logger.exception("a request failed unexpectedly")
            if status != 500:  # The response has begun and cannot be completed.
                raise
        finally:
            if status:
                self._requests.labels(self._route(scope["path"]), str(status)).inc()

    def _route(self, path: str) -> str:
        if path in self._routes:
            return path
        return PAGES if path.startswith(f"{PAGES}/") and self._has_pages else "other"

    def _is_page(self, path: str) -> bool:
        return self._has_pages and (path in ("/", PAGES) or path.startswith(f"{PAGES}/"))

    def _needs_token(self, path: str) -> bool:
        return path not in (*HEALTH, DESCRIPTION) and not self._is_page(path)

    async def _caller(self, scope: Scope) -> str:
        """Return the name of the caller; "" if the request needs no token. Raises RefusedError."""
        headers = Headers(scope=scope)
        self._guard.check_place(headers)
        # h11 limits the size of a head only if it arrives in several pieces.
        head = sum(len(name) + len(value) for name, value in scope["headers"])
        if head + len(scope["raw_path"]) + len(scope["query_string"]) > HEAD_BYTES:
            raise RefusedError(
                "headTooLarge", f"The address and the headers have more than {HEAD_BYTES:,} bytes."
            )
        return await self._guard.caller(headers) if self._needs_token(scope["path"]) else ""

    @contextlib.contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        """Count the request as active while the context lasts. Raises RefusedError if too many are active."""
        path = scope["path"]
        if path in HEALTH:
            yield
            return
        with self._presence.here():
            if not path.startswith(self._limited):
                yield
                return
            if self._in_flight >= MAX_IN_FLIGHT:
                message = f"{MAX_IN_FLIGHT} requests are being answered; ask again in a second."
                raise RefusedError("busy", message, headers={"retry-after": "1"})
            self._in_flight += 1
            try:
                yield
            finally:
                self._in_flight -= 1


class _Body:
    """A `receive` callable that records whether the request's body was read completely."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        headers = Headers(scope=scope)
        self._ended = "content-length" not in headers and "transfer-encoding" not in headers
        self._waits_to_be_asked = "expect" in headers

    async def __call__(self) -> Message:
        message = await self._receive()
        self._ended = self._ended or message["type"] == "http.disconnect" or not message.get("more_body")
        return message

    async def discarded(self, most: int) -> bool:
        """Discard up to `most` bytes of the rest, for two seconds. Return whether the body has ended."""
        if not self._waits_to_be_asked:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DISCARD_SECONDS):
                    while most > 0 and not self._ended:
                        most -= len((await self()).get("body", b""))
        return self._ended
