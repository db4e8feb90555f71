"""Answers as server-sent events: one after each stage of a method, then one with the whole answer.

An event has the name of its stage; the last one is called `answer` or `error`. Its data is JSON in one line.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from attrs import frozen
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message

from cairn.engine.methods import Tell
from cairn.engine.runner import progress_json
from cairn.http.refusals import PLAIN_HEADERS, RefusedError, error_body, refusal_of
from cairn.protocol import DiscoverProgress
from cairn.schema import strict_json
from cairn.startup.ending import first_of

logger = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
ANSWER, ERROR = "answer", "error"
"""The possible names of the last event."""
_KEEP_ALIVE_SECONDS = 10.0
"""The interval of comments that are sent on an idle connection. Proxies close it after 30 to 60 seconds."""


def wants_events(headers: Headers) -> bool:
    """Return whether the client's `Accept` header names server-sent events."""
    for accepted in ",".join(headers.getlist("accept")).lower().split(","):
        media_type, *parameters = (part.strip() for part in accepted.split(";"))
        if media_type == MEDIA_TYPE and not any(_refuses(each) for each in parameters):
            return True
    return False


@frozen
class EventFormat:
    """Functions that format the data of events: of each stage, and of the answer or an error."""

    progress: Callable[[DiscoverProgress], str]
    """Formats a stage; called on the query thread."""
    answer: Callable[[Any], str]
    problem: Callable[[RefusedError], str]


JSON_FORMAT = EventFormat(
    progress=lambda progress: strict_json.dumps(progress_json(progress)).decode("utf-8"),
    answer=lambda answer: strict_json.dumps(answer).decode("utf-8"),
    problem=lambda refusal: error_body(refusal.code, refusal.message, refusal.field).decode("utf-8"),
)


def event_response(
    run: Callable[[Tell], Coroutine[Any, Any, Any]], event_format: EventFormat = JSON_FORMAT
) -> Response:
    """Return a response with the stages and the answer of `run`. A disconnect of the client cancels `run`."""
    return EventSourceResponse(
        _events(run, event_format),
        headers=PLAIN_HEADERS,
        ping=_KEEP_ALIVE_SECONDS,
        ping_message_factory=lambda: ServerSentEvent(comment="still at work", sep="\n"),
    )


async def _events(
    run: Callable[[Tell], Coroutine[Any, Any, Any]], event_format: EventFormat
) -> AsyncIterator[ServerSentEvent]:
    loop, events = asyncio.get_running_loop(), asyncio.Queue[ServerSentEvent | None]()

    def tell(progress: DiscoverProgress) -> None:
        event = _event(progress.stage, event_format.progress(progress))
        loop.call_soon_threadsafe(events.put_nowait, event)

    task = asyncio.ensure_future(run(tell))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield _last(task, event_format)
    finally:
        task.cancel()


def _last(task: asyncio.Future[Any], event_format: EventFormat) -> ServerSentEvent:
    problem = task.exception()
    if problem is None:
        return _event(ANSWER, event_format.answer(task.result()))
    if not isinstance(problem, Exception):
        raise problem
    refusal = refusal_of(problem)
    if refusal.code == "internal":
        logger.error("a request failed unexpectedly", exc_info=problem)
    return _event(ERROR, event_format.problem(refusal))


def _event(name: str, data: str) -> ServerSentEvent:
    return ServerSentEvent(data, event=name, sep="\n")


def _refuses(parameter: str) -> bool:
    """Return whether the parameter is `q=0`, which means that the client does not accept the type."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and not value.strip().strip("0.")


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of `work`; cancel it and raise ClientDisconnect if the client disconnects."""
    task = asyncio.ensure_future(work)
    await first_of(task, disconnected(request.receive))
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def disconnected(receive: Callable[[], Awaitable[Message]]) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
