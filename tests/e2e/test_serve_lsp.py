"""Several editors on one socket: they are independent, need the token, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from attrs import define, field

from cairn.engine.host import Host
from cairn.lsp.socket import LspSocket
from cairn.operations.presence import Presence
from cairn.operations.tokens import Token
from cairn.settings.tree import EmbeddingSettings
from tests.lsp_editor import TOKEN, Editor, opening
from tests.serving import PATIENCE_SECONDS

from .daemon import wait_until

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

THE_TOKEN = Token(TOKEN, Path("serve-token"))


@define
class Socket:
    """A listening socket in this process."""

    port: int
    lsp: LspSocket
    host: Host
    presence: Presence
    editors: list[Editor] = field(factory=list)

    async def connect(self) -> Editor:
        editor = Editor(*await asyncio.open_connection("127.0.0.1", self.port))
        self.editors.append(editor)
        return editor

    async def open(self, workspace: Path) -> Editor:
        """Connect an editor and initialize it with the folder."""
        editor = await self.connect()
        await editor.initialize(workspace)
        return editor


@asynccontextmanager
async def listening(**limits: float) -> AsyncIterator[Socket]:
    """Listen with limits that keep slow clients connected, except for the given ones."""
    limits = {"_FIRST_SECONDS": 10 * PATIENCE_SECONDS, **limits}
    sock = socket.create_server(("127.0.0.1", 0))
    host, presence = Host(EmbeddingSettings(enabled=False)), Presence()
    lsp = LspSocket(host, THE_TOKEN, presence)
    await lsp.listen(sock)
    served = Socket(sock.getsockname()[1], lsp, host, presence)
    try:
        with mock.patch.multiple("cairn.lsp.socket", **limits):
            yield served
    finally:
        await lsp.close()
        for editor in served.editors:
            editor.leave()
            if editor.listening is not None:
                await asyncio.wait_for(editor.listening, PATIENCE_SECONDS)


def own_threads() -> list[str]:
    """Return the names of Cairn's threads, without those of asyncio."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("cairn")]


# --- several at once ---------------------------------------------------------------------------------


async def test_editors_share_an_index_and_nothing_else(workspace: Path) -> None:
    async with listening() as served:
        first, second = await served.open(workspace), await served.open(workspace)
        sources = (f"src/harbour/{name}.py" for name in ("berths", "schedule"))
        await first.found("berths", "README.md", *sources, "tests/test_berths.py")
        uri = (workspace / "src/harbour/tides.py").as_uri()
        text = "def quicksilver_gauge():\n    return 1\n"
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        first.tell("textDocument/didOpen", {"textDocument": document})
        await first.found("quicksilver_gauge", "src/harbour/tides.py")
        assert await second.search("quicksilver_gauge") == []
        (workspace / "saved.py").write_text("def saved_soundings():\n    return 2\n")
        first.tell("textDocument/didSave", {"textDocument": {"uri": (workspace / "saved.py").as_uri()}})
        await first.found("saved_soundings", "saved.py")
        await second.found("saved_soundings", "saved.py")
        first.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        await first.found("quicksilver_gauge")


async def test_each_editor_has_its_own_folders(workspace: Path, tmp_path: Path) -> None:
    island = tmp_path / "island"
    island.mkdir()
    (island / "buoy.md").write_text("# Buoy\n\nA whistling contraption of rust.\n")
    async with listening() as served:
        first, second = await served.open(workspace), await served.open(workspace)
        added = [{"uri": island.as_uri(), "name": "island"}]
        second.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        await second.found("whistling contraption", "buoy.md")
        assert await first.search("whistling contraption") == []
        second.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": added}})
        await second.found("whistling contraption")
        await second.found("constituents", "src/harbour/tides.py")


async def test_exit_closes_one_connection_and_the_others_go_on(workspace: Path) -> None:
    async with listening() as served:
        leaver, stayer = await served.open(workspace), await served.open(workspace)
        await stayer.found("constituents", "src/harbour/tides.py")
        assert await leaver.request("shutdown", None) is None
        refused = await leaver.respond("cairn/status", {})
        assert "shut down" in refused["error"]["message"]
        leaver.tell("exit", None)
        assert leaver.listening is not None
        await asyncio.wait_for(leaver.listening, PATIENCE_SECONDS)
        await wait_until(lambda: served.lsp.editors == 1)
        await stayer.found("constituents", "src/harbour/tides.py")


