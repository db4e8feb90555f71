"""The addresses at which other Cairns read a team's index: the nearest snapshot, the catalogue, and data."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cairn.engine.runner import CALLER
from cairn.errors import InvalidRequestError, WireError
from cairn.http.refusals import RefusedError, plain_response
from cairn.schema import strict_json

if TYPE_CHECKING:
    from cairn.engine.stored import StoredEngine

T = TypeVar("T")

PATH = "/team/v1/"
_MOST_COMMITS = 2_000
_MOST_TEXTS, _LONGEST_TEXT = 1_000, 1_000
_NO_SNAPSHOT = "There is no such snapshot that you may see."
_HASH_LENGTHS = (40, 64)
_THREADS = asyncio.Semaphore(8)
"""The number of concurrent reads. Reads are short, so further ones wait."""


def team_routes(team: StoredEngine, body: Callable[[Request], Any]) -> list[Route]:
    """Return the routes; `body` reads the body of a request and refuses one that is too large."""

    async def given(request: Request) -> dict[str, Any]:
        try:
            found = strict_json.loads(await body(request))
        except strict_json.MalformedJsonError as problem:
            raise RefusedError("invalidJson", f"{problem}.") from None
        return found if isinstance(found, dict) else {}

    async def locate(request: Request) -> Response:
        commits = (await given(request)).get("commits")
        if not isinstance(commits, list) or not all(map(_is_hash, commits)):
            raise InvalidRequestError("commits", "must be a list of full commit hashes")
        found = await _on_thread(team.locate, CALLER.get(), commits[:_MOST_COMMITS])
        return plain_response(strict_json.dumps(found))

    async def importing(request: Request) -> Response:
        texts = (await given(request)).get("texts")
        if not isinstance(texts, list) or not all(map(_is_text, texts[:_MOST_TEXTS])):
            raise InvalidRequestError("texts", f"must be a list of texts of up to {_LONGEST_TEXT} characters")
        found = await _on_thread(team.importing, CALLER.get(), _snapshot(request), texts[:_MOST_TEXTS])
        return plain_response(strict_json.dumps(_present(found)))

    async def catalogue(request: Request) -> Response:
        found = await _on_thread(team.catalogue, CALLER.get(), _snapshot(request))
        return plain_response(_present(found), "application/octet-stream")

    async def read(request: Request) -> Response:
        data = await body(request)
        try:
            found = await _on_thread(team.read, CALLER.get(), _snapshot(request), data)
        except WireError as problem:
            raise RefusedError("invalidParams", str(problem)) from None
        return plain_response(_present(found))

    return [
        Route(f"{PATH}locate", locate, methods=["POST"]),
        Route(f"{PATH}importing/{{snapshot}}", importing, methods=["POST"]),
        Route(f"{PATH}catalogue/{{snapshot}}", catalogue, methods=["GET"]),
        Route(f"{PATH}read/{{snapshot}}", read, methods=["POST"]),
    ]


async def _on_thread(ask: Callable[..., Any], *given: object) -> Any:
    async with _THREADS:
        return await asyncio.to_thread(ask, *given)


def _snapshot(request: Request) -> int:
    given = request.path_params["snapshot"]
    if not re.fullmatch(r"[0-9]{1,18}", given):  # A number of 18 digits fits into the database's integers.
        raise RefusedError("notFound", _NO_SNAPSHOT)
    return int(given)


def _present(found: T | None) -> T:
    if found is None:
        raise RefusedError("notFound", _NO_SNAPSHOT)
    return found


def _is_text(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _LONGEST_TEXT and "\0" not in given


def _is_hash(given: object) -> bool:
    return isinstance(given, str) and len(given) in _HASH_LENGTHS and set(given) <= set("0123456789abcdef")
