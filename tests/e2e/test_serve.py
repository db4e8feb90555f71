"""`cairn serve` as a process: its addresses, its answers in comparison with LSP, its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hostile_traffic import ESCAPES
from lsprotocol import types

from tests.lsp_editor import Editor
from tests.serving import PATIENCE_SECONDS, Answer, Served, events_of, serve_command, serving, wait_for

from .command_line import run_cairn
from .daemon import Daemon, is_settled, plain
from .mcp_agent import HELLO
from .written_files import write_ship_notes

pytestmark = pytest.mark.usefixtures("bare_data_dir")

SECRET = "the harbour master's safe combination is 4711"


@pytest.fixture(scope="module")
def harbour_folder(harbour_folder: Path) -> Path:
    """The small project with a document that is not ASCII, and with links to a secret outside."""
    outside = harbour_folder.with_name("outside")
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (harbour_folder / "link.txt").symlink_to(outside / "secret.txt")
    (harbour_folder / "linked").symlink_to(outside, target_is_directory=True)
    text = "# Häfen\n\nÜber Häfen und Schiffe 🚢.\n"
    (harbour_folder / "docs.md").write_text(text, encoding="utf-8")
    return harbour_folder


def ready(served: Served) -> Served:
    wait_for(lambda: is_settled(served.call("status", {})))
    return served


def without_volatile(answer: Any) -> Any:
    """Remove the fields that differ between two answers to one question: times, and a process's own state."""
    if isinstance(answer, dict):
        volatile = {"timings", "metrics", "memory", "latency", "retrieval", "since", "generation", "skipped"}
        return {key: without_volatile(value) for key, value in answer.items() if key not in volatile}
    return [without_volatile(each) for each in answer] if isinstance(answer, list) else answer


@pytest.mark.asyncio(loop_scope="module")
async def test_rest_sends_the_stages_of_a_discovery_as_lsp_does(harbour: Daemon, served: Served) -> None:
    params, progress = {"query": "how long is a berth"}, []
    harbour.client.protocol.fm.features.pop(types.PROGRESS, None)
    harbour.client.feature(types.PROGRESS)(lambda params: progress.append(plain(params.value)))
    await harbour.request("cairn/discover", {**params, "partialResultToken": "part"})
    events = events_of((await asyncio.to_thread(ask_for_events, served, params)).body)
    whole = await asyncio.to_thread(served.call, "discover", params)
    again = events_of((await asyncio.to_thread(ask_for_events, served, params)).body)
    *stages, (last, answer) = events
    assert last == "answer"
    assert [name for name, _ in stages] == [value["stage"] for value in progress]
    assert len(progress) == 9
    assert without_volatile([value for _, value in stages]) == without_volatile(progress)
    assert without_volatile(answer) == without_volatile(whole)
    assert [name for name, _ in again] == ["answer"], "a cached answer runs no stage"


def ask_for_events(served: Served, params: Any) -> Answer:
    answer = served.ask("/api/v1/discover", params, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    return answer


def test_a_client_that_leaves_its_events_ends_the_work(workspace: Path) -> None:
    write_ship_notes(workspace, 40)  # makes the stages take longer than leaving
    with serving(str(workspace)) as served:
        ready(served)
        counter = 'cairn_requests_total{front="http",method="discover",outcome="cancelled"}'

        def leave_at_first_event() -> bool:
            query = f"which ship has which berth and pilot {time.monotonic()}"
            body = json.dumps({"query": query}).encode()
            head = (
                f"POST /api/v1/discover HTTP/1.1\r\nHost: localhost:{served.port}\r\n"
                f"Accept: text/event-stream\r\nAuthorization: Bearer {served.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", served.port), PATIENCE_SECONDS) as client:
                client.sendall(head.encode() + body)
                received = b""
                while b"event: filter_collections" not in received:
                    received += client.recv(65_536)
            return counter in served.ask("/metrics").body.decode()

        wait_for(leave_at_first_event)  # sometimes the stages are faster
        assert served.call("search", {"query": "moor a ship"})["results"]


def test_the_beginning_of_a_long_question_is_answered(served: Served) -> None:
    def discover(budget: int, style: str = "markdown") -> Any:
        config = {"render": {"maxPromptTokens": budget}}
        params = {"query": "how is a ship moored " * 5_000, "format": style, "config": config}
        return served.call("discover", params)

    for style in ("markdown", "plain", "json"):
        answer = discover(400, style)
        assert answer["verdict"]["note"] == "Only the first 10,000 of 105,000 characters were used."
        assert "berths.py" in answer["answerPrompt"]
        assert answer["metrics"]["finalPromptTokens"] <= 400
        if style == "json":
            assert json.loads(answer["answerPrompt"])["question"].endswith("…")
    assert discover(100)["answerPrompt"]


def test_discover_cites_no_file_that_vanished_after_the_index(workspace: Path) -> None:
    (workspace / ".cairn.toml").write_text("[index]\nwatch = false\n")
    params = {"query": "how is a ship moored at a berth"}
    with serving(str(workspace)) as served:
        assert ready(served).call("discover", params)["excerpts"]
        for file in (*workspace.rglob("*.py"), *workspace.rglob("*.md")):
            file.unlink()
        answer = served.call("discover", params)
        assert (answer["excerpts"], answer["bullets"], answer["verdict"]["action"]) == ([], [], "noMatch")
        assert "Do not answer it" in answer["answerPrompt"]


def test_answers_are_strict_compact_json_in_utf_8(served: Served) -> None:
    answer = served.ask("/api/v1/fetch_page", {"path": "docs.md"})
    assert answer.headers["content-type"] == "application/json"
    data = json.loads(answer.body.decode("utf-8"))
    assert answer.body == json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    assert "Häfen und Schiffe 🚢" in answer.body.decode()