@pytest.mark.parametrize("politely", [True, False])
async def test_nothing_is_left_of_an_editor_that_is_gone(workspace: Path, politely: bool) -> None:
    before = own_threads()
    async with listening() as served:
        for _ in range(3):
            editor = await served.open(workspace)
            await editor.found("constituents", "src/harbour/tides.py")
            assert len(own_threads()) > len(before)
            if politely:
                await editor.request("shutdown", None)
                editor.tell("exit", None)
            else:
                params = {"query": "a"}
                editor.send({"jsonrpc": "2.0", "id": 99, "method": "cairn/discover", "params": params})
                editor.writer.transport.abort()
            await wait_until(lambda: served.lsp.editors == 0 and served.presence.seconds_left(0) == 0)
            await wait_until(lambda: own_threads() == before)
            assert served.host.shared == {}


# --- connections that are refused --------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", "B" * 43, "A" * 42, 17, ["A" * 43]])
async def test_an_editor_without_the_token_is_refused(workspace: Path, token: Any) -> None:
    async with listening() as served:
        editor = await served.connect()
        params = opening(workspace, token=token)
        editor.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        response = await editor.receive()
        assert response["id"] == 1
        assert "initializationOptions.token" in response["error"]["message"]
        assert await editor.closed()
        assert served.lsp.editors == 0


async def test_the_token_does_not_count_as_an_unknown_setting(workspace: Path) -> None:
    async with listening() as served:
        editor = await served.open(workspace)
        assert (await editor.request("cairn/status", {}))["warnings"] == []


@pytest.mark.parametrize("method", ["cairn/search", "initialized", "shutdown", "exit"])
async def test_a_first_message_other_than_initialize_is_refused(method: str) -> None:
    async with listening() as served:
        editor = await served.connect()
        editor.send({"jsonrpc": "2.0", "id": "x", "method": method, "params": {"query": "a"}})
        assert "error" in await editor.receive()
        assert await editor.closed()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b'POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"exit"}',
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"Content-Length: 2000000\r\n\r\n",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\n[1,",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        b"X: " + b"a" * 1_000_000 + b"\r\n",
        b"Content-Type: a\r\n" * 1_000,
    ],
)
async def test_a_connection_that_is_not_lsp_is_closed_without_an_answer(sent: bytes) -> None:
    async with listening() as served:
        editor = await served.connect()
        editor.writer.write(
            sent if sent.endswith((b"\n", b"}", b"[")) or b"Content" in sent[:8] else sent + b"\r\n"
        )
        assert await editor.closed()


@pytest.mark.parametrize("sent", [b"", b"Content-Le", b"Content-Length: 10\r\n\r\n{"])
async def test_a_silent_connection_is_closed(sent: bytes) -> None:
    async with listening(_FIRST_SECONDS=0.2) as served:
        editor = await served.connect()
        editor.writer.write(sent)
        assert await editor.closed()


async def test_the_number_of_connections_is_limited() -> None:
    async with listening(_CONNECTIONS=2) as served:
        editors = [await served.connect() for _ in range(2)]
        await wait_until(lambda: len(served.lsp._connections) == 2)
        assert await (await served.connect()).closed()
        editors[0].leave()
        await wait_until(lambda: len(served.lsp._connections) == 1)
        await (await served.connect()).initialize()


# --- messages after initialization -------------------------------------------------------------------


def request(method: str, params: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": 900, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


WRONG_MESSAGES = [
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"17", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "1.0", "id": 900, "method": "cairn/status"}', -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "cairn/status"}', -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "cairn/status"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 900, "method": 5}', -32600),
    (b'{"jsonrpc": "2.0", "id": 900, "method": "cairn/status", "params": 5}', -32600),
    (request("cairn/nothing"), -32601),
    (request("cairn/search", {"query": 5}), -32602),
    (request("cairn/search", []), -32602),
    (request("cairn/search", {"query": "a", "x": {"jsonrpc": "2.0", "id": 1}}), -32602),
    (request("workspace/symbol", {}), -32602),
    (request("telemetry/event", {}), -32600),
    (request("initialize", {"capabilities": {}, "processId": None, "rootUri": None}), -32600),
    (request("workspace/executeCommand", {"command": "rm"}), -32602),
]


