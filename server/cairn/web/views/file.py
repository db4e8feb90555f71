"""The page of a file's current version: its outline, its lines and a panel about one line.

The panel has the definition around the line, its callers, callees, relations and history.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from attrs import frozen
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from cairn import protocol
from cairn.engine.file_outline import OutlineEntry
from cairn.engine.file_page import (
    AroundLine,
    FileHistory,
    FilePage,
    around_line,
    file_page,
    folders_holding,
    history_of,
)
from cairn.engine.methods import WEB
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.languages.registry import PROSE_LANGUAGES
from cairn.text.uris import repository_name
from cairn.text.verbatim import lines_of, lines_with_ends
from cairn.web.addresses import (
    CHANGE,
    FILE,
    FILE_PANEL,
    address,
    editor_address,
    file_address,
)
from cairn.web.code_markup import MOST_COLOURED, CodeLine, code_line, streamed_lines
from cairn.web.highlighting import Highlighting
from cairn.web.rendering import PageRequest, fragment, page, sentence_of, streamed_page, wants_fragment

BLOCK = 100
"""The number of lines per block. Browsers lay out only the blocks near the viewport; file.css has the height
of the other blocks."""
MOST_OUTLINED = 1_000
"""The maximum number of entries of an outline. One of 14,500 took longer to render than the file."""
_LINES = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


@frozen
class _Found:
    file: FilePage
    around: AroundLine | None = None
    history: FileHistory | None = None


async def file(request: PageRequest) -> Response:
    """Return the page of a file. The parameter `panel=1` includes the panel of the first marked line."""
    path, query = request.http.path_params["path"], request.http.query_params
    marked, with_panel = marked_lines(query.get("lines", "")), "panel" in query
    lines = marked if with_panel else None
    try:
        found = await request.work(partial(_found, path=path, lines=lines, history=with_panel))
    except InvalidRequestError as problem:
        return await _not_shown(request, path, marked, problem)
    if found.file.page.path != path:  # The requested path is not in normal form.
        return RedirectResponse(file_address(found.file.page.path, marked, request.repository), 303)
    colours = Highlighting()
    values = await request.highlight(partial(_values, request, found, marked), colours)
    return streamed_page(request, "file.html", colours.stop, **values)


async def file_panel(request: PageRequest) -> Response:
    """Return the panel about the line in `line`. The parameter `history` adds the whole file's history."""
    given = request.http.query_params
    path, lines = request.http.path_params["path"], marked_lines(given.get("line", ""))
    if not wants_fragment(request.http):
        return RedirectResponse(f"{file_address(path, lines or (1, 1), request.repository)}&panel=1", 303)
    found = await request.work(partial(_found, path=path, lines=lines, history="history" in given))
    values = await request.highlight(partial(panel_values, request, found.file, found.around, found.history))
    return fragment("file_panel.html", **values)


def marked_lines(given: str) -> tuple[int, int] | None:
    """Return the 1-based, inclusive lines that an address names as `10` or `10-14`; None if malformed."""
    match = _LINES.fullmatch(given)
    if match is None:
        return None
    first, last = sorted((int(match[1]), int(match[2] or match[1])))
    return (first, last) if first else None


def _found(
    asked: Request,
    *,
    path: str,
    lines: tuple[int, int] | None,
    history: bool,
) -> _Found:
    file = file_page(asked, path, front=WEB)
    line = _first_line(lines_of(file.page.text), *lines) if lines else None
    return _Found(
        file,
        around_line(asked, file, line - 1, front=WEB) if line is not None else None,
        history_of(asked, file) if history else None,
    )


def _first_line(text: Sequence[str], first: int, last: int) -> int | None:
    """Return the first line that is not blank, since passages may begin with blanks; None beyond the end."""
    if first > len(text):
        return None
    return next((n for n in range(first, min(last, len(text)) + 1) if text[n - 1].strip()), first)


def _values(request: PageRequest, found: _Found, marked: tuple[int, int] | None) -> dict[str, Any]:
    file, shown = found.file, found.file.page
    named = request.named(shown.folder) or request.repository
    count = max(1, len(lines_with_ends(shown.text)))
    is_local = file.uri.startswith("file:")
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
        "editor": editor_address(file.uri, 0).removesuffix(":0") if request.is_local else "",
        "panel": address(FILE_PANEL + file_address(shown.path).removeprefix(FILE), {"repository": named}),
        "changes": address(CHANGE, {"repository": named, "file": shown.path}) if is_local else "",
        "query": address("", {"repository": named}).replace("?", "&"),
        **panel_values(request, file, found.around, found.history),
    }


def _blocks(lines: Iterator[Markup], marked: tuple[int, int] | None) -> Iterator[list[CodeLine]]:
    """Yield the lines in blocks, each as soon as it is highlighted."""
    first, last = marked or (0, 0)
    numbered = (CodeLine(n, markup, first <= n <= last) for n, markup in enumerate(lines, 1))
    while block := list(itertools.islice(numbered, BLOCK)):
        yield block


def _above(path: str) -> list[tuple[str, str]]:
    """Return the name and the path of each folder that contains the file."""
    names = path.split("/")[:-1]
    return [(name, "/".join(names[: place + 1])) for place, name in enumerate(names)]


def _shown_outline(outline: Sequence[OutlineEntry]) -> Sequence[OutlineEntry]:
    """Shorten a long outline: leave out its deepest levels, or its end if the first level is too long."""
    depth = max((entry.depth for entry in outline), default=0)
    while depth and sum(entry.depth <= depth for entry in outline) > MOST_OUTLINED:
        depth -= 1
    return [entry for entry in outline if entry.depth <= depth][:MOST_OUTLINED]


