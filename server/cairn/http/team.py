"""What other Cairns read of a team's index here: where a commit is, the catalogue of a snapshot, and one read after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cairn.engine.request import CALLER
from cairn.errors import InvalidRequestError
from cairn.http.errors import PLAIN_HEADERS, RefusedError
from cairn.schema import strict_json

PATH = "/team/v1/"
_MOST_COMMITS = 2_000
_HASH_LENGTHS = (40, 64)
_THREADS = asyncio.Semaphore(8)
"""Reads that are answered at once; they are short, and others wait."""


class TeamReads(Protocol):
    """The engine over a team's database."""

    def locate(self, caller: str, commits: Sequence[str]) -> dict[str, object] | None:
        """The fields of the snapshot that is nearest."""

    def catalogue(self, caller: str, snapshot: int) -> bytes | None:
        """The catalogue of a snapshot; None where there is none that the caller may see."""

    def read(self, caller: str, snapshot: int, asked: bytes) -> bytes | None:
        """What a reader of the snapshot answers; None where there is none that the caller may see."""


def team_routes(team: TeamReads, body: Callable[[Request], Any]) -> list[Route]:
    """The routes; `body` reads the body of a request, as far as it is not too large."""

    async def locate(request: Request) -> Response:
        given = strict_json.loads(await body(request))
        commits = given.get("commits") if isinstance(given, dict) else None
        if not isinstance(commits, list) or not all(map(_is_hash, commits)):
            raise InvalidRequestError("commits", "must be a list of full commit hashes")
        found = await _on_thread(team.locate, CALLER.get(), commits[:_MOST_COMMITS])
        return _answer(strict_json.dumps(found))

    async def catalogue(request: Request) -> Response:
        found = await _on_thread(team.catalogue, CALLER.get(), int(request.path_params["snapshot"]))
        return _answer(_present(found), "application/octet-stream")

    async def read(request: Request) -> Response:
        asked = await body(request)
        found = await _on_thread(team.read, CALLER.get(), int(request.path_params["snapshot"]), asked)
        return _answer(_present(found))

    return [
        Route(f"{PATH}locate", locate, methods=["POST"]),
        Route(f"{PATH}catalogue/{{snapshot:int}}", catalogue, methods=["GET"]),
        Route(f"{PATH}read/{{snapshot:int}}", read, methods=["POST"]),
    ]


async def _on_thread(ask: Callable[..., Any], *given: object) -> Any:
    async with _THREADS:
        return await asyncio.to_thread(ask, *given)


def _present(found: bytes | None) -> bytes:
    if found is None:
        raise RefusedError("notFound", "There is no such snapshot that you may see.")
    return found


def _is_hash(given: object) -> bool:
    return isinstance(given, str) and len(given) in _HASH_LENGTHS and set(given) <= set("0123456789abcdef")


def _answer(body: bytes, media_type: str = "application/json") -> Response:
    return Response(body, media_type=media_type, headers=dict(PLAIN_HEADERS))
