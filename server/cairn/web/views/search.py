"""Search: results while typing, with filters, reasons and the lines that match."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from attrs import frozen
from starlette.responses import Response

from cairn import protocol
from cairn.web.addresses import editor_address, file_address, numbered, repository_name
from cairn.web.asked import Asked
from cairn.web.passages import CodeLine, passage_window, window
from cairn.web.question import Question, chosen, offered
from cairn.web.rendering import fragment, page, wants_fragment


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
    values = await _found(asked, question) if question.text else {"answer": None, "rows": []}
    values |= {"question": question, "chosen": chosen(question)}
    if wants_fragment(asked.request):
        return fragment("results.html", **values)
    return page(asked, "search.html", **values)


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
