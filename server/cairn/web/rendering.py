"""Pages and fragments from templates. Jinja2 was chosen since it escapes by itself and is kept by the Pallets project."""

from __future__ import annotations

import functools
import gzip
import secrets
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jinja2
from attrs import frozen
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

import cairn
from cairn.web import addresses
from cairn.web.asked import Asked

HERE = Path(__file__).parent
THEME_COOKIE = "cairn_theme"
_THEMES = ("light", "dark")
_PIECE = 16_000
"""Characters of a streamed page that are sent together."""
_LEVEL = 5
FRAGMENT = "cairn-fragment"
"""The header with which scripts ask for a part of a page."""


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


def page(asked: Asked, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page for somebody who is signed in."""
    return _response(asked.request, template, status, asked=asked, **values)


def streamed_page(asked: Asked, template: str, **values: Any) -> Response:
    """A whole page that the browser begins to show while the rest is made. What is wrong must be known before."""
    values |= {"asked": asked, "request": asked.request, "theme": _theme(asked.request)}
    pieces = _pieces(_templates().get_template(template).generate(values))
    if "gzip" not in asked.request.headers.get("accept-encoding", ""):
        return StreamingResponse(pieces, media_type="text/html")
    headers = {"content-encoding": "gzip", "vary": "accept-encoding"}
    return StreamingResponse(_compressed(pieces), media_type="text/html", headers=headers)


def page_around(asked: Asked, template: str, late: Awaitable[str], **values: Any) -> Response:
    """A whole page that is sent up to `late`, which the template puts in its place, before that is there. It is HTML."""
    mark = secrets.token_hex(16)  # which no text of a page can hold
    text = rendered(
        template, asked=asked, request=asked.request, theme=_theme(asked.request), late=mark, **values
    )
    before, _, after = text.partition(mark)
    is_compressed = "gzip" in asked.request.headers.get("accept-encoding", "")

    async def pieces() -> AsyncIterator[bytes]:
        compressor = zlib.compressobj(_LEVEL, wbits=31)
        yield _flushed(compressor, before) if is_compressed else before.encode()
        rest = f"{await late}{after}"
        yield _flushed(compressor, rest) + compressor.flush() if is_compressed else rest.encode()

    headers = {"vary": "accept-encoding"} | ({"content-encoding": "gzip"} if is_compressed else {})
    return StreamingResponse(pieces(), media_type="text/html", headers=headers)


def _pieces(parts: Iterable[str]) -> Iterator[bytes]:
    """The parts, each a few letters, together in pieces that are worth sending."""
    waiting: list[str] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _PIECE:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, compressed so that each can be read when it arrives: the middleware would keep back some 100 KB."""
    compressor = zlib.compressobj(_LEVEL, wbits=31)
    for piece in pieces:
        yield compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
    yield compressor.flush()


def _flushed(compressor: zlib._Compress, text: str) -> bytes:
    return compressor.compress(text.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)


def fragment(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A part of a page, which a script puts in its place."""
    return HTMLResponse(rendered(template, **values), status)


def plain_page(request: Request, template: str, status: int, **values: Any) -> HTMLResponse:
    """A page that shows nothing of any repository."""
    return _response(request, template, status, asked=None, **values)


def rendered(template: str, **values: Any) -> str:
    """The text of a template."""
    return _templates().get_template(template).render(values)


def compile_templates() -> None:
    """Read all templates, which are kept from then on."""
    for name in _templates().list_templates():
        _templates().get_template(name)


def wants_fragment(request: Request) -> bool:
    """Whether a script asks for a part of the page."""
    return FRAGMENT in request.headers


def static_address(name: str) -> str:
    """The address of a style sheet, script or picture, which changes with what is served, so that browsers may keep it.

    The version is a folder of the address: scripts that import each other by their names get the one that the page names as well.
    """
    if name not in static_files():
        raise ValueError(f"there is no static file {name!r}")
    return f"{addresses.STATIC}{static_version()}/{name}"


@functools.cache
def static_files() -> frozenset[str]:
    """The names of the files that are served as they are."""
    return frozenset(file.name for file in (HERE / "static").iterdir())


@frozen
class StaticFile:
    """A file that is served as it is."""

    body: bytes
    compressed: bytes
    """The same by gzip, as small as it gets."""


@functools.cache
def static_file(name: str) -> StaticFile:
    """The file with this name, which is read once."""
    body = (HERE / "static" / name).read_bytes()
    return StaticFile(body, gzip.compress(body))


@functools.cache
def static_version() -> str:
    """A short digest of all files that are served as they are."""
    import hashlib

    digest = hashlib.sha256()
    for name in sorted(static_files()):
        digest.update(static_file(name).body)
    return digest.hexdigest()[:12]


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _response(request: Request, template: str, status: int, **values: Any) -> HTMLResponse:
    text = rendered(template, request=request, theme=_theme(request), **values)
    return HTMLResponse(text, status)


def _theme(request: Request) -> str:
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in _THEMES else ""
