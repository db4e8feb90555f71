"""The search page: results while the user types, with filters, reasons and matching lines."""

from __future__ import annotations

import time
from typing import Any

from attrs import frozen
from starlette.responses import Response

from cairn import protocol
from cairn.agents.place_text import Paths
from cairn.agents.result_text import ResultText, search_texts
from cairn.web.addresses import editor_address, file_address, numbered, repository_name
from cairn.web.code_markup import CodeLine, passage_lines, result_lines
from cairn.web.query_string import Question, chosen, offered
from cairn.web.rendering import PageRequest, fragment, page, wants_fragment


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
    place: Place
    further: tuple[Place, ...]
    editor: str
    """The address that opens the passage in VS Code; "" for a file that is not on the browser's machine."""
    repository: str
    """The name of the passage's folder if several are open, else ""."""


async def search(request: PageRequest) -> Response:
    """Return the page, or only its results if a script requests these."""
    question = Question.from_query(request.http.query_params)
    values: dict[str, Any] = {"question": question, "chosen": chosen(question), "answer": None}
    if question.text:
        values |= await _found(request, question)
    if wants_fragment(request.http):
        return fragment("results.html", **values)
    return page(request, "search.html", **values)


async def _found(request: PageRequest, question: Question) -> dict[str, Any]:
    started = time.perf_counter()
    answer: protocol.SearchAnswer = await request.answer("search", question.params())
    return {
        "answer": answer,
        "rows": await request.highlight(lambda: _rows(request, answer)),
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
    return Row(
        result=result,
        place=Place(
            file_address(result.path, numbered(best), named),
            f"{result.path}:{line}",
            result_lines(result, text),
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
