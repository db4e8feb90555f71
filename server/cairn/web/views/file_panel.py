"""The panel beside a file: the definition around a line, its callers, callees, relations and history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen
from markupsafe import Markup

from cairn import protocol
from cairn.engine.file_page import AroundLine, FileHistory, FilePage
from cairn.text.languages import detect_language
from cairn.text.verbatim import lines_of
from cairn.web.addresses import file_address
from cairn.web.code import code_lines
from cairn.web.request import PageRequest

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
        _code(reference.line, reference.path),
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
        code, percent = _code(target.line, target.path), round(100 * surest.confidence)
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
        _code(text, result.path, result.language),
        result.match_explain or result.reasons,
    )


def _code(line: str, path: str, language: str = "") -> Markup:
    text = line.strip()
    shown = code_lines(text, language or detect_language(path), path) if text else []
    return shown[0] if shown else Markup("")


# --- history ---------------------------------------------------------------------------------------------


def _history_values(request: PageRequest, file: FilePage, history: FileHistory) -> dict[str, Any]:
    named = request.named(file.page.folder) or request.repository

    def files(paths: Sequence[str]) -> list[ShownFile]:
        return [ShownFile(file_address(path, None, named), path) for path in paths]

    return {
        "listed": _LISTED,
        "commits": [
            ShownCommit(each.hash, _date(each.time), each.subject, each.files - 1) for each in history.commits
        ],
        "last_date": _date(history.last_time) if history.last_time else "",
        "changed_with": [
            ShownFile(file_address(each.path, None, named), each.path, f"{round(100 * each.likeness)} %")
            for each in history.changed_with
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