async def _not_shown(
    request: PageRequest, path: str, marked: tuple[int, int] | None, problem: InvalidRequestError
) -> Response:
    """Return a page that says why the file cannot be shown. Raises errors that are not about the path."""
    if problem.field not in ("path", "folder"):
        raise problem
    holding = (
        await request.work(lambda asked: folders_holding(asked, path)) if problem.field == "folder" else ()
    )
    return page(
        request,
        "no_file.html",
        status=404,
        repository=request.repository,
        path=path,
        name=path.rstrip("/").rpartition("/")[2],
        reason=sentence_of(problem),
        choices=[(label, file_address(path, marked, uri)) for uri, label in holding],
    )


# --- the panel ---------------------------------------------------------------------------------------


_LISTED = 8
"""The number of files that are visible before the user expands a list."""
_RELATED = 8


@frozen
class ShownReference:
    address: str
    label: str
    within: str
    """The function that contains the call, or the called definition."""
    code: Markup
    confidence: int
    """The confidence in percent."""
    why: str
    times: int = 1


@frozen
class ShownPassage:
    address: str
    label: str
    title: str
    code: Markup
    reasons: tuple[str, ...]


@frozen
class ShownFile:
    address: str
    path: str
    remark: str = ""


@frozen
class ShownCommit:
    hash: str
    date: str
    subject: str
    others: int
    """The number of other files that the commit changed."""


def panel_values(
    request: PageRequest, file: FilePage, around: AroundLine | None, history: FileHistory | None
) -> dict[str, Any]:
    users = around.users.references if around and around.users else ()
    callees = around.callees.references if around and around.callees else ()
    shown_users, shown_callees = [_user(request, each) for each in users], _callees(request, callees)
    # Most related passages of a function are its callers and callees, which are listed already.
    listed = {(each.address.partition("?")[0], each.label) for each in (*shown_users, *shown_callees)}
    passages = [_passage(request, each) for each in around.related] if around else []
    related = [each for each in passages if (each.address.partition("?")[0], each.label) not in listed]
    return {
        "around": around,
        "users": shown_users,
        "callees": shown_callees,
        "elsewhere": sorted({each.symbol for each in callees if each.target is None}),
        "related": related[:_RELATED],
        "history": history,
        **(_history_values(request, file, history) if history else {}),
    }


def _user(request: PageRequest, reference: protocol.FoundReference) -> ShownReference:
    line = reference.range.start.line + 1
    return ShownReference(
        file_address(reference.path, (line, line), request.named(reference.folder) or request.repository),
        f"{reference.path}:{line}",
        reference.enclosing.symbol if reference.enclosing else "",
        code_line(reference.line, reference.path),
        round(100 * reference.confidence),
        reference.via,
    )


def _callees(request: PageRequest, references: Iterable[protocol.FoundReference]) -> list[ShownReference]:
    """Return the called definitions, each once, in the order of the code."""
    calls: dict[tuple[str, int], list[tuple[protocol.FoundReference, protocol.SymbolPlace]]] = {}
    for each in references:
        if each.target is not None:
            place = each.target.uri, each.target.selection_range.start.line
            calls.setdefault(place, []).append((each, each.target))
    shown = []
    for (_, number), found in calls.items():
        surest, target = max(found, key=lambda each: each[0].confidence)
        line, named = number + 1, request.named(target.folder) or request.repository
        link = file_address(target.path, (line, max(line, target.range.end.line)), named)
        code, percent = code_line(target.line, target.path), round(100 * surest.confidence)
        label = f"{target.path}:{line}"
        shown.append(ShownReference(link, label, target.symbol, code, percent, surest.via, len(found)))
    return shown


def _passage(request: PageRequest, result: protocol.SearchResult) -> ShownPassage:
    lines = lines_of(result.snippet)
    at = result.selection_range.start.line - result.range.start.line
    text = lines[at] if 0 <= at < len(lines) else lines[0]
    first = result.selection_range.start.line + 1
    last = max(first, result.selection_range.end.line)
    return ShownPassage(
        file_address(result.path, (first, last), request.named(result.folder) or request.repository),
        f"{result.path}:{first}",
        result.header_path or result.title,
        code_line(text, result.path, result.language),
        result.match_explain or result.reasons,
    )


# --- history ---------------------------------------------------------------------------------------------


def _history_values(request: PageRequest, file: FilePage, history: FileHistory) -> dict[str, Any]:
    named = request.named(file.page.folder) or request.repository

    def files(paths: Sequence[str]) -> list[ShownFile]:
        return [ShownFile(file_address(path, None, named), path) for path in paths]

    return {
        "listed": _LISTED,
        "commits": [
            ShownCommit(each.commit.hash, _date(each.commit.time), each.commit.subject, each.files - 1)
            for each in history.commits.touches
        ],
        "last_date": _date(history.commits.last_time) if history.commits.last_time else "",
        "changed_with": [
            ShownFile(file_address(path, None, named), path, f"{round(100 * likeness)} %")
            for path, likeness in history.changed_with
        ],
        "imported_by": files(history.imported_by),
        "imports": files(history.imports),
        "copies": files(history.copies),
        "original": files([history.original])[0] if history.original else None,
        "copied_percent": round(100 * history.copied_share),
    }


def _date(seconds: int) -> str:
    """Return the day in UTC; "" for a time outside of the calendar's range."""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
