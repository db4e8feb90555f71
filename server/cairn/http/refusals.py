"""Error responses: a status, and `{"error": {"code": …, "message": …, "field": …}}`.

`field` is the dotted path of the wrong param, or "" if the error is not about a param.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from cairn.errors import CairnError, InvalidRequestError, OutOfTimeError
from cairn.schema import strict_json

logger = logging.getLogger(__name__)

PLAIN_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Headers of every response, which must not be cached and whose media type browsers must not guess."""

CODES: Mapping[str, tuple[int, str]] = {
    "invalidRequest": (400, "The request cannot be read"),
    "invalidJson": (400, "The body is not strict JSON"),
    "invalidParams": (400, "A param has a bad value; `field` says which"),
    "unauthorized": (401, "The token is missing or wrong"),
    "forbiddenOrigin": (403, "The request comes from a web page of another origin"),
    "notFound": (404, "There is no such address"),
    "methodNotAllowed": (405, "The address takes another HTTP method"),
    "requestTimeout": (408, "The request did not arrive in time"),
    "tooLarge": (413, "The body is too large"),
    "unsupportedMediaType": (415, "The Content-Type of the body is not plain application/json"),
    "wrongHost": (421, "The Host header does not name this server"),
    "headTooLarge": (431, "The address and the headers are too large together"),
    "internal": (500, "The server failed; its log says why"),
    "unavailable": (
        503,
        "The request cannot be answered now; for example, there is no index, or search is switched off",
    ),
    "busy": (503, "Too many requests are being answered; ask again in a second"),
    "outOfTime": (504, "The answer took longer than serve.request_seconds"),
}


class RefusedError(Exception):
    """A refused request; `code` is one of `CODES`."""

    def __init__(
        self, code: str, message: str, *, field: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field
        self.headers = dict(headers or {})


def error_body(code: str, message: str, field: str = "") -> bytes:
    return strict_json.dumps({"error": {"code": code, "message": message, "field": field}})


def plain_response(
    body: bytes,
    media_type: str = "application/json",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with PLAIN_HEADERS."""
    return Response(body, status, {**PLAIN_HEADERS, **(headers or {}), "content-type": media_type})


def error_response(refusal: RefusedError) -> Response:
    body = error_body(refusal.code, refusal.message, refusal.field)
    return plain_response(body, status=CODES[refusal.code][0], headers=refusal.headers)


def error_text(refusal: RefusedError) -> Response:
    """Return the response for a person, whose browser shows the message."""
    status = CODES[refusal.code][0]
    return plain_response(refusal.message.encode(), "text/plain; charset=utf-8", status, refusal.headers)


def refusal_of(problem: Exception) -> RefusedError:
    """Convert any exception to the refusal that is sent to the client."""
    if isinstance(problem, RefusedError):
        return problem
    if isinstance(problem, InvalidRequestError):
        return RefusedError("invalidParams", str(problem), field=problem.field)
    if isinstance(problem, CairnError):
        code = "outOfTime" if isinstance(problem, OutOfTimeError) else "unavailable"
        return RefusedError(code, str(problem))
    return RefusedError("internal", "Something went wrong; the log of `cairn serve` says what.")


def error_handlers(not_found: Callable[[str], str]) -> Mapping[Any, ExceptionHandler]:
    """Return Starlette's error handlers. `not_found(path)` returns the message for an unknown address."""

    def handler(refusal: Callable[[Request, Any], RefusedError]) -> ExceptionHandler:
        async def handle(request: Request, problem: Exception) -> Response:
            return error_response(refusal(request, problem))

        return handle

    def wrong_verb(_: Request, problem: HTTPException) -> RefusedError:
        verbs = sorted((problem.headers or {})["Allow"].split(", "))
        message = f"Use {' or '.join(verbs)}."
        return RefusedError("methodNotAllowed", message, headers={"allow": ", ".join(verbs)})

    async def disconnected(_: Request, __: Exception) -> Any:
        logger.debug("a client disconnected before its answer")

    refused = handler(lambda _, problem: refusal_of(problem))
    return {
        RefusedError: refused,
        CairnError: refused,
        404: handler(lambda request, _: RefusedError("notFound", not_found(request.scope["path"]))),
        405: handler(wrong_verb),
        ClientDisconnect: disconnected,
        Exception: refused,
    }
