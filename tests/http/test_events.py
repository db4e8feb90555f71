"""Server-sent events of the HTTP front: stages, answers, errors and disconnects."""

from __future__ import annotations

import asyncio
import http.client
from unittest import mock

import pytest
from running_front import PATIENCE_SECONDS, QUICK, TOKEN, Running, StagedRunner, code, running, wait_until
from tests.serving import Answer, events_of

from cairn.engine.methods import Tell
from cairn.errors import IndexUnavailableError, InvalidRequestError, OutOfTimeError
from cairn.http.admission import MAX_IN_FLIGHT
from cairn.protocol import DiscoverProgress, DiscoveryMetrics
from cairn.settings.tree import ServeSettings

pytestmark = pytest.mark.asyncio

DISCOVER = "/api/v1/discover"
EVENTS = "text/event-stream"
PROMPT = "Häfen:\n\n- \u2028 Kai 7\r\n"


def two_stages(tell: Tell) -> None:
    tell(DiscoverProgress("filter_collections", DiscoveryMetrics(collections_searched=3)))
    tell(DiscoverProgress("render_llm_prompt", DiscoveryMetrics(), answer_prompt=PROMPT))


async def ask(front: Running, accept: str = EVENTS, path: str = DISCOVER, **headers: str) -> Answer:
    """Send a request and return the whole answer."""

    def exchange() -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE_SECONDS)
        sent = {
            "Authorization": f"Bearer {TOKEN.value}",
            "Content-Type": "application/json",
            "Accept": accept,
            **headers,
        }
        try:
            connection.request("POST", path, b'{"query": "a"}', sent)
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    return await asyncio.to_thread(exchange)


async def test_events_are_the_stages_and_then_the_answer() -> None:
    async with running(StagedRunner(stages=two_stages)) as front:
        answer = await ask(front)
        assert (answer.status, answer.headers["content-type"]) == (200, f"{EVENTS}; charset=utf-8")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        (first, some), (second, prompt), last = events_of(answer.body)
        assert (first, some["metrics"]["collectionsSearched"]) == ("filter_collections", 3)
        assert some.keys() == {"stage", "metrics"}, "unchanged parts of the answer are absent"
        assert (second, prompt["answerPrompt"]) == ("render_llm_prompt", PROMPT)
        assert last == ("answer", {"ok": True})
        assert front.runner.calls == [("discover", {"query": "a"}, "")]


@pytest.mark.parametrize(
    ("accept", "path", "streams"),
    [
        ("text/event-stream", DISCOVER, True),
        ("application/json, Text/Event-Stream ; q=0.5", DISCOVER, True),
        ("*/*", DISCOVER, False),
        ("text/*", DISCOVER, False),
        ("text/event-stream;q=0", DISCOVER, False),
        ("text/event-stream; q=0.00, application/json", DISCOVER, False),
        ("text/event-stream", "/api/v1/search", False),
    ],
)
async def test_only_named_events_of_streaming_methods_are_sent(accept: str, path: str, streams: bool) -> None:
    async with running() as front:
        answer = await ask(front, accept, path)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(EVENTS if streams else "application/json")
        assert (events_of(answer.body) == [("answer", {"ok": True})]) is streams


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (InvalidRequestError("config.render", "is wrong"), ("invalidParams", "config.render")),
        (IndexUnavailableError("no index"), ("unavailable", "")),
        (OutOfTimeError("too slow"), ("outOfTime", "")),
        (RuntimeError("secret detail"), ("internal", "")),
    ],
)
async def test_last_event_may_be_an_error(
    problem: Exception, error: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise problem

    async with running(StagedRunner(fail, stages=two_stages)) as front:
        *stages, (name, body) = events_of((await ask(front)).body)
        assert [stage for stage, _ in stages] == ["filter_collections", "render_llm_prompt"]
        assert (name, (body["error"]["code"], body["error"]["field"])) == ("error", error)
        assert "secret" not in body["error"]["message"]
        assert ("secret detail" in caplog.text) == (error[0] == "internal"), "hidden details are logged"


@pytest.mark.parametrize(
    ("headers", "path", "most", "refusal"),
    [
        ({"Content-Type": "text/plain"}, DISCOVER, 1_000, (415, "unsupportedMediaType")),
        ({}, f"{DISCOVER}?a=b", 1_000, (400, "invalidParams")),
        ({}, DISCOVER, 5, (413, "tooLarge")),
    ],
)
async def test_wrong_request_is_refused_without_events(
    headers: dict[str, str], path: str, most: int, refusal: tuple[int, str]
) -> None:
    async with running(settings=ServeSettings(max_body_bytes=most)) as front:
        answer = await ask(front, path=path, **headers)
        assert code((answer.status, answer.json)) == refusal
        assert front.runner.calls == []


async def test_comments_keep_the_connection_open() -> None:
    with mock.patch("cairn.http.events._KEEP_ALIVE_SECONDS", 0.05):
        async with running(StagedRunner(waits=True)) as front:
            reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
            writer.write(front.request(path=DISCOVER, Accept=EVENTS))
            for _ in range(2):
                await asyncio.wait_for(reader.readuntil(b": still at work\n\n"), PATIENCE_SECONDS)
            front.runner.proceed.set()
            rest = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
            assert b'event: answer\ndata: {"ok":true}\n\n' in rest
            writer.close()


async def test_disconnect_cancels_the_query() -> None:
    async with running(StagedRunner(waits=True, stages=two_stages)) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(front.request(path=DISCOVER, Accept=EVENTS))
        await asyncio.wait_for(reader.readuntil(b"event: render_llm_prompt"), PATIENCE_SECONDS)
        writer.close()
        await asyncio.wait_for(front.runner.cancelled.wait(), PATIENCE_SECONDS)
        await wait_until(lambda: front.presence.seconds_left(60) is not None)


async def test_client_that_does_not_read_is_disconnected() -> None:
    async with running(StagedRunner(lambda: "a" * 40_000_000), limits=QUICK) as front:
        _, writer = await asyncio.open_connection("127.0.0.1", front.port, limit=1)
        writer.write(front.request(path=DISCOVER, Accept=EVENTS))
        await wait_until(lambda: bool(front.runner.calls))
        await wait_until(lambda: front.connections() == 0)
        await wait_until(lambda: front.presence.seconds_left(60) is not None)
        writer.close()


async def test_streams_count_as_concurrent_requests() -> None:
    async with running(StagedRunner(waits=True)) as front:
        request = front.request(path=DISCOVER, Accept=EVENTS)
        waiting = [asyncio.create_task(front.exchange(request)) for _ in range(MAX_IN_FLIGHT)]
        await wait_until(lambda: len(front.runner.calls) == MAX_IN_FLIGHT)
        assert code(await front.ask()) == (503, "busy")
        front.runner.proceed.set()
        for answer in await asyncio.gather(*waiting):
            assert b'event: answer\ndata: {"ok":true}\n\n' in answer
