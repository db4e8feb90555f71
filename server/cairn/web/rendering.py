"""Requests of signed-in people, and the pages and fragments that answer them.

Pages are rendered from Jinja2 templates, which escape all text.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import secrets
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from attrs import field, frozen
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

import cairn
from cairn.engine.methods import WEB, Tell
from cairn.engine.request import Request as EngineRequest
from cairn.engine.runner import Runner
from cairn.http.events import disconnected, unless_disconnected
from cairn.http.guard import is_loopback_host
from cairn.http.refusals import refusal_of
from cairn.settings.tree import ServeSettings
from cairn.startup.ending import first_of
from cairn.text.counts import counted
from cairn.web import addresses
from cairn.web.highlighting import Highlighting

HERE = Path(__file__).parent
THEME_COOKIE = "cairn_theme"
_THEMES = ("light", "dark")
_PARTS = 1_500
"""The number of template pieces of a streamed page that are sent together. They average 10 characters."""
_LEVEL = 5
FRAGMENT = "cairn-fragment"
"""The header with which scripts request a part of a page."""


T = TypeVar("T")


@frozen
class Served:
    """The parts of the server that the views need."""

    runner: Runner
    settings: ServeSettings
    has_several: Callable[[], bool]
    """Returns whether several folders or repositories are open, so that addresses must name one."""


@frozen
class PageRequest:
    """A request whose queries are cancelled when the browser disconnects."""

    http: Request
    served: Served
    repository: str = field()
    """The folder or repository that the address names; "" for all."""

    @repository.default
    def _named_in_address(self) -> str:
        return self.http.query_params.get("repository", "")

    @property
    def is_local(self) -> bool:
        """Whether the browser runs on this machine: it has opened a loopback address."""
        return is_loopback_host(self.http.headers.get("host", ""))

    def named(self, folder: str) -> str:
        """Return the folder's URI if addresses must name it, else ""."""
        return folder if self.served.has_several() else ""

    async def answer(self, name: str, params: object) -> Any:
        """Call the method `name` and return its answer as an object of its class. Raises CairnError."""
        return await unless_disconnected(self.http, self.streamed_answer(name, params))

    async def streamed_answer(self, name: str, params: object, tell: Tell | None = None) -> Any:
        """Call a method as `answer` does, for a response that itself detects a disconnect."""
        return await self.served.runner.answer(
            name,
            params,
            front=WEB,
            workspace=self.repository,
            seconds=self.served.settings.request_seconds,
            tell=tell,
            as_json=False,
        )

    async def work(self, work: Callable[[EngineRequest], T]) -> T:
        """Run `work(request)` on a query thread, for the signed-in person. Raises CairnError."""
        seconds = self.served.settings.request_seconds
        running = self.served.runner.work(work, workspace=self.repository, seconds=seconds)
        found: T = await unless_disconnected(self.http, running)
        return found

    async def highlight(self, work: Callable[[], T], colours: Highlighting | None = None) -> T:
        """Run work that highlights texts on a thread, until the browser disconnects."""
        found: T = await unless_disconnected(self.http, _highlighted(work, colours or Highlighting()))
        return found


async def _highlighted(work: Callable[[], T], colours: Highlighting) -> T:
    with colours.stopped_when_cancelled():
        return await asyncio.to_thread(colours.run, work)


# --- pages ---------------------------------------------------------------------------------------------


def sentence_of(problem: Exception) -> str:
    """Return the plain sentence that tells a person about a refused request, without names of parameters."""
    refusal = refusal_of(problem)
    text = refusal.message.removeprefix(f"{refusal.field}: ")
    if refusal.field == "query":
        text = f"the question {text}"
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


@functools.cache
def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "addresses": addresses,
        "static": static_address,
        "count": counted,
        "version": cairn.__version__,
    }
    templates.filters["number"] = "{:,}".format
    return templates