def test_a_request_can_name_one_of_several_folders(tmp_path: Path, workspace: Path) -> None:
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


def test_metrics_count_requests(served: Served) -> None:
    served.call("search", {"query": "unheard of"})
    ready(served)
    text = served.ask("/metrics").body.decode()
    status = served.call("status", {})
    for name, value in (("files", status["files"]["indexed"]), ("chunks", status["chunks"]), ("complete", 1)):
        assert f"\ncairn_index_{name} {float(value)}\n" in text
    assert 'cairn_requests_total{front="http",method="search",outcome="ok"}' in text
    assert "\ncairn_phase 3.0\n" in text


def test_the_openapi_description_names_its_own_address(served: Served) -> None:
    document = served.ask("/openapi.json").json
    assert document["servers"] == [{"url": served.addresses["url"]}]
    assert served.ask("/openapi.json", token="wrong").json == document


def test_mcp_has_the_guard_of_rest(served: Served) -> None:
    accepts = {"Accept": "application/json, text/event-stream"}
    assert served.addresses["mcp"] == f"{served.addresses['url']}/mcp"
    answer = served.ask("/mcp", HELLO, headers=accepts)
    assert answer.status == 200
    assert b'"serverInfo"' in answer.body
    assert served.ask("/mcp", HELLO, headers=accepts, token="wrong").status == 401
    assert served.ask("/mcp", HELLO, headers={**accepts, "Origin": "https://evil.example"}).status == 403
    assert served.ask("/mcp", HELLO, headers={**accepts, "Host": "evil.example"}).status == 421


def test_no_path_leads_out_of_the_workspace(served: Served, harbour_folder: Path) -> None:
    secret = harbour_folder.with_name("outside") / "secret.txt"
    links = ("link.txt", "linked/secret.txt", "linked/../secret.txt")
    for path in (*ESCAPES, str(secret), *links, ".git/config"):
        answer = served.ask("/api/v1/fetch_page", {"path": path})
        assert answer.status == 400, (path, answer)
        assert answer.json["error"]["field"] == "path"
        assert "4711" not in answer.body.decode()
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    for file in (secret, harbour_folder / "link.txt", harbour_folder / "linked/secret.txt"):
        for name in ("related", "context"):
            params = {"textDocument": {"uri": file.as_uri()}, "range": place}
            answer = served.ask(f"/api/v1/{name}", params)
            assert answer.status == 400, (name, file, answer)
    assert served.call("fetch_page", {"path": "README.md"})["text"].startswith("# Harbour")


@pytest.mark.asyncio
async def test_no_path_leads_an_editor_out_of_the_workspace(served: Served, harbour_folder: Path) -> None:
    editor = Editor(*await asyncio.open_connection("127.0.0.1", served.addresses["lspPort"]))
    await editor.initialize(harbour_folder, token=served.token)
    await editor.found("constituents", "src/harbour/tides.py")
    secret = harbour_folder.with_name("outside") / "secret.txt"
    for path in (*ESCAPES, str(secret), "link.txt", "linked/secret.txt"):
        refused = await editor.respond("cairn/fetchPage", {"path": path})
        assert refused["error"]["code"] == -32602, path
        assert "4711" not in json.dumps(refused)
    editor.leave()


# --- starting and ending -----------------------------------------------------------------------------


def fail_to_serve(*arguments: str) -> str:
    """Call `cairn serve`, assert that it fails with the same error on stdout and stderr, and return it."""
    ran = run_cairn(*serve_command(*arguments)[3:], code=1)
    assert json.loads(ran.stdout)["error"]["message"] == ran.stderr.removeprefix("cairn: ").strip()
    return ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_clients_are_connected(
    workspace: Path, number: signal.Signals
) -> None:
    with serving(str(workspace)) as served:
        ready(served)
        lsp = socket.create_connection(("127.0.0.1", served.addresses["lspPort"]))
        half = socket.create_connection(("127.0.0.1", served.port))
        half.sendall(b"POST /api/v1/search HTTP/1.1\r\n")
        assert served.end(number) == 0
        for connection in (lsp, half):
            connection.settimeout(PATIENCE_SECONDS)
            # The system resets a connection that the server has not accepted or not read yet.
            with connection, contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""


def test_a_server_without_clients_ends_after_its_idle_time(workspace: Path) -> None:
    with serving(str(workspace), "--idle-minutes", "0.01", "--no-lsp") as served:
        assert served.addresses["lspPort"] is None
        assert served.process.wait(PATIENCE_SECONDS) == 0


def test_two_servers_share_a_workspace_and_a_token(workspace: Path) -> None:
    with serving(str(workspace)) as first:
        ready(first)
        with serving(str(workspace)) as second:
            found = [
                ready(served).call("search", {"query": "moor ship"})["results"] for served in (first, second)
            ]
            assert [r["path"] for r in found[0]] == [r["path"] for r in found[1]]
            assert first.token == second.token


def test_a_bad_argument_is_refused_in_one_line(workspace: Path, tmp_path: Path) -> None:
    assert "is not a directory" in fail_to_serve(str(tmp_path / "nowhere"))
    assert "--allow-remote" in fail_to_serve(str(workspace), "--host", "0.0.0.0")
    assert "is not a port" in fail_to_serve(str(workspace), "--port", "70000")


def test_a_missing_extra_is_an_error_that_says_how_to_install_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # So its import fails.
    for name in ("cairn.serve.serving", "cairn.http.web_server"):
        monkeypatch.delitem(sys.modules, name, raising=False)  # Another test may have imported it.
    error = fail_to_serve(str(workspace))
    assert error == 'cairn: This needs more libraries: pip install "cairn-ls[serve]"\n'
