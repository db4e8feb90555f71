"""The ASGI application of the pages, which the HTTP front mounts."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.engine.runner import CALLER
from cairn.errors import CairnError
from cairn.http.refusals import CODES, RefusedError, refusal_of
from cairn.web import addresses
from cairn.web.authentication import Authentication
from cairn.web.rendering import (
    PageRequest,
    Served,
    compressed_static_file,
    fragment,
    plain_page,
    sentence_of,
    static_files,
    static_version,
    wants_fragment,
)
from cairn.web.views.answer import answer, answer_events
from cairn.web.views.change import change
from cairn.web.views.file import file, file_panel
from cairn.web.views.index import index
from cairn.web.views.search_page import search

View = Callable[[PageRequest], Awaitable[Response]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of every response: pages load only from this server, and other sites cannot embed or read them. A
policy without any referrer would make browsers send `Origin: null` with the forms of these pages."""
_IMMUTABLE = "private, max-age=31536000, immutable"
"""Browsers may cache static files forever, since their addresses change with their content."""
_SMALLEST_COMPRESSED = 1_500

_VIEWS: dict[str, View] = {
    addresses.SEARCH: search,
    addresses.ANSWER: answer,
    addresses.ANSWER_EVENTS: answer_events,
    addresses.FILE + "{path:path}": file,
    addresses.FILE_PANEL + "{path:path}": file_panel,
    addresses.INDEX: index,
    addresses.CHANGE: change,
}
_WITH_FORM = (addresses.CHANGE,)
"""The views that also take the fields of a form."""


def pages_app(served: Served, authentication: Authentication) -> ASGIApp:
    routes = [
        Route(_below(addresses.STATIC) + "{name:path}", _static),
        Route(_below(addresses.IDENTITY), authentication.identify, methods=["POST"]),
        Route(_below(addresses.LINK), authentication.link, methods=["POST"]),
        Route(_below(addresses.LINK_STATE), authentication.link_state, methods=["POST"]),
        Route(_below(addresses.SIGN_IN), authentication.sign_in, methods=["GET", "POST"]),
        Route(_below(addresses.SIGN_OUT), authentication.sign_out, methods=["POST"]),
        *(
            Route(
                _below(path),
                partial(_view, served, authentication, view),
                methods=["GET", "POST"] if path in _WITH_FORM else ["GET"],
            )
            for path, view in _VIEWS.items()
        ),
    ]
    handlers: dict[Any, Any] = {
        RefusedError: _refused,
        CairnError: _refused,
        HTTPException: _not_found,
        ClientDisconnect: _disconnected,
        Exception: _refused,
    }
    app = Starlette(
        routes=routes,
        exception_handlers=handlers,
        middleware=[
            Middleware(_Hardened),
            Middleware(GZipMiddleware, minimum_size=_SMALLEST_COMPRESSED, compresslevel=5),
        ],
    )
    app.router.redirect_slashes = False
    return app


def _below(address: str) -> str:
    return address.removeprefix(addresses.ROOT)


async def _view(served: Served, authentication: Authentication, view: View, request: Request) -> Response:
    """Return the view's response or, without a session, one that lets the browser sign in."""
    authentication.check_navigation(request)
    caller = await authentication.caller(request)
    if caller is None:
        if wants_fragment(request):
            return fragment("session_over.html", status=401)
        if authentication.lacks_cookie(request):
            return plain_page(request, "again.html", 200)
        return authentication.sign_in_page(request)
    CALLER.set(caller)
    return await view(PageRequest(request, served))


async def _static(request: Request) -> Response:
    version, _, name = request.path_params["name"].rpartition("/")
    if name not in static_files() or "/" in version:
        raise RefusedError("notFound", "There is no such file.")
    headers = {"vary": "accept-encoding"}
    if version == static_version():
        headers["cache-control"] = _IMMUTABLE
    body = static_files()[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["content-encoding"] = compressed_static_file(name), "gzip"
    return Response(body, media_type=mimetypes.guess_type(name)[0], headers=headers)


# --- errors --------------------------------------------------------------------------------------------


async def _refused(request: Request, problem: Exception) -> Response:
    refusal = refusal_of(problem)
    status, about = CODES[refusal.code]
    message = sentence_of(refusal)
    if wants_fragment(request):
        return fragment("problem.html", status=status, message=message)
    about = "This cannot be shown" if refusal.code == "invalidParams" else about
    return plain_page(request, "error.html", status, message=message, about=about)


async def _not_found(request: Request, problem: HTTPException) -> Response:
    code = "methodNotAllowed" if problem.status_code == 405 else "notFound"
    return await _refused(request, RefusedError(code, "There is no such page."))


async def _disconnected(_: Request, __: Exception) -> Any:
    return Response(status_code=499)


class _Hardened:
    """Middleware that adds headers against other sites, and forbids caching unless the response allows it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, hardened)
