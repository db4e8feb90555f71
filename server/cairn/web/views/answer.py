"""The page of an answer: excerpts, streamed as they are found, and a prompt that contains them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from attrs import frozen
from starlette.responses import Response

from cairn import protocol
from cairn.discovery.layout import by_file, excerpt_name
from cairn.engine.methods import STAGES
from cairn.http.events import EventFormat, event_response
from cairn.http.refusals import RefusedError
from cairn.schema.convert import snake_case
from cairn.text.uris import repository_name
from cairn.web.addresses import (
    ANSWER,
    ANSWER_EVENTS,
    SEARCH,
    address,
    editor_address,
    file_address,
    numbered,
)
from cairn.web.code_markup import CodeLine, all_lines
from cairn.web.highlighting import Highlighting
from cairn.web.query_string import Question, chosen
from cairn.web.rendering import PageRequest, page, rendered, sentence_of, wants_fragment

_LEAST, _MOST, _STEP, _DEFAULT = 500, 16_000, 500, 4_000
"""The range and the default of the prompt's budget, in tokens."""
_NEAREST = 5
"""The number of similar places shown if nothing matches."""


T = TypeVar("T")


@frozen
class ShownExcerpt:
    excerpt: protocol.Excerpt
    lines: str
    name: str
    address: str
    editor: str
    shown: tuple[CodeLine, ...]


@frozen
class ShownPlace:
    label: str
    address: str
    text: str
    relation: str = ""


@frozen
class ShownFile(Generic[T]):
    """The excerpts or places of one file."""

    path: str
    address: str
    repository: str
    parts: tuple[T, ...]


@frozen
class ShownSection:
    title: str
    places: tuple[ShownPlace, ...]


async def answer(request: PageRequest) -> Response:
    """Return the page. A script streams the answer into it, unless `whole=1` includes it."""
    given = request.http.query_params
    question, budget = Question.from_query(given), _budget(given.get("budget", ""))
    values: dict[str, Any] = {
        "question": question,
        "chosen": chosen(question),
        "budget": budget,
        "bounds": (_LEAST, _MOST, _STEP),
        "stages": " ".join(map(snake_case, STAGES)),
        "events": question.address(ANSWER_EVENTS, budget=budget),
        "whole": question.address(ANSWER, budget=budget, whole=1),
        "found": None,
    }
    if question.text and given.get("whole"):
        answered = await request.answer("discover", _params(question, budget))
        values["found"] = await request.highlight(partial(_found, request, answered))
    return page(request, "answer.html", **values)


async def answer_events(request: PageRequest) -> Response:
    """Return the answer as server-sent events with HTML: one per stage, then one for the whole answer."""
    given = request.http.query_params
    question, budget = Question.from_query(given), _budget(given.get("budget", ""))
    params = _params(question, budget)
    if wants_fragment(request.http):
        return Response()  # EventSource hides the status of a refused request, so the script requests it.

    colours = Highlighting()

    async def run(tell: Any) -> str:
        with colours.stopped_when_cancelled():  # A disconnect cancels this.
            answered = await request.streamed_answer("discover", params, tell)
            shown = partial(_found, request, answered)
            return await asyncio.to_thread(lambda: rendered("found.html", **colours.run(shown)))

    def progress(stage: protocol.DiscoverProgress) -> str:
        if stage.excerpts is None:
            return ""
        excerpts = colours.run(partial(_excerpts, request, stage.excerpts))
        return rendered("excerpts.html", excerpts=excerpts, more=_more(request, stage.elsewhere or ()))

    def problem(refusal: RefusedError) -> str:
        return rendered("problem.html", message=sentence_of(refusal))

    return event_response(run, EventFormat(progress, str, problem))


def _params(question: Question, budget: int) -> protocol.DiscoverParams:
    return protocol.DiscoverParams(
        query=question.text,
        include=question.values("collection"),
        filter=protocol.DiscoverFilter(path=question.values("path")),
        config={"render": {"maxPromptTokens": budget}},
    )


