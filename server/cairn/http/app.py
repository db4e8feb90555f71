"""The HTTP front: every method as `POST /api/v1/<name>`, its description, metrics, health, and MCP where it
is mounted.

The body is the method's params and the answer its result, as LSP has them. `serving` gives it a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import parse_qsl

from attrs import frozen
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.engine.methods import HTTP, METHODS, Method
from cairn.engine.runner import Asking
from cairn.errors import CairnError
from cairn.http.connection import HEAD_BYTES
from cairn.http.errors import PLAIN_HEADERS, RefusedError, error_response, refused
from cairn.http.guard import Guard
from cairn.http.metrics import FrontMetrics
from cairn.operations.exposition import CONTENT_TYPE
from cairn.operations.idling import Presence
from cairn.schema import strict_json
from cairn.schema.convert import snake_case
from cairn.settings.tree import ServeSettings
from cairn.text.nearest import nearest

logger = logging.getLogger(__name__)

API = "/api/v1/"
MCP = "/mcp"
MAX_IN_FLIGHT = 64
"""Requests that are read or answered at once; four threads answer, so the last waits for sixteen others."""
_LARGE_BODY = 65_536
"""Bytes from which a body is parsed beside the event loop; smaller ones take less than a millisecond."""
_DISCARD_SECONDS = 2.0
"""How long what is left of a refused body is read and thrown away: a client that is still sending would miss
the answer."""

ROUTES: Mapping[str, Method] = {snake_case(method.name): method for method in METHODS.values()}
"""Every method by its name in addresses: `build_answer_plan`."""


def is_plain_question(method: Method) -> bool:
    """Whether GET will do: no params, and nothing changes."""
    return method.params == "NoParams" and not method.changes


@frozen
class Served:
    """What the front is given."""

    asking: Asking
    guard: Guard
    settings: ServeSettings
    ready: Callable[[], bool]
    """Whether every folder can be searched; called on a thread."""
    openapi: Callable[[], bytes]
    """The description in JSON; called on a thread."""
    metrics: FrontMetrics
    presence: Presence
    mcp: ASGIApp | None = None
    """MCP's streamable HTTP, behind the same guard; None without it."""


class HttpFront:
    """The ASGI application."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        incoming, outgoing = _Incoming(receive), _Outgoing(send)
        try:
            await self._answer(scope, incoming, outgoing)
        except RefusedError as refusal:
            await self._refuse(scope, incoming, outgoing, refusal)
        except ClientDisconnect:
            logger.debug("a client left before its answer")
        except Exception:
            logger.exception("a request failed that should not have")
            if outgoing.status is not None:
                raise
            failed = RefusedError("internal", "Something went wrong; the log of `cairn serve` says what.")
            await self._refuse(scope, incoming, outgoing, failed)
        finally:
            if outgoing.status is not None:
                self._served.metrics.answered(_route(scope["path"]), outgoing.status)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        served, path, headers = self._served, scope["path"], Headers(scope=scope)
        served.guard.check_place(headers)
        if _head_bytes(scope) > HEAD_BYTES:
            raise RefusedError(
                "headTooLarge", f"The address and the headers have more than {HEAD_BYTES:,} bytes."
            )
        if path == "/healthz":
            _only(scope, "GET", "HEAD")
            await _json(200, {"ok": True})(scope, receive, send)
        elif path == "/readyz":
            _only(scope, "GET", "HEAD")
            ready = await asyncio.to_thread(served.ready)
            await _json(200 if ready else 503, {"ready": ready})(scope, receive, send)
        else:
            served.guard.check_token(headers)
            with served.presence.here():
                await self._answer_known(scope, receive, send)

    async def _answer_known(self, scope: Scope, receive: Receive, send: Send) -> None:
        served, path = self._served, scope["path"]
        if path.startswith(API):
            with self._one_more():
                response = await self._api(Request(scope, receive), path.removeprefix(API))
                await response(scope, receive, send)
        elif served.mcp is not None and (path == MCP or path.startswith(f"{MCP}/")):
            with self._one_more():
                await served.mcp(scope, await self._whole(scope, receive), send)
        elif path == "/metrics":
            _only(scope, "GET", "HEAD")
            text = await asyncio.to_thread(served.metrics.text)
            await _plain(text, CONTENT_TYPE)(scope, receive, send)
        elif path == "/openapi.json":
            _only(scope, "GET", "HEAD")
            description = await asyncio.to_thread(served.openapi)
            await _plain(description, "application/json")(scope, receive, send)
        else:
            raise RefusedError("notFound", f"There is no {path!r}; /openapi.json describes what there is.")

    async def _api(self, request: Request, name: str) -> Response:
        """The answer of one method."""
        method = ROUTES.get(name)
        if method is None:
            raise RefusedError("notFound", f"There is no method {name[:60]!r}{_instead(name)}")
        _only(request.scope, *(("GET", "POST") if is_plain_question(method) else ("POST",)))
        workspace = _workspace(request)
        seconds = self._served.settings.request_seconds
        data = {} if request.method == "GET" else await self._params(request)
        asking = self._served.asking.answer(
            method.name, data, front=HTTP, workspace=workspace, seconds=seconds
        )
        try:
            answer = await _unless_left(request, asking)
        except CairnError as problem:
            raise refused(problem) from problem
        return _plain(strict_json.dumps(answer), "application/json")

    async def _params(self, request: Request) -> Any:
        _check_media_type(request.headers)
        body = await self._body(request)
        if not body:
            return {}
        try:
            data = (
                strict_json.loads(body)
                if len(body) < _LARGE_BODY
                else await asyncio.to_thread(strict_json.loads, body)
            )
        except strict_json.MalformedJsonError as problem:
            raise RefusedError("invalidJson", f"{problem}.") from None
        return {} if data is None else data

    async def _body(self, request: Request) -> bytes:
        """All of it. Raises RefusedError as soon as it is too large, or late."""
        most, seconds = self._served.settings.max_body_bytes, self._served.settings.request_seconds
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

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        """`receive`, with the body read already, under the same limits as that of a method."""
        if scope["method"] != "POST":
            return receive
        body: bytes | None = await self._body(Request(scope, receive))

        async def replay() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            whole, body = body, None
            return {"type": "http.request", "body": whole, "more_body": False}

        return replay

    async def _refuse(self, scope: Scope, incoming: _Incoming, send: Send, refusal: RefusedError) -> None:
        await _discard(scope, incoming, self._served.settings.max_body_bytes)
        await error_response(refusal, close=not incoming.ended)(scope, incoming, send)

    @contextlib.contextmanager
    def _one_more(self) -> Any:
        if self._in_flight >= MAX_IN_FLIGHT:
            message = f"{MAX_IN_FLIGHT} requests are being answered; ask again in a second."
            raise RefusedError("busy", message, headers={"retry-after": "1"})
        self._in_flight += 1
        self._served.metrics.in_flight.set(self._in_flight)
        try:
            yield
        finally:
            self._in_flight -= 1
            self._served.metrics.in_flight.set(self._in_flight)


class _Incoming:
    """Passes a request on, and remembers whether all of it was read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = self.ended or message["type"] == "http.disconnect" or not message.get("more_body")
        return message


