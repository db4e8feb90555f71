"""`cairn serve` as a process: its addresses, its answers beside those of LSP, its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from hostile_traffic import ESCAPES
from lsprotocol import types

from tests.serving import PATIENCE_SECONDS, Answer, Served, events_of, serve_command, serving, wait_for

from .conftest import Daemon, plain

without_model = pytest.mark.usefixtures("bare_data_dir")
pytestmark = without_model


def is_settled(status: Any) -> bool:
    """Every present file is indexed, and nothing is left to do."""
    return bool(
        status["activity"] == "idle"
        and status["state"] in ("ready", "degraded")
        and 0 < status["files"]["indexed"] == status["files"]["total"]
    )


def ready(served: Served) -> Served:
    wait_for(lambda: is_settled(served.call("status", {})))
    return served


def in_lsp_terms(answer: Any) -> Any:
    """Without what differs between two answers to the same question: times, and what only this process knows."""
    if isinstance(answer, dict):
        moving = {"timings", "metrics", "memory", "latency", "retrieval", "since", "generation"}
        return {key: in_lsp_terms(value) for key, value in answer.items() if key not in moving}
    return [in_lsp_terms(each) for each in answer] if isinstance(answer, list) else answer


@pytest.mark.asyncio
async def test_rest_answers_as_lsp_does(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]], workspace: Path
) -> None:
    place = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}
    berths = {"uri": (workspace / "src/harbour/berths.py").as_uri()}
    questions: dict[str, tuple[str, Any]] = {
        "context": ("context", {"textDocument": berths, "range": place}),  # before it knows of questions
        "collections": ("collections", {}),
        "status": ("status", {}),
        "search": ("search", {"query": "moor a ship", "explain": True}),
        "discover": ("discover", {"query": "how does mooring work"}),
        "related": ("related", {"textDocument": berths, "range": place}),
        "references": ("references", {"symbol": "moor_ship", "depth": 2}),
        "fetchPage": ("fetch_page", {"path": "README.md"}),
        "expandQueries": ("expand_queries", {"query": "mooring"}),
    }
    async with daemon(workspace) as editor:
        await editor.until(is_settled)
        with serving(str(workspace)) as served:
            await asyncio.to_thread(ready, served)
            for method, (route, params) in questions.items():
                over_lsp = await editor.request(f"cairn/{method}", params)
                over_http = await asyncio.to_thread(served.call, route, params)
                assert in_lsp_terms(over_http) == in_lsp_terms(over_lsp), method


@pytest.mark.asyncio
async def test_rest_tells_the_stages_of_a_discovery_as_lsp_does(
    daemon: Callable[..., AbstractAsyncContextManager[Daemon]], workspace: Path
) -> None:
    question, told = {"query": "how does mooring work"}, []
    async with daemon(workspace) as editor:
        await editor.until(is_settled)
        editor.client.protocol.fm.features.pop(types.PROGRESS, None)
        editor.client.feature(types.PROGRESS)(lambda params: told.append(plain(params.value)))
        await editor.request("cairn/discover", {**question, "partialResultToken": "part"})
        with serving(str(workspace)) as served:
            await asyncio.to_thread(ready, served)
            events = events_of((await asyncio.to_thread(ask_for_events, served, question)).body)
            whole = await asyncio.to_thread(served.call, "discover", question)
            again = events_of((await asyncio.to_thread(ask_for_events, served, question)).body)
    *stages, (last, answer) = events
    assert last == "answer"
    assert [name for name, _ in stages] == [value["stage"] for value in told]
    assert len(told) == 9
    assert in_lsp_terms([value for _, value in stages]) == in_lsp_terms(told)
    assert in_lsp_terms(answer) == in_lsp_terms(whole)
    assert [name for name, _ in again] == ["answer"], "a kept answer runs no stage"


def ask_for_events(served: Served, params: Any) -> Answer:
    answer = served.ask("/api/v1/discover", params, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    return answer


def test_a_client_that_leaves_its_events_ends_the_work(workspace: Path) -> None:
    for part in range(40):  # enough that the stages take longer than leaving
        words = " ".join(f"ship berth tide pilot word{part}x{n}." for n in range(60))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    with serving(str(workspace)) as served:
        ready(served)
        counted = 'cairn_requests_total{front="http",method="discover",outcome="cancelled"}'

        def leave_at_first_event() -> bool:
            body = json.dumps({"query": f"which ship has which berth and pilot {time.monotonic()}"}).encode()
            head = (
                f"POST /api/v1/discover HTTP/1.1\r\nHost: localhost:{served.port}\r\nAccept: text/event-stream\r\n"
                f"Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", served.port), PATIENCE_SECONDS) as client:
                client.sendall(head.encode() + body)
                received = b""
                while b"event: filter_collections" not in received:
                    received += client.recv(65_536)
            return counted in served.ask("/metrics").body.decode()

        wait_for(leave_at_first_event)  # now and then the stages are faster
        assert served.call("search", {"query": "moor a ship"})["results"]


def test_what_fails_is_told_by_the_last_event(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        answer = ask_for_events(served, {"query": "a", "config": {"render": {"formatStyle": "html"}}})
        ((name, body),) = events_of(answer.body)
        assert (name, body["error"]["code"]) == ("error", "invalidParams")
        assert body["error"]["field"] == "config.render.formatStyle"


def test_answers_are_strict_compact_json_in_utf_8(workspace: Path) -> None:
    (workspace / "docs.md").write_text("# Häfen\n\nÜber Häfen und Schiffe 🚢.\n", encoding="utf-8")
    with serving(str(workspace)) as served:
        ready(served)
        answer = served.ask("/api/v1/fetch_page", {"path": "docs.md"})
        assert answer.headers["content-type"] == "application/json"
        data = json.loads(answer.body.decode("utf-8"))
        assert answer.body == json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
        assert "Häfen und Schiffe 🚢" in answer.body.decode()


def test_one_of_several_folders_can_be_asked_alone(tmp_path: Path, workspace: Path) -> None:
    other = tmp_path / "island"
    other.mkdir()
    (other / "README.md").write_text("# Island\n\nNo berths here, only mooring buoys.\n")
    with serving(str(workspace), str(other)) as served:
        ready(served)
        wait_for(lambda: len(served.call("collections", {})) > 4)
        for named in (other.as_uri(), str(other), "island"):
            found = served.ask(f"/api/v1/search?workspace={named}", {"query": "mooring berth"}).json
            assert {result["folder"] for result in found["results"]} == {other.as_uri()}
        refused = served.ask("/api/v1/search?workspace=elsewhere", {"query": "a"})
        assert (refused.status, refused.json["error"]["field"]) == (400, "workspace")


def test_a_wrong_param_is_named(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        for params, field in (
            ({}, "query"),
            ({"query": "a", "limit": 0}, "limit"),
            ({"query": "a", "filter": {"type": ["novel"]}}, "filter.type"),
            ({"query": "a", "Limit": 1}, "Limit"),
        ):
            refused = served.ask("/api/v1/search", params)
            assert refused.status == 400
            assert refused.json["error"]["field"].startswith(field)
        assert "did you mean 'search'" in served.ask("/api/v1/serach", {}).json["error"]["message"]


def test_metrics_count_what_was_asked(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        ready(served)
        served.call("search", {"query": "unheard of"})
        text = served.ask("/metrics").body.decode()
        assert 'cairn_http_requests_total{route="/api/v1/search",status="200"}' in text
        assert 'cairn_requests_total{front="http",method="search",outcome="ok"}' in text
        assert "\ncairn_phase 3.0\n" in text
        assert float(text.partition("\ncairn_index_chunks ")[2].split()[0]) > 0


def test_the_description_names_its_own_address(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        document = served.ask("/openapi.json").json
        assert document["servers"] == [{"url": served.addresses["url"]}]
        assert served.ask("/openapi.json", token="wrong").status == 401


def test_mcp_is_behind_the_same_guard(workspace: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accepts = {"Accept": "application/json, text/event-stream"}
    with serving(str(workspace)) as served:
        assert served.addresses["mcp"] == f"{served.addresses['url']}/mcp"
        answer = served.ask("/mcp", call, headers=accepts)
        assert answer.status == 200
        assert b'"serverInfo"' in answer.body
        assert served.ask("/mcp", call, headers=accepts, token="wrong").status == 401
        assert served.ask("/mcp", call, headers={**accepts, "Origin": "https://evil.example"}).status == 403
        assert served.ask("/mcp", call, headers={**accepts, "Host": "evil.example"}).status == 421


def test_no_path_leads_out_of_the_workspace(tmp_path: Path, workspace: Path) -> None:
    secret = "the harbour master's safe combination is 4711"
    (tmp_path / "secret.txt").write_text(secret)
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "linked").symlink_to(tmp_path, target_is_directory=True)
    inside = [
        *ESCAPES,
        str(tmp_path / "secret.txt"),
        "link.txt",
        "linked/secret.txt",
        "linked/../secret.txt",
        ".git/config",
    ]
    with serving(str(workspace)) as served:
        ready(served)
        for path in inside:
            answer = served.ask("/api/v1/fetch_page", {"path": path})
            assert answer.status == 400, (path, answer)
            assert answer.json["error"]["field"] == "path"
            assert "4711" not in answer.body.decode()
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        for path in (tmp_path / "secret.txt", workspace / "link.txt", workspace / "linked/secret.txt"):
            for name in ("related", "context"):
                params = {"textDocument": {"uri": path.as_uri()}, "range": place}
                answer = served.ask(f"/api/v1/{name}", params)
                assert answer.status == 400, (name, path, answer)
        assert served.call("fetch_page", {"path": "README.md"})["text"].startswith("# Harbour")


# --- starting and ending -------------------------------------------------------------------------------


def failed(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        serve_command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == 1, done
    assert json.loads(done.stdout)["error"]["message"] == done.stderr.removeprefix("cairn: ").strip()
    return done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_clients_are_connected(workspace: Path, number: signal.Signals) -> None:
    with serving(str(workspace)) as served:
        ready(served)
        lsp = socket.create_connection(("127.0.0.1", served.addresses["lspPort"]))
        half = socket.create_connection(("127.0.0.1", served.port))
        half.sendall(b"POST /api/v1/search HTTP/1.1\r\n")
        assert served.end(number) == 0
        for connection in (lsp, half):
            connection.settimeout(PATIENCE_SECONDS)
            with (
                connection,
                contextlib.suppress(ConnectionResetError),
            ):  # it was not accepted yet, or not read
                assert connection.recv(1) == b""


def test_it_ends_when_nobody_came_for_long_enough(workspace: Path) -> None:
    with serving(str(workspace), "--idle-minutes", "0.01") as served:
        assert served.process.wait(PATIENCE_SECONDS) == 0


def test_a_port_in_use_is_told_with_what_to_do(workspace: Path) -> None:
    with serving(str(workspace)) as served:
        said = failed(str(workspace), "--port", str(served.port))
        assert said == (
            f"cairn: Port {served.port} of 127.0.0.1 is in use, perhaps by another `cairn serve`; "
            "give another one with --port, or --port 0 for a free one.\n"
        )
        lsp_port = str(served.addresses["lspPort"])
        assert f"Port {lsp_port} of 127.0.0.1 is in use" in failed(str(workspace), "--lsp-port", lsp_port)


def test_two_serve_one_workspace(workspace: Path) -> None:
    with serving(str(workspace)) as first:
        ready(first)
        with serving(str(workspace)) as second:
            found = [
                ready(served).call("search", {"query": "moor ship"})["results"] for served in (first, second)
            ]
            assert [r["path"] for r in found[0]] == [r["path"] for r in found[1]]
            assert first.token == second.token


def test_what_cannot_be_served_is_said_in_one_line(workspace: Path, tmp_path: Path) -> None:
    assert "is not a directory" in failed(str(tmp_path / "nowhere"))
    assert "--allow-remote" in failed(str(workspace), "--host", "0.0.0.0")
    assert "is not a port" in failed(str(workspace), "--port", "70000")


def test_without_the_extra_it_says_what_to_install(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('not installed')\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    said = failed(str(workspace), PYTHONPATH=paths)
    assert said == 'cairn: This needs more libraries: pip install "cairn-ls[serve]"\n'


def test_no_lsp_means_no_socket(workspace: Path) -> None:
    with serving(str(workspace), "--no-lsp") as served:
        assert served.addresses["lspPort"] is None
