"""The HTTP front: every method as `POST /api/v1/<name>`, its description, metrics, health, MCP and pages.

The body of a request contains the method's params, as in LSP. The response contains the method's result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cairn.engine.methods import HTTP, METHODS, Method
from cairn.http.admission import DESCRIPTION, HEALTH, PAGES, Admission, Served
from cairn.http.bodies import limited_body
from cairn.http.events import event_response, unless_disconnected, wants_events
from cairn.http.refusals import PLAIN_HEADERS, RefusedError, error_handlers, plain_response
from cairn.http.team_routes import PATH as TEAM
from cairn.http.team_routes import team_routes
from cairn.operations.prometheus import CONTENT_TYPE
from cairn.schema import strict_json
from cairn.schema.convert import snake_case
from cairn.settings.tree import ServeSettings
from cairn.text.nearest import nearest

API = "/api/v1/"
MCP = "/mcp"
_LARGE_BODY = 65_536
"""Size in bytes from which a body is parsed on a thread; smaller ones take less than a millisecond."""

ROUTES: Mapping[str, Method] = {snake_case(method.name): method for method in METHODS.values()}
"""Every method by its name in addresses, such as `build_answer_plan`."""


def allows_get(method: Method) -> bool:
    return method.params == "NoParams" and not method.changes


def http_app(served: Served) -> ASGIApp:
    async def health(_: Request) -> Response:
        return plain_response(strict_json.dumps({"ok": True}))

    async def readiness(_: Request) -> Response:
        ready = await asyncio.to_thread(served.ready)
        return plain_response(strict_json.dumps({"ready": ready}), status=200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return plain_response(await asyncio.to_thread(served.metrics.text), CONTENT_TYPE)

    async def openapi(_: Request) -> Response:
        return plain_response(await asyncio.to_thread(served.openapi))

    routes: list[BaseRoute] = [
        Route(HEALTH[0], health),
        Route(HEALTH[1], readiness),
        Route("/metrics", metrics),
        Route(DESCRIPTION, openapi),
    ]
    for name, method in ROUTES.items():
        verbs = ["GET", "POST"] if allows_get(method) else ["POST"]
        routes.append(Route(f"{API}{name}", partial(_run_method, served, method), methods=verbs))
    if served.team is not None:
        routes += team_routes(served.team, lambda request: limited_body(request, served.settings))
    if served.mcp is not None:
        limited = _Buffered(served.mcp, served.settings)
        routes += [Route(MCP, limited), Route(f"{MCP}/{{rest:path}}", limited)]
    if served.pages is not None:
        routes += [Route(place, _first_page) for place in ("/", PAGES)]
        routes.append(Mount(PAGES, served.pages))
    app = Starlette(routes=routes, exception_handlers=error_handlers(_not_found))
    app.router.redirect_slashes = False
    limited_paths = (API, MCP, TEAM, PAGES)
    counted = frozenset(route.path for route in routes if isinstance(route, Route | Mount))
    return Admission(app, served, counted, limited_paths)


async def _first_page(_: Request) -> Response:
    return RedirectResponse(f"{PAGES}/", headers=PLAIN_HEADERS)


async def _run_method(served: Served, method: Method, request: Request) -> Response:
    """Return the method's answer, whole or as events.

    A malformed request gets an error status. Errors of the engine become events if the client wants events.
    """
    settings, workspace = served.settings, _workspace(request)
    data = await _params(request, settings) if request.method == "POST" else {}
    run = partial(
        served.runner.answer,
        method.name,
        data,
        front=HTTP,
        workspace=workspace,
        seconds=settings.request_seconds,
    )
    if method.streams and wants_events(request.headers):
        return event_response(lambda tell: run(tell=tell))
    return plain_response(strict_json.dumps(await unless_disconnected(request, run())))


def _not_found(path: str) -> str:
    if not path.startswith(API):
        return f"There is no {path!r}; {DESCRIPTION} describes what there is."
    name = path.removeprefix(API)
    meant = nearest(name, ROUTES)
    instead = f"; did you mean {meant!r}?" if meant else f"; the methods are {', '.join(ROUTES)}."
    return f"There is no method {name[:60]!r}{instead}"


# --- reading a request ---------------------------------------------------------------------------------


def _workspace(request: Request) -> str:
    """Return the query parameter `workspace`; "" for all folders."""
    given = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    unknown = next((name[:60] for name, _ in given if name != "workspace"), None)
    if unknown is not None:
        problem = f"{unknown}: there is only `workspace` in the address"
        raise RefusedError("invalidParams", problem, field=unknown)
    if len(given) > 1:
        raise RefusedError("invalidParams", "workspace: is given twice", field="workspace")
    return given[0][1] if given else ""


async def _params(request: Request, settings: ServeSettings) -> Any:
    _check_media_type(request.headers)
    body = await limited_body(request, settings)
    if not body:
        return {}
    try:
        is_large = len(body) >= _LARGE_BODY
        data = await asyncio.to_thread(strict_json.loads, body) if is_large else strict_json.loads(body)
    except strict_json.MalformedJsonError as problem:
        raise RefusedError("invalidJson", f"{problem}.") from None
    return {} if data is None else data


def _check_media_type(headers: Headers) -> None:
    """Refuse media types that web pages of other origins can send without a preflight request."""
    media_type, _, parameter = headers.get("content-type", "").lower().partition(";")
    charset = parameter.strip().replace('"', "").removeprefix("charset=")
    if media_type.strip() != "application/json" or charset not in ("", "utf-8"):
        raise RefusedError(
            "unsupportedMediaType", "Send JSON in UTF-8, with `Content-Type: application/json`."
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError("unsupportedMediaType", "Send the body as it is, without a Content-Encoding.")


class _Buffered:
    """Middleware that reads the whole body, within the methods' limits, before the application runs."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        unread: bytes | None = await limited_body(Request(scope, receive), self._settings)

        async def replay() -> Message:
            nonlocal unread
            if unread is None:
                return await receive()
            body, unread = unread, None
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)
