"""A file as it is now: its outline, its lines with those of a citation marked, and what belongs to one of them."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from attrs import frozen
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from cairn.engine.around_line import AroundLine, around_line
from cairn.engine.engine import Engine
from cairn.engine.file_history import FileHistory
from cairn.engine.file_outline import OutlineEntry
from cairn.engine.file_page import FilePage, file_page, folders_holding, history_of
from cairn.engine.methods import WEB
from cairn.errors import InvalidRequestError
from cairn.text.languages import PROSE_LANGUAGES
from cairn.text.verbatim import lines_of, lines_with_ends
from cairn.web.addresses import FILE, FILE_PANEL, address, editor_address, file_address, repository_name
from cairn.web.asked import Asked, Cancelled
from cairn.web.code import MOST_COLOURED, streamed_lines
from cairn.web.passages import CodeLine
from cairn.web.rendering import fragment, page, streamed_page, wants_fragment
from cairn.web.views.file_panel import panel_values

BLOCK = 100
"""Lines that a browser lays out together, once they come near: file.css gives a block that is out of sight their height."""
_LINES = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


MOST_OUTLINED = 1_000
"""Entries of an outline that are shown: nobody reads more, and 14,500 of them took longer to show than the file."""


@frozen
class _Found:
    """What the engine knows."""

    file: FilePage
    around: AroundLine | None = None
    history: FileHistory | None = None


async def file(asked: Asked) -> Response:
    """The page. What belongs to the first marked line stands in it with `panel=1`, for browsers without script."""
    path, marked = (
        asked.request.path_params["path"],
        marked_lines(asked.request.query_params.get("lines", "")),
    )
    with_panel = "panel" in asked.request.query_params
    try:
        found = await asked.work(
            partial(_found, path=path, lines=marked if with_panel else None, history=with_panel)
        )
    except InvalidRequestError as problem:
        return await _not_shown(asked, path, marked, problem)
    if found.file.page.path != path:  # written in another way
        return RedirectResponse(file_address(found.file.page.path, marked, asked.repository), 303)
    return streamed_page(asked, "file.html", **await asyncio.to_thread(_values, asked, found, marked))


async def file_panel(asked: Asked) -> Response:
    """What belongs to `line`, and with `history` what is known of the whole file."""
    given = asked.request.query_params
    path, lines = asked.request.path_params["path"], marked_lines(given.get("line", ""))
    if not wants_fragment(asked.request):
        return RedirectResponse(f"{file_address(path, lines or (1, 1), asked.repository)}&panel=1", 303)
    found = await asked.work(partial(_found, path=path, lines=lines, history="history" in given))
    values = await asyncio.to_thread(panel_values, asked, found.file, found.around, found.history)
    return fragment("file_panel.html", **values)


def marked_lines(given: str) -> tuple[int, int] | None:
    """The lines of an address, `10` or `10-14`, from 1 and the last one included; None for anything else."""
    match = _LINES.fullmatch(given)
    if match is None:
        return None
    first, last = sorted((int(match[1]), int(match[2] or match[1])))
    return (first, last) if first else None


def _found(
    engine: Engine,
    cancelled: Cancelled,
    *,
    path: str,
    lines: tuple[int, int] | None,
    history: bool,
) -> _Found:
    file = file_page(engine, path, cancelled, front=WEB)
    line = _first_written(lines_of(file.page.text), *lines) if lines else None
    return _Found(
        file,
        around_line(engine, file, line - 1, cancelled, front=WEB) if line is not None else None,
        history_of(engine, file) if history else None,
    )


def _first_written(text: Sequence[str], first: int, last: int) -> int | None:
    """The first of the lines that is not empty, since passages begin with what parts them from those before; the first where
    all are; None where there are no such lines."""
    if first > len(text):
        return None
    return next((n for n in range(first, min(last, len(text)) + 1) if text[n - 1].strip()), first)


def _values(asked: Asked, found: _Found, marked: tuple[int, int] | None) -> dict[str, Any]:
    """The values of `file.html`."""
    file, shown = found.file, found.file.page
    named = asked.named(shown.folder) or asked.repository
    count = max(1, len(lines_with_ends(shown.text)))
    return {
        "file": file,
        "path": shown.path,
        "folders": _above(shown.path),
        "repository": repository_name(shown.folder) if named else "",
        "named": named,
        "blocks": _blocks(streamed_lines(shown.text, shown.language, shown.path), marked),
        "lines": count,
        "marked": marked,
        "beyond": bool(marked and marked[0] > count),
        "is_prose": shown.language in PROSE_LANGUAGES,
        "is_plain": len(shown.text) > MOST_COLOURED,
        "outline": _shown_outline(file.outline),
        "editor": editor_address(file.uri, 0).removesuffix(":0") if asked.is_local else "",
        "panel": address(FILE_PANEL + file_address(shown.path).removeprefix(FILE), {"repository": named}),
        "query": address("", {"repository": named}).replace("?", "&"),
        **panel_values(asked, file, found.around, found.history),
    }


def _blocks(lines: Iterator[Markup], marked: tuple[int, int] | None) -> Iterator[list[CodeLine]]:
    """The lines, block by block, as they are made."""
    first, last = marked or (0, 0)
    numbered = (CodeLine(n, markup, first <= n <= last) for n, markup in enumerate(lines, 1))
    while block := list(itertools.islice(numbered, BLOCK)):
        yield block


def _above(path: str) -> list[tuple[str, str]]:
    """The folders that the file lies in, each with the search for what is in it."""
    names = path.split("/")[:-1]
    return [(name, "/".join(names[: place + 1])) for place, name in enumerate(names)]


def _shown_outline(outline: Sequence[OutlineEntry]) -> Sequence[OutlineEntry]:
    """The outline without its deepest levels, where it is too long; without its end where the first level is."""
    depth = max((entry.depth for entry in outline), default=0)
    while depth and sum(entry.depth <= depth for entry in outline) > MOST_OUTLINED:
        depth -= 1
    return [entry for entry in outline if entry.depth <= depth][:MOST_OUTLINED]


async def _not_shown(
    asked: Asked, path: str, marked: tuple[int, int] | None, problem: InvalidRequestError
) -> Response:
    """Why the file cannot be shown. Raises what is not about the file."""
    if problem.field not in ("path", "folder"):
        raise problem
    holding = (
        await asked.work(lambda engine, _: folders_holding(engine, path)) if problem.field == "folder" else ()
    )
    reason = str(problem).removeprefix(f"{problem.field}: ")
    return page(
        asked,
        "no_file.html",
        status=404,
        path=path,
        name=path.rstrip("/").rpartition("/")[2],
        reason=reason[:1].upper() + reason[1:],
        choices=[(label, file_address(path, marked, uri)) for uri, label in holding],
    )