def _budget(given: str) -> int:
    wanted = int(given) if given.isascii() and given.isdigit() and len(given) < 8 else _DEFAULT
    return max(_LEAST, min(_MOST, wanted))


def _found(request: PageRequest, answered: protocol.DiscoverAnswer) -> dict[str, Any]:
    excerpts, refused = answered.excerpts, answered.verdict.action == "noMatch"
    quoted = {each.uri for each in excerpts}
    nearest = [chunk for chunk in answered.chunks if chunk.uri not in quoted] if refused else []
    return {
        "answer": answered,
        "excerpts": _excerpts(request, excerpts),
        "sections": _sections(request, answered),
        "more": [] if refused else _more(request, answered.elsewhere),
        "nearest": [_place(request, each) for each in nearest[:_NEAREST]],
        "files": len(quoted or {each.uri for each in answered.bullets}),
        "candidates": [
            (each, address(SEARCH, {"q": each.title, "path": each.path}))
            for each in answered.verdict.candidates
        ],
    }


def _excerpts(request: PageRequest, excerpts: Sequence[protocol.Excerpt]) -> list[ShownFile[ShownExcerpt]]:
    return [
        _file(request, of_file[0], [_excerpt(request, each) for each in of_file])
        for of_file in by_file(excerpts)
    ]


def _more(request: PageRequest, places: Sequence[protocol.NamedPlace]) -> list[ShownFile[ShownPlace]]:
    return [
        _file(request, of_file[0], [_named_place(request, each) for each in of_file])
        for of_file in by_file(places)
    ]


def _file(
    request: PageRequest, place: protocol.Excerpt | protocol.NamedPlace, parts: Sequence[T]
) -> ShownFile[T]:
    named = request.named(place.folder)
    repository = repository_name(place.folder) if named else ""
    return ShownFile(place.path, file_address(place.path, None, named), repository, tuple(parts))


def _excerpt(request: PageRequest, excerpt: protocol.Excerpt) -> ShownExcerpt:
    lines = numbered(excerpt.range)
    return ShownExcerpt(
        excerpt,
        _lines(lines),
        excerpt_name(excerpt) or excerpt.header_path,
        file_address(excerpt.path, lines, request.named(excerpt.folder)),
        editor_address(excerpt.uri, lines[0]) if request.is_local else "",
        all_lines(excerpt.text, excerpt.range.start.line, excerpt.language, excerpt.path),
    )


def _named_place(request: PageRequest, place: protocol.NamedPlace) -> ShownPlace:
    lines = numbered(place.range)
    link = file_address(place.path, lines, request.named(place.folder))
    return ShownPlace(_lines(lines), link, place.title + place.about, place.relation)


def _lines(lines: tuple[int, int]) -> str:
    first, last = lines
    return f"L{first}-L{last}" if last > first else f"L{first}"


def _sections(request: PageRequest, answered: protocol.DiscoverAnswer) -> list[ShownSection]:
    """Return the plan's sections if the prompt contains them, as for an overview, or no excerpts."""
    prompt, sections = answered.answer_prompt, answered.plan.sections
    if answered.excerpts and not any(section.title in prompt for section in sections):
        return []
    folders = {chunk.uri: chunk.folder for chunk in answered.chunks}

    def place(bullet: protocol.Bullet) -> ShownPlace:
        named = request.named(folders.get(bullet.uri, ""))
        link = file_address(bullet.path, numbered(bullet.range), named)
        return ShownPlace(bullet.citation, link, " ".join(bullet.text.split()))

    return [ShownSection(section.title, tuple(map(place, section.bullets))) for section in sections]


def _place(request: PageRequest, chunk: protocol.SearchResult) -> ShownPlace:
    return ShownPlace(
        f"{chunk.path}:{chunk.selection_range.start.line + 1}",
        file_address(chunk.path, numbered(chunk.range), request.named(chunk.folder)),
        chunk.header_path or chunk.title,
    )
