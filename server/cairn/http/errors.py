"""What is answered to a request that gets no answer: a status, and JSON that says why.

`{"error": {"code": …, "message": …, "field": …}}`; `field` is the dotted path in the params, "" where none is
to blame.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from cairn.errors import CairnError, InvalidRequestError, OutOfTimeError
from cairn.schema import strict_json

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

    @property
    def status(self) -> int:
        return CODES[self.code][0]


def refused(problem: CairnError) -> RefusedError:
    """How an error of the engine is told."""
    match problem:
        case InvalidRequestError():
            return RefusedError("invalidParams", str(problem), field=problem.field)
        case OutOfTimeError():
            return RefusedError("outOfTime", str(problem))
        case _:  # each says what stands in the way, and what to do about it
            return RefusedError("unavailable", str(problem))


def error_body(code: str, message: str, field: str = "") -> bytes:
    """The JSON of one error."""
    return strict_json.dumps({"error": {"code": code, "message": message, "field": field}})


def error_response(refusal: RefusedError, *, close: bool = False) -> Response:
    """With `close`, the connection ends with the answer: what of the request was not read is not waited
    for."""
    headers = {**PLAIN_HEADERS, **refusal.headers, **({"connection": "close"} if close else {})}
    return Response(
        error_body(refusal.code, refusal.message, refusal.field),
        refusal.status,
        headers,
        media_type="application/json",
    )