async def test_each_wrong_message_is_answered_and_the_connection_goes_on(workspace: Path) -> None:
    async with listening() as served:
        editor = await served.open(workspace)
        for sent, code in WRONG_MESSAGES:
            editor.unasked.clear()
            editor.send(sent)
            await wait_until(lambda: any("error" in message for message in editor.unasked))
            refusals = [message["error"]["code"] for message in editor.unasked if "error" in message]
            assert refusals == [code], sent[:100]
            assert "state" in await editor.request("cairn/status", {})


async def test_initialized_counts_once(workspace: Path) -> None:
    watching = {"didChangeWatchedFiles": {"dynamicRegistration": True}}
    async with listening() as served:
        editor = await served.connect()
        await editor.request("initialize", opening(workspace) | {"capabilities": {"workspace": watching}})
        editor.tell("initialized", {})
        editor.tell("initialized", {})
        await editor.found("constituents", "src/harbour/tides.py")
        asked = [message["method"] for message in editor.unasked if "id" in message]
        assert asked.count("client/registerCapability") == 1


async def test_a_document_that_is_opened_at_once_is_searched_unsaved(workspace: Path) -> None:
    async with listening() as served:
        editor = await served.connect()
        await editor.request("initialize", opening(workspace))
        # Both messages are in one write: the second one is there while the first one is handled.
        editor.tell("initialized", {})
        document = {"uri": (workspace / "README.md").as_uri(), "languageId": "markdown", "version": 1}
        editor.tell("textDocument/didOpen", {"textDocument": {**document, "text": "# Unsaved quay\n"}})
        await editor.found("unsaved quay", "README.md")


async def test_wrong_notifications_change_nothing(workspace: Path, tmp_path: Path) -> None:
    async with listening() as served:
        editor = await served.open(workspace)
        elsewhere = tmp_path / "elsewhere.txt"
        elsewhere.write_text("no editor opened this\n")
        unparsable = {"uri": "file://[", "languageId": "", "version": 1, "text": ""}
        unopened = {"uri": elsewhere.as_uri(), "version": 1}
        missing = [{"uri": "file:///no/such", "name": "a"}]
        for method, params in (
            ("initialized", {}),
            ("textDocument/didOpen", {}),
            ("textDocument/didOpen", {"textDocument": unparsable}),
            ("textDocument/didChange", {"textDocument": unopened, "contentChanges": []}),
            ("textDocument/didSave", {"textDocument": {"uri": "file:///a%00b/c"}}),
            ("workspace/didChangeWorkspaceFolders", {"event": {"added": missing, "removed": []}}),
            ("workspace/didChangeConfiguration", {"settings": {"cairn": 5}}),
            ("workspace/didChangeWatchedFiles", {"changes": "all"}),
            ("$/cancelRequest", {"id": "unknown"}),
            ("$/cancelRequest", {}),
            ("no/such/thing", {"a": 1}),
            ("cairn/feedback", {"query": 5}),
        ):
            editor.tell(method, params)
        await editor.found("constituents", "src/harbour/tides.py")
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        refused = await editor.respond(
            "cairn/context", {"textDocument": {"uri": elsewhere.as_uri()}, "range": place}
        )
        assert refused["error"]["code"] == -32602


@pytest.mark.parametrize(
    "sent", [b"garbage\r\n\r\n", b"Content-Length: 99999999\r\n\r\n", b"Content-Length: x\r\n\r\n"]
)
async def test_a_connection_that_stops_being_lsp_is_closed(workspace: Path, sent: bytes) -> None:
    async with listening() as served:
        editor = await served.open(workspace)
        assert "state" in await editor.request("cairn/status", {})
        editor.writer.write(sent)
        assert editor.listening is not None
        await asyncio.wait_for(editor.listening, PATIENCE_SECONDS)
        await wait_until(lambda: served.lsp.editors == 0)


async def test_a_folder_with_a_wrong_uri_does_not_keep_the_others_closed(workspace: Path) -> None:
    async with listening() as served:
        editor = await served.connect()
        await editor.request("initialize", opening(workspace))
        event = {"added": [{"uri": "file://[", "name": "x"}], "removed": []}
        editor.tell("workspace/didChangeWorkspaceFolders", {"event": event})
        editor.tell("initialized", {})
        await editor.found("constituents", "src/harbour/tides.py")