def page(request: PageRequest, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    return _response(request.http, template, status, signed_in=True, **values)


class _StreamedPage(StreamingResponse):
    """A response that calls `stop` as soon as the browser disconnects, even while a thread renders a part."""

    def __init__(self, pieces: Iterable[bytes], stop: Callable[[], None], headers: dict[str, str]) -> None:
        super().__init__(pieces, headers=headers, media_type="text/html")
        self._stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def stopped() -> None:
            await disconnected(receive)
            self._stop()

        await first_of(super().__call__(scope, receive, send), stopped())


def streamed_page(request: PageRequest, template: str, stop: Callable[[], None], **values: Any) -> Response:
    """Return a page that is sent while it is rendered. Rendering must not fail: the status is sent first. If
    the browser disconnects, `stop` is called, so that work on the rest can end."""
    values |= {"signed_in": True, "theme": _theme(request.http)}
    stream = _templates().get_template(template).stream(values)
    stream.enable_buffering(_PARTS)
    pieces = (piece.encode() for piece in stream)
    if not _accepts_gzip(request):
        return _StreamedPage(pieces, stop, {})
    headers = {"content-encoding": "gzip", "vary": "accept-encoding"}
    return _StreamedPage(_compressed(pieces), stop, headers)


def page_around(request: PageRequest, template: str, late: Awaitable[str], **values: Any) -> Response:
    """Return a whole page. Its beginning is sent before the value `late`, which is HTML, is complete."""
    mark = secrets.token_hex(16)  # The page's other text cannot contain this mark.
    text = rendered(template, signed_in=True, theme=_theme(request.http), late=mark, **values)
    before, _, after = text.partition(mark)
    is_compressed = _accepts_gzip(request)

    async def pieces() -> AsyncIterator[bytes]:
        compressor = zlib.compressobj(_LEVEL, wbits=31)
        first = before.encode()
        yield _flushed(compressor, first) if is_compressed else first
        rest = f"{await late}{after}".encode()
        yield compressor.compress(rest) + compressor.flush() if is_compressed else rest

    headers = {"vary": "accept-encoding"} | ({"content-encoding": "gzip"} if is_compressed else {})
    return StreamingResponse(pieces(), media_type="text/html", headers=headers)


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the pieces so that the browser can decode each at once; the middleware would buffer 100 KB."""
    compressor = zlib.compressobj(_LEVEL, wbits=31)
    for piece in pieces:
        yield _flushed(compressor, piece)
    yield compressor.flush()


def _flushed(compressor: zlib._Compress, data: bytes) -> bytes:
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


def _accepts_gzip(request: PageRequest) -> bool:
    return "gzip" in request.http.headers.get("accept-encoding", "")


def fragment(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a part of a page that a script inserts."""
    return HTMLResponse(rendered(template, **values), status)


def plain_page(request: Request, template: str, status: int, **values: Any) -> HTMLResponse:
    """Return a page without any content of repositories, for people who are not signed in."""
    return _response(request, template, status, signed_in=False, **values)


def rendered(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(values)


def compile_templates() -> None:
    """Read all templates into the cache."""
    for name in _templates().list_templates():
        _templates().get_template(name)


def wants_fragment(request: Request) -> bool:
    return FRAGMENT in request.headers


def static_address(name: str) -> str:
    """Return the address of a static file, which contains its version so that browsers can cache the file.

    The version is a folder in the address, so that the relative imports of a script have the same version.
    """
    if name not in static_files():
        raise ValueError(f"there is no static file {name!r}")
    return f"{addresses.STATIC}{static_version()}/{name}"


@functools.cache
def static_files() -> Mapping[str, bytes]:
    """Return the content of each static file by name. Browsers paint nothing before they have the styles."""
    return {file.name: file.read_bytes() for file in sorted((HERE / "static").iterdir())}


@functools.cache
def compressed_static_file(name: str) -> bytes:
    return gzip.compress(static_files()[name])


@functools.cache
def static_version() -> str:
    return hashlib.sha256(b"".join(static_files().values())).hexdigest()[:12]


def _response(request: Request, template: str, status: int, **values: Any) -> HTMLResponse:
    return HTMLResponse(rendered(template, theme=_theme(request), **values), status)


def _theme(request: Request) -> str:
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in _THEMES else ""
