"""Search: results while typing, with filters, reasons and the lines that match."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from attrs import frozen
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from cairn import protocol
from cairn.errors import CairnError
from cairn.http.errors import RefusedError, refusal_of
from cairn.web.addresses import editor_address, file_address, numbered, repository_name
from cairn.web.asked import Asked
from cairn.web.passages import CodeLine, passage_window, window
from cairn.web.question import Question, chosen, offered
from cairn.web.rendering import fragment, page, page_around, rendered, wants_fragment

_SOON_SECONDS = 0.02
"""A page waits so long for its results; then its beginning is sent, so that something is seen of a search in a large index, too."""


@frozen
class Place:
    """A passage with where it leads."""

    address: str
    label: str
    """`path:line`."""
    shown: tuple[CodeLine, ...]
    title: str = ""


@frozen
class Row:
    """A result as it is shown."""

    result: protocol.SearchResult
    place: Place
    further: tuple[Place, ...]
    """Further passages of the same file."""
    editor: str
    """What opens it in VS Code; "" for a file that is not on the browser's machine."""
    repository: str
    """The name of its folder, where there are several; else ""."""


async def search(asked: Asked) -> Response:
    """The page, or its results alone where a script asks for them."""
    question = Question.asked(asked.request.query_params)
    values: dict[str, Any] = {"question": question, "chosen": chosen(question)}
    if not question.text:
        values |= {"answer": None, "rows": []}
        return _shown(asked, values)
    # A filter may be wrong, which is answered with another status.
    if wants_fragment(asked.request) or question.filters or question.repository:
        return _shown(asked, values | await _found(asked, question))
    finding = asyncio.ensure_future(_found(asked, question))
    finding.add_done_callback(lambda done: done.cancelled() or done.exception())  # The browser may have left.
    done, _ = await asyncio.wait({finding}, timeout=_SOON_SECONDS)
    if done:
        return _shown(asked, values | finding.result())
    return page_around(asked, "search.html", _results(finding, values), **values)


def _shown(asked: Asked, values: dict[str, Any]) -> Response:
    if wants_fragment(asked.request):
        return fragment("results.html", **values)
    return page(asked, "search.html", **values)


async def _results(finding: asyncio.Future[dict[str, Any]], values: dict[str, Any]) -> str:
    """The results of a search that goes on, or why there are none."""
    try:
        return rendered("results.html", **values, **await finding)
    except (RefusedError, CairnError) as problem:
        return rendered("problem.html", message=refusal_of(problem).message)
    except ClientDisconnect:
        return ""


async def _found(asked: Asked, question: Question) -> dict[str, Any]:
    started = time.perf_counter()
    answer: protocol.SearchAnswer = await asked.answer("search", question.params(explain=True))
    return {
        "answer": answer,
        # Highlighting takes its time, and the event loop is everybody's.
        "rows": await asyncio.to_thread(lambda: [_row(asked, result) for result in answer.results]),
        "offered": offered(question, answer.results),
        "more": question.longer() if len(answer.results) == question.limit else None,
        "milliseconds": round(1_000 * (time.perf_counter() - started)),
    }


def _row(asked: Asked, result: protocol.SearchResult) -> Row:
    named = asked.named(result.folder)
    best = result.best_lines or result.selection_range
    line = result.selection_range.start.line + 1
    return Row(
        result=result,
        place=Place(
            file_address(result.path, numbered(best), named),
            f"{result.path}:{line}",
            window(result),
            result.header_path or result.title or result.path,
        ),
        further=tuple(
            Place(
                file_address(result.path, numbered(passage.range), named),
                f"{result.path}:{passage.range.start.line + 1}",
                passage_window(passage, result),
                passage.symbol or passage.header_path,
            )
            for passage in result.passages
        ),
        editor=editor_address(result.uri, line) if asked.is_local else "",
        repository=repository_name(result.folder) if named else "",
    )
