"""The search page: results while the user types, with filters, matching lines and reasons."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from attrs import frozen
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from cairn import protocol
from cairn.agents.place_text import Paths
from cairn.agents.result_text import ResultText, search_texts
from cairn.errors import CairnError
from cairn.http.refusals import RefusedError
from cairn.text.uris import repository_name
from cairn.web.addresses import editor_address, file_address, numbered
from cairn.web.code_markup import CodeLine, matched_line, passage_lines, result_lines
from cairn.web.query_string import Question, chosen, offered
from cairn.web.rendering import (
    PageRequest,
    fragment,
    page,
    page_around,
    rendered,
    sentence_of,
    wants_fragment,
)

_SOON_SECONDS = 0.02
"""If the results take longer than this, in seconds, the beginning of the page is sent first."""


@frozen
class Place:
    """A passage with its link; the label is `path:line`."""

    address: str
    label: str
    shown: tuple[CodeLine, ...]
    title: str = ""


@frozen
class Row:
    result: protocol.SearchResult
    matched: CodeLine | None
    """The line that matches best; not repeated in `place` if no other line is shown there."""
    place: Place
    further: tuple[Place, ...]
    editor: str
    """The address that opens the passage in VS Code; "" for a file that is not on the browser's machine."""
    repository: str
    """The name of the passage's folder if several are open, else ""."""


async def search(request: PageRequest) -> Response:
    """Return the page, or only its results if a script requests these."""
    question = Question.from_query(request.http.query_params)
    values: dict[str, Any] = {"question": question, "chosen": chosen(question)}
    if not question.text:
        return _shown(request, values | {"answer": None})
    # An invalid filter needs an error status, so the page cannot be sent before its results.
    if wants_fragment(request.http) or question.filters or question.repository:
        return _shown(request, values | await _found(request, question))
    finding = asyncio.ensure_future(_found(request, question))
    # The exception of this task is never retrieved if the browser disconnects.
    finding.add_done_callback(lambda done: done.cancelled() or done.exception())
    done, _ = await asyncio.wait({finding}, timeout=_SOON_SECONDS)
    if done:
        return _shown(request, values | finding.result())
    return page_around(request, "search.html", _results(finding, values), **values)


def _shown(request: PageRequest, values: dict[str, Any]) -> Response:
    if wants_fragment(request.http):
        return fragment("results.html", **values)
    return page(request, "search.html", **values)


async def _results(finding: asyncio.Future[dict[str, Any]], values: dict[str, Any]) -> str:
    """Wait for the search and return its results, or an error message, as HTML."""
    try:
        return rendered("results.html", **values, **await finding)
    except (RefusedError, CairnError) as problem:
        return rendered("problem.html", message=sentence_of(problem))
    except ClientDisconnect:
        return ""


async def _found(request: PageRequest, question: Question) -> dict[str, Any]:
    started = time.perf_counter()
    answer: protocol.SearchAnswer = await request.answer("search", question.params())
    return {
        "answer": answer,
        "rows": await request.highlight(lambda: _rows(request, answer)),
        "left_out": [(each, question.instead(each.word).address()) for each in answer.further],
        "offered": offered(question, answer.results),
        "more": question.longer() if len(answer.results) == question.limit else None,
        "milliseconds": round(1_000 * (time.perf_counter() - started)),
    }


def _rows(request: PageRequest, answer: protocol.SearchAnswer) -> list[Row]:
    texts = search_texts(answer, Paths({}, True))
    return [_row(request, *each) for each in zip(answer.results, texts, strict=True)]


def _row(request: PageRequest, result: protocol.SearchResult, text: ResultText) -> Row:
    named = request.named(result.folder)
    best = result.best_lines or result.selection_range
    line = result.selection_range.start.line + 1
    matched = None if result.matched_line is None else matched_line(result.matched_line)
    shown = result_lines(result, text)
    if matched and [matched.number] == [each.number for each in shown]:
        shown = ()
    return Row(
        result=result,
        matched=matched,
        place=Place(
            file_address(result.path, numbered(best), named),
            f"{result.path}:{line}",
            shown,
            result.header_path or result.title or result.path,
        ),
        further=tuple(
            Place(
                file_address(result.path, numbered(passage.range), named),
                f"{result.path}:{passage.range.start.line + 1}",
                passage_lines(passage, further, result),
                passage.symbol or passage.header_path,
            )
            for passage, further in zip(result.passages, text.further, strict=True)
        ),
        editor=editor_address(result.uri, line) if request.is_local else "",
        repository=repository_name(result.folder) if named else "",
    )
