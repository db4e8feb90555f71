"""Answers as server-sent events: each stage of a method that streams, when it has ended, and then the whole answer.

The name of an event is that of its stage, or `answer`, or `error`, which are the last; its data are JSON in one line.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from attrs import frozen
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.datastructures import Headers
from starlette.responses import Response

from cairn.engine.request import Tell
from cairn.engine.runner import progress_json
from cairn.http.errors import PLAIN_HEADERS, RefusedError, error_body, refusal_of
from cairn.protocol import DiscoverProgress
from cairn.schema import strict_json

logger = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
ANSWER, ERROR = "answer", "error"
"""Names of the event that is the last one."""
_KEEP_ALIVE_SECONDS = 10.0
"""A comment is sent where nothing else was for so long: proxies close what is silent for 30 to 60 seconds."""


def wants_events(headers: Headers) -> bool:
    """Whether the client asks for server-sent events by name."""
    for accepted in ",".join(headers.getlist("accept")).lower().split(","):
        media_type, *parameters = (part.strip() for part in accepted.split(";"))
        if media_type == MEDIA_TYPE and not any(_refuses(each) for each in parameters):
            return True
    return False


@frozen
class Telling:
    """How a front tells what comes of a question: each stage, and at the end the answer or why there is none."""

    progress: Callable[[DiscoverProgress], str]
    """The data of a stage's event; called on the thread that answers."""
    answer: Callable[[Any], str]
    problem: Callable[[RefusedError], str]


JSON_TELLING = Telling(
    progress=lambda progress: strict_json.dumps(progress_json(progress)).decode("utf-8"),
    answer=lambda answer: strict_json.dumps(answer).decode("utf-8"),
    problem=lambda refusal: error_body(refusal.code, refusal.message, refusal.field).decode("utf-8"),
)


def event_response(
    ask: Callable[[Tell], Coroutine[Any, Any, Any]], telling: Telling = JSON_TELLING
) -> Response:
    """What `ask` tells and answers, as events. The work is cancelled when the client leaves."""
    return EventSourceResponse(
        _events(ask, telling),
        headers=PLAIN_HEADERS,
        ping=_KEEP_ALIVE_SECONDS,
        ping_message_factory=lambda: ServerSentEvent(comment="still at work", sep="\n"),
    )


async def _events(
    ask: Callable[[Tell], Coroutine[Any, Any, Any]], telling: Telling
) -> AsyncIterator[ServerSentEvent]:
    loop, told = asyncio.get_running_loop(), asyncio.Queue[ServerSentEvent | None]()

    def tell(progress: DiscoverProgress) -> None:
        """On the query thread."""
        event = _event(progress.stage, telling.progress(progress))
        loop.call_soon_threadsafe(told.put_nowait, event)

    answering = asyncio.ensure_future(ask(tell))
    answering.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (event := await told.get()) is not None:
            yield event
        yield _last(answering, telling)
    finally:
        answering.cancel()


def _last(answering: asyncio.Future[Any], telling: Telling) -> ServerSentEvent:
    """The answer, or why there is none."""
    problem = answering.exception()
    if problem is None:
        return _event(ANSWER, telling.answer(answering.result()))
    if not isinstance(problem, Exception):
        raise problem
    refusal = refusal_of(problem)
    if refusal.code == "internal":
        logger.error("a request failed that should not have", exc_info=problem)
    return _event(ERROR, telling.problem(refusal))


def _event(name: str, data: str) -> ServerSentEvent:
    return ServerSentEvent(data, event=name, sep="\n")


def _refuses(parameter: str) -> bool:
    """Whether it is a quality of zero: "not this one"."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and not value.strip().strip("0.")
