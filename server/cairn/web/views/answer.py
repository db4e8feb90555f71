"""Answers: the excerpts that answer a question, as they are found, and the prompt that holds them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from attrs import frozen
from starlette.responses import Response

from cairn import protocol
from cairn.engine.methods import STAGES
from cairn.http.errors import RefusedError
from cairn.http.events import Telling, event_response
from cairn.schema.convert import snake_case
from cairn.web.addresses import ANSWER, ANSWER_EVENTS, editor_address, file_address, numbered, repository_name
from cairn.web.asked import Asked
from cairn.web.passages import CodeLine, all_lines
from cairn.web.question import Question, chosen
from cairn.web.rendering import page, rendered, wants_fragment

_LEAST, _MOST, _STEP, _USUAL = 500, 16_000, 500, 4_000
"""Tokens of the prompt that can be chosen, and those of a question that chooses none."""
_NEAREST = 5
"""Places that are shown though nothing matches."""


@frozen
class ShownExcerpt:
    """An excerpt with where it leads."""

    excerpt: protocol.Excerpt
    address: str
    editor: str
    repository: str
    shown: tuple[CodeLine, ...]


@frozen
class ShownPlace:
    """A further place, or a piece of evidence."""

    label: str
    address: str
    text: str


@frozen
class ShownSection:
    """A section of the answer's plan."""

    title: str
    places: tuple[ShownPlace, ...]


async def answer(asked: Asked) -> Response:
    """The page. The answer itself is streamed into it, or stands in it with `whole=1`, for browsers without script."""
    given = asked.request.query_params
    question, budget = Question.asked(given), _budget(given.get("budget", ""))
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
        answered = await asked.answer("discover", _params(question, budget))
        values["found"] = await asyncio.to_thread(_found, asked, answered)
    return page(asked, "answer.html", **values)


async def answer_events(asked: Asked) -> Response:
    """The answer as server-sent events whose data are HTML: one for each stage, and at last the whole."""
    given = asked.request.query_params
    question, budget = Question.asked(given), _budget(given.get("budget", ""))
    params = _params(question, budget)
    if wants_fragment(asked.request):
        return Response()  # A script asks whether it was refused: it was not, and may listen again.

    async def ask(tell: Any) -> str:
        answered = await asked.asking("discover", params, tell)
        return await asyncio.to_thread(lambda: rendered("found.html", **_found(asked, answered)))

    def progress(told: protocol.DiscoverProgress) -> str:
        if told.excerpts is None:
            return ""
        return rendered("excerpts.html", excerpts=_excerpts(asked, told.excerpts))

    return event_response(ask, Telling(progress, str, _problem))


def _problem(refusal: RefusedError) -> str:
    return rendered("problem.html", message=refusal.message)


def _params(question: Question, budget: int) -> protocol.DiscoverParams:
    return protocol.DiscoverParams(
        query=question.text,
        include=question.values("collection"),
        filter=protocol.DiscoverFilter(path=question.values("path")),
        config={"render": {"maxPromptTokens": budget}},
    )


def _budget(given: str) -> int:
    """The tokens that the address asks for, within what can be chosen."""
    wanted = int(given) if given.isascii() and given.isdigit() and len(given) < 8 else _USUAL
    return max(_LEAST, min(_MOST, wanted))


def _found(asked: Asked, answered: protocol.DiscoverAnswer) -> dict[str, Any]:
    """The values of `found.html`."""
    excerpts, refused = answered.excerpts, answered.verdict.action == "noMatch"
    further = [chunk for chunk in answered.chunks if not any(_overlap(chunk, each) for each in excerpts)]
    sources = excerpts or answered.bullets
    return {
        "answer": answered,
        "excerpts": _excerpts(asked, excerpts),
        "sections": _sections(asked, answered),
        "places": [_place(asked, each) for each in (further[:_NEAREST] if refused else further)],
        "refused": refused,
        "files": len({each.uri for each in sources}),
        "candidates": [(each, _search_address(each)) for each in answered.verdict.candidates],
    }


def _search_address(candidate: protocol.Candidate) -> str:
    return Question(candidate.title, (("path", candidate.path),) if candidate.path else ()).address()


def _excerpts(asked: Asked, excerpts: Sequence[protocol.Excerpt]) -> list[ShownExcerpt]:
    return [_excerpt(asked, each) for each in excerpts]


def _excerpt(asked: Asked, excerpt: protocol.Excerpt) -> ShownExcerpt:
    named, lines = asked.named(excerpt.folder), numbered(excerpt.range)
    return ShownExcerpt(
        excerpt,
        file_address(excerpt.path, lines, named),
        editor_address(excerpt.uri, lines[0]) if asked.is_local else "",
        repository_name(excerpt.folder) if named else "",
        all_lines(excerpt.text, excerpt.range.start.line, excerpt.language, excerpt.path),
    )


def _sections(asked: Asked, answered: protocol.DiscoverAnswer) -> list[ShownSection]:
    """Those of the plan, where the prompt has them or there is nothing else: they lead where an overview is asked for."""
    prompt, sections = answered.answer_prompt, answered.plan.sections
    if answered.excerpts and not any(section.title in prompt for section in sections):
        return []
    folders = {chunk.uri: chunk.folder for chunk in answered.chunks}
    return [
        ShownSection(
            section.title,
            tuple(
                ShownPlace(
                    bullet.citation,
                    file_address(
                        bullet.path, numbered(bullet.range), asked.named(folders.get(bullet.uri, ""))
                    ),
                    " ".join(bullet.text.split()),
                )
                for bullet in section.bullets
            ),
        )
        for section in sections
    ]


def _place(asked: Asked, chunk: protocol.SearchResult) -> ShownPlace:
    return ShownPlace(
        f"{chunk.path}:{chunk.selection_range.start.line + 1}",
        file_address(chunk.path, numbered(chunk.range), asked.named(chunk.folder)),
        chunk.header_path or chunk.title,
    )


def _overlap(chunk: protocol.SearchResult, excerpt: protocol.Excerpt) -> bool:
    return (
        chunk.uri == excerpt.uri
        and chunk.range.start.line < excerpt.range.end.line
        and excerpt.range.start.line < chunk.range.end.line
    )
