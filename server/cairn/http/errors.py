"""What is answered to a request that gets no answer: a status, and JSON that says why.

`{"error": {"code": …, "message": …, "field": …}}`; `field` is the dotted path in the params, "" where none is
to blame.
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
"""Of every answer: it is about this moment, and it is what it says it is."""

CODES: Mapping[str, tuple[int, str]] = {
    "invalidRequest": (400, "The request cannot be read"),
    "invalidJson": (400, "The body is no strict JSON"),
    "invalidParams": (400, "A param has a bad value; `field` says which"),
    "unauthorized": (401, "The token is missing or wrong"),
    "forbiddenOrigin": (403, "The request comes from a web page of another origin"),
    "notFound": (404, "There is no such address"),
    "methodNotAllowed": (405, "The address takes another HTTP method"),
    "requestTimeout": (408, "The request did not arrive in time"),
    "tooLarge": (413, "The body is too large"),
    "unsupportedMediaType": (415, "The body is not announced as plain application/json"),
    "wrongHost": (421, "The Host header does not name this server"),
    "headTooLarge": (431, "The address and the headers are too large together"),
    "internal": (500, "Something went wrong that should not have"),
    "unavailable": (
        503,
        "It cannot be answered as things stand, for want of an index, say, or because searching is switched off",
    ),
    "busy": (503, "Too many requests are being answered; ask again in a second"),
    "outOfTime": (504, "The answer took longer than serve.request_seconds"),
}
"""Every code, with its status and what it means."""


class RefusedError(Exception):
    """A request that is not answered; `code` is one of `CODES`."""

    def __init__(
        self, code: str, message: str, *, field: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field
        self.headers = dict(headers or {})


def error_body(code: str, message: str, field: str = "") -> bytes:
    """The JSON of one error."""
    return strict_json.dumps({"error": {"code": code, "message": message, "field": field}})


def error_response(refusal: RefusedError) -> Response:
    """The answer to a request that is refused."""
    return Response(
        error_body(refusal.code, refusal.message, refusal.field),
        CODES[refusal.code][0],
        {**PLAIN_HEADERS, **refusal.headers},
        media_type="application/json",
    )


def refusal_of(problem: Exception) -> RefusedError:
    """How a request is refused whose answer failed."""
    if isinstance(problem, RefusedError):
        return problem
    if isinstance(problem, InvalidRequestError):
        return RefusedError("invalidParams", str(problem), field=problem.field)
    if isinstance(problem, CairnError):  # each says what stands in the way, and what to do about it
        return RefusedError(
            "outOfTime" if isinstance(problem, OutOfTimeError) else "unavailable", str(problem)
        )
    return RefusedError("internal", "Something went wrong; the log of `cairn serve` says what.")


def error_handlers(not_found: Callable[[str], str]) -> Mapping[Any, ExceptionHandler]:
    """How each kind of error is told; `not_found` says of an address that it leads nowhere."""

    def told(refusal: Callable[[Request, Any], RefusedError]) -> ExceptionHandler:
        async def handle(request: Request, problem: Exception) -> Response:
            return error_response(refusal(request, problem))

        return handle

    def wrong_verb(_: Request, problem: HTTPException) -> RefusedError:
        verbs = sorted((problem.headers or {})["Allow"].split(", "))
        message = f"Use {' or '.join(verbs)}."
        return RefusedError("methodNotAllowed", message, headers={"allow": ", ".join(verbs)})

    async def left(_: Request, __: Exception) -> Any:
        logger.debug("a client left before its answer")

    return {
        RefusedError: told(lambda _, problem: refusal_of(problem)),
        CairnError: told(lambda _, problem: refusal_of(problem)),
        404: told(lambda request, _: RefusedError("notFound", not_found(request.scope["path"]))),
        405: told(wrong_verb),
        ClientDisconnect: left,
        Exception: told(lambda _, problem: refusal_of(problem)),
    }
