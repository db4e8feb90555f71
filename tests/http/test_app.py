"""The HTTP front over real sockets: access control, requests and answers, limits, and idle time."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import nullcontext
from typing import Any

import pytest
from running_front import PATIENCE_SECONDS, QUICK, TOKEN, StagedRunner, code, parsed, running, wait_until
from starlette.datastructures import Headers

from cairn.errors import IndexUnavailableError, InvalidRequestError, OutOfTimeError
from cairn.http.admission import MAX_IN_FLIGHT
from cairn.http.guard import Guard, resolved
from cairn.http.refusals import RefusedError
from cairn.http.web_server import HEAD_BYTES
from cairn.operations.presence import Presence
from cairn.settings.tree import ServeSettings

pytestmark = pytest.mark.asyncio

# --- access control --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"Authorization": None}, (401, "unauthorized")),
        ({"Authorization": "Bearer " + "B" * 43}, (401, "unauthorized")),
        ({"Authorization": "Basic " + "A" * 43}, (401, "unauthorized")),
        ({"Authorization": "Bearer \xe4"}, (401, "unauthorized")),
        ({"Host": "evil.example"}, (421, "wrongHost")),
        ({"Host": "localhost"}, (421, "wrongHost")),
        ({"Host": "localhost:1"}, (421, "wrongHost")),
        ({"Origin": "null"}, (403, "forbiddenOrigin")),
        ({"Origin": "https://evil.example"}, (403, "forbiddenOrigin")),
        ({"Origin": "http://localhost:1"}, (403, "forbiddenOrigin")),
        ({"Content_Type": "text/plain"}, (415, "unsupportedMediaType")),
        ({"Content_Type": "application/x-www-form-urlencoded"}, (415, "unsupportedMediaType")),
        ({"Content_Type": "application/json; charset=utf-16"}, (415, "unsupportedMediaType")),
        ({"Content_Type": None}, (415, "unsupportedMediaType")),
        ({"Content_Encoding": "gzip"}, (415, "unsupportedMediaType")),
        ({"method": "GET"}, (405, "methodNotAllowed")),
        ({"method": "OPTIONS"}, (405, "methodNotAllowed")),
        ({"path": "/api/v1/serach"}, (404, "notFound")),
        ({"path": "/"}, (404, "notFound")),
        ({"path": "/api/v1/search?a=b"}, (400, "invalidParams")),
        ({"path": "/api/v1/search?workspace=a&workspace=b"}, (400, "invalidParams")),
        ({"body": b"{"}, (400, "invalidJson")),
    ],
)
async def test_wrong_request_is_refused(changes: dict[str, Any], refusal: tuple[int, str]) -> None:
    async with running() as front:
        assert code(await front.ask(**changes)) == refusal
        assert front.runner.calls == []
        assert (await front.ask())[0] == 200


async def test_unknown_method_is_refused_with_a_similar_one() -> None:
    async with running() as front:
        _, answer = await front.ask(path="/api/v1/serach")
        assert "did you mean 'search'?" in answer["error"]["message"]


async def test_loopback_hosts_and_origins_are_accepted() -> None:
    async with running() as front:
        for host in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost."):
            assert (await front.ask(Host=f"{host}:{front.port}"))[0] == 200
        for origin in ("localhost", "127.0.0.1", "[::1]", "LocalHost"):
            assert (await front.ask(Origin=f"http://{origin}:{front.port}"))[0] == 200


async def test_answers_allow_no_other_origin_to_read_them() -> None:
    async with running() as front:
        for changes in ({}, {"method": "OPTIONS", "Origin": f"http://localhost:{front.port}"}):
            answer = await front.exchange(front.request(**changes))  # type: ignore[arg-type]
            assert b"access-control" not in answer.lower()
        refused = await front.exchange(front.request(Authorization=None))
        assert b'www-authenticate: bearer realm="cairn"' in refused.lower()


async def test_only_health_needs_no_token() -> None:
    ready = [False]
    async with running(ready=lambda: ready[0]) as front:
        health = {"body": b"", "method": "GET", "Authorization": None}
        assert await front.ask(path="/healthz", **health) == (200, {"ok": True})
        assert await front.ask(path="/readyz", **health) == (503, {"ready": False})
        ready[0] = True
        assert await front.ask(path="/readyz", **health) == (200, {"ready": True})
        foreign = await front.ask(path="/healthz", **{**health, "Host": "evil.example"})
        assert code(foreign) == (421, "wrongHost")
        assert (await front.ask(path="/openapi.json", **health))[0] == 200
        for path in ("/metrics", "/api/v1/status", "/nothing", "/mcp"):
            assert code(await front.ask(path=path, **health)) == (401, "unauthorized")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "203.0.113.7"])
async def test_remote_address_needs_allow_remote(host: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"--host: other machines .*--allow-remote"):
        resolved(host, allow_remote=False)
    assert resolved(host, allow_remote=True)


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::1", "::1")]
)
async def test_loopback_address_does_not_need_allow_remote(host: str, address: str) -> None:
    assert resolved(host, allow_remote=False) == address


async def test_remote_guard_accepts_addresses_but_not_foreign_names() -> None:
    guard = Guard(TOKEN, "0.0.0.0", 7420)
    for name in ("192.0.2.1", socket.gethostname()):
        guard.check_place(Headers({"host": f"{name}:7420"}))
    with pytest.raises(RefusedError, match="Host must name"):
        guard.check_place(Headers({"host": "rebound.example:7420"}))


@pytest.mark.parametrize(
    ("address", "host", "origin", "is_own"),
    [
        ("0.0.0.0", "192.0.2.1:7420", "http://192.0.2.1:7420", True),
        ("0.0.0.0", "[2001:DB8::1]:7420", "HTTP://[2001:db8::1]:7420", True),
        ("0.0.0.0", "192.0.2.1:7420", "http://192.0.2.2:7420", False),
        ("0.0.0.0", "192.0.2.1:7420", "http://192.0.2.1", False),
        ("0.0.0.0", "192.0.2.1:7420", "https://192.0.2.1:7420", False),
        ("0.0.0.0", "192.0.2.1:7420", "http://localhost:7420", False),
        ("127.0.0.1", "127.0.0.1:7420", "http://localhost:7420", True),
        ("127.0.0.1", "127.0.0.1:7420", "http://localhost:7421", False),
        ("127.0.0.1", "127.0.0.1:7420", "http://127.0.0.2:7420", False),
        ("127.0.0.1", "127.0.0.1:7420", "http://", False),
    ],
)
async def test_page_may_query_only_its_own_server(address: str, host: str, origin: str, is_own: bool) -> None:
    headers = Headers({"host": host, "origin": origin})
    with nullcontext() if is_own else pytest.raises(RefusedError, match="other origins"):
        Guard(TOKEN, address, 7420).check_place(headers)


# --- requests and answers ----------------------------------------------------------------------------


async def test_params_and_workspace_reach_the_engine() -> None:
    async with running() as front:
        path = "/api/v1/search?workspace=file%3A%2F%2F%2Fa"
        assert await front.ask(b'{"query": "\xc3\xa4"}', path) == (200, {"ok": True})
        assert (await front.ask(b"", "/api/v1/build_answer_plan"))[0] == 200
        assert (await front.ask(b"null", "/api/v1/pause"))[0] == 200
        assert (await front.ask(b"", "/api/v1/status", "GET"))[0] == 200
        assert front.runner.calls == [
            ("search", {"query": "ä"}, "file:///a"),
            ("buildAnswerPlan", {}, ""),
            ("pause", {}, ""),
            ("status", {}, ""),
        ]


async def test_get_works_only_for_methods_without_params_and_changes() -> None:
    async with running() as front:
        assert (await front.ask(b"", "/api/v1/collections", "GET"))[0] == 200
        for name in ("pause", "resume", "search"):
            assert code(await front.ask(b"", f"/api/v1/{name}", "GET")) == (405, "methodNotAllowed")


@pytest.mark.parametrize(
    ("problem", "refusal"),
    [
        (InvalidRequestError("filter.path", "is wrong"), (400, "invalidParams")),
        (IndexUnavailableError("no index"), (503, "unavailable")),
        (OutOfTimeError("too slow"), (504, "outOfTime")),
        (RuntimeError("secret detail"), (500, "internal")),
    ],
)
async def test_errors_of_the_engine_have_codes(problem: Exception, refusal: tuple[int, str]) -> None:
    def fail() -> None:
        raise problem

    async with running(StagedRunner(fail)) as front:
        answer = await front.ask()
        assert code(answer) == refusal
        error = answer[1]["error"]
        assert "secret" not in error["message"]
        if isinstance(problem, InvalidRequestError):
            assert (error["field"], error["message"]) == ("filter.path", "filter.path: is wrong")


async def test_requests_are_counted_by_known_addresses() -> None:
    async with running() as front:
        await front.ask()
        for number in range(3):
            await front.ask(path=f"/made-up-{number}")
        text = front.metrics.text().decode()
        assert 'cairn_http_requests_total{route="/api/v1/search",status="200"} 1.0' in text
        assert 'cairn_http_requests_total{route="other",status="404"} 3.0' in text
        assert "made-up" not in text


# --- limits --------------------------------------------------------------------------------------------


async def test_too_large_body_is_refused_with_or_without_a_length() -> None:
    async with running(settings=ServeSettings(max_body_bytes=1_000)) as front:
        large = b'"' + b"a" * 1_000 + b'"'
        parts = (large[:600], large[600:], b"")
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        request = front.request(b"", Transfer_Encoding="chunked", Content_Length=None) + chunked
        for answer in (
            await front.ask(large),
            parsed(await front.exchange(request)),
            await front.ask(b"", Content_Length=str(10**18), Expect="100-continue"),
        ):
            assert code(answer) == (413, "tooLarge")
        assert front.runner.calls == []
        assert (await front.ask(b'"' + large[102:]))[0] == 200


async def test_a_diff_of_ten_megabytes_is_admitted() -> None:
    async with running() as front:
        diff = "+    berth.moor_ship(ship)\n" * 400_000
        assert (await front.ask(json.dumps({"diff": diff}).encode()))[0] == 200
        ((_, params, _),) = front.runner.calls
        assert params == {"diff": diff}


async def test_incomplete_body_times_out() -> None:
    async with running(settings=ServeSettings(request_seconds=0.2)) as front:
        request = front.request(b"", Content_Length="10") + b"{"
        assert code(parsed(await front.exchange(request))) == (408, "requestTimeout")


@pytest.mark.parametrize("begun", [b"", b"POST /api/v1/sea", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_incomplete_head_times_out(begun: bytes) -> None:
    async with running(limits=QUICK) as front:
        assert await front.exchange(begun) == b""


async def test_incomplete_head_of_a_second_request_times_out() -> None:
    async with running(limits=QUICK) as front:
        answer = await front.exchange(front.request(Connection="keep-alive") + b"GET /healthz HT")
        assert answer.startswith(b"HTTP/1.1 200")


async def test_slowly_sent_head_times_out() -> None:
    async with running(limits=QUICK) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"GET / HTTP/1.1\r\nX: ")

        async def drip() -> None:
            while not writer.is_closing():
                writer.write(b"a")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        with pytest.raises((ConnectionError, AssertionError)):
            assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        dripping.cancel()
        writer.close()


async def test_client_that_does_not_read_is_disconnected() -> None:
    async with running(StagedRunner(lambda: "a" * 40_000_000), limits=QUICK) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port, limit=1)
        writer.write(front.request())
        await wait_until(lambda: bool(front.runner.calls))
        await wait_until(lambda: front.connections() == 0)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(40_000_000), PATIENCE_SECONDS)
        writer.close()


async def test_headers_have_a_limit() -> None:
    async with running() as front:
        assert code(await front.ask(X_Large="a" * HEAD_BYTES)) == (431, "headTooLarge")
        endless = front.request(X_Large="a" * 64 * HEAD_BYTES)[:-4]
        answer = await front.exchange(endless)
        assert answer == b"" or code(parsed(answer)) == (400, "invalidRequest")
        assert front.runner.calls == []


async def test_disconnect_cancels_the_query() -> None:
    async with running(StagedRunner(waits=True)) as front:
        _, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(front.request())
        await wait_until(lambda: bool(front.runner.calls))
        writer.close()
        await asyncio.wait_for(front.runner.cancelled.wait(), PATIENCE_SECONDS)


async def test_too_many_requests_are_refused_for_now() -> None:
    async with running(StagedRunner(waits=True)) as front:
        waiting = [asyncio.create_task(front.ask()) for _ in range(MAX_IN_FLIGHT)]
        await wait_until(lambda: len(front.runner.calls) == MAX_IN_FLIGHT)
        answer = await front.exchange(front.request())
        assert code(parsed(answer)) == (503, "busy")
        assert b"retry-after: 1" in answer.lower()
        assert (await front.ask(b"", "/healthz", "GET"))[0] == 200
        front.runner.proceed.set()
        assert {status for status, _ in await asyncio.gather(*waiting)} == {200}
        assert (await front.ask())[0] == 200


async def test_only_connections_beyond_the_limit_are_closed() -> None:
    async with running(limits={"_CONNECTIONS": 3}) as front:
        first = [await asyncio.open_connection("127.0.0.1", front.port) for _ in range(3)]
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        with pytest.raises((ConnectionError, AssertionError)):
            assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        writer.close()
        first[0][1].write(front.request())
        assert (await first[0][0].read()).startswith(b"HTTP/1.1 200")
        for _, other in first:
            other.close()


# --- idle time -----------------------------------------------------------------------------------------


async def test_idle_time_begins_when_the_last_client_leaves() -> None:
    now = [0.0]
    presence = Presence(lambda: now[0])
    now[0] = 50
    assert presence.seconds_left(60) == 10
    with presence.here():
        with presence.here():
            assert presence.seconds_left(60) is None
        now[0] = 1_000
        assert presence.seconds_left(60) is None
    assert presence.seconds_left(60) == 60
    now[0] = 2_000
    assert presence.seconds_left(60) == 0


async def test_health_checks_do_not_end_idle_time() -> None:
    async with running(StagedRunner(waits=True)) as front:
        asking = asyncio.create_task(front.ask())
        await wait_until(lambda: bool(front.runner.calls))
        assert front.presence.seconds_left(60) is None
        front.runner.proceed.set()
        await asking
        await wait_until(lambda: front.presence.seconds_left(60) is not None)
        left = front.presence.seconds_left(60)
        await front.ask(b"", "/healthz", "GET")
        assert front.presence.seconds_left(60) <= left  # type: ignore[operator]


async def test_metrics_contain_those_of_front_and_engine() -> None:
    async with running() as front:
        front.metrics.show_figures(dict)
        front.metrics.request("search", "lsp", 0.1, "ok")
        await front.ask()
        text = front.metrics.text().decode()
    for line in (
        'cairn_http_requests_total{route="/api/v1/search",status="200"} 1.0',
        'cairn_requests_total{front="lsp",method="search",outcome="ok"} 1.0',
        "cairn_http_requests_in_flight 0.0",
    ):
        assert f"\n{line}\n" in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert [name for name in names if "resident_memory" in name] == ["cairn_resident_memory_bytes"]