class _Outgoing:
    """Passes an answer on, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


async def _unless_left(request: Request, asking: Coroutine[Any, Any, Any]) -> Any:
    """What `asking` answers; it is cancelled when the client leaves, which raises ClientDisconnect."""
    answering = asyncio.ensure_future(asking)
    leaving = asyncio.ensure_future(_left(request.receive))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return answering.result()
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def _left(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _discard(scope: Scope, incoming: _Incoming, most: int) -> None:
    """Throw away what is left of the body, as far as it comes within `most` bytes and two seconds."""
    headers = Headers(scope=scope)
    if "content-length" not in headers and "transfer-encoding" not in headers:
        incoming.ended = True
    if "expect" in headers:  # it waits to be asked for
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while most > 0 and not incoming.ended:
                most -= len((await incoming()).get("body", b""))


def _head_bytes(scope: Scope) -> int:
    """Of the address and the headers: h11 has a limit only for a head of which more is to come."""
    headers = sum(len(name) + len(value) for name, value in scope["headers"])
    return headers + len(scope["raw_path"]) + len(scope["query_string"])


def _only(scope: Scope, *methods: str) -> None:
    if scope["method"] not in methods:
        allowed = ", ".join(methods)
        raise RefusedError("methodNotAllowed", f"Use {' or '.join(methods)}.", headers={"allow": allowed})


def _workspace(request: Request) -> str:
    """What `?workspace=` names; "" for all folders."""
    given = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    unknown = next((name for name, _ in given if name != "workspace"), None)
    if unknown is not None:
        raise RefusedError(
            "invalidParams", f"{unknown[:60]}: there is only `workspace` in the address", field=unknown[:60]
        )
    if len(given) > 1:
        raise RefusedError("invalidParams", "workspace: is given twice", field="workspace")
    return given[0][1] if given else ""


def _check_media_type(headers: Headers) -> None:
    """A web page can send other types without asking first, so they are not guessed at."""
    media_type, _, parameter = headers.get("content-type", "").lower().partition(";")
    charset = parameter.strip().replace('"', "").removeprefix("charset=")
    if media_type.strip() != "application/json" or charset not in ("", "utf-8"):
        raise RefusedError(
            "unsupportedMediaType", "Send JSON in UTF-8, with `Content-Type: application/json`."
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError("unsupportedMediaType", "Send the body as it is, without a Content-Encoding.")


def _instead(name: str) -> str:
    meant = nearest(name, ROUTES)
    return f"; did you mean {meant!r}?" if meant else f"; the methods are {', '.join(ROUTES)}."


def _route(path: str) -> str:
    """The address as it is counted: nobody can make up new ones."""
    known = path.startswith(API) and path.removeprefix(API) in ROUTES
    return path if known or path in ("/healthz", "/readyz", "/metrics", "/openapi.json", MCP) else "other"


def _json(status: int, data: Any) -> Response:
    return Response(strict_json.dumps(data), status, PLAIN_HEADERS, media_type="application/json")


def _plain(body: bytes, media_type: str) -> Response:
    return Response(body, 200, {**PLAIN_HEADERS, "content-type": media_type})
