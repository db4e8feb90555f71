"""The early answer to `initialize` equals the server's, and the server gets the rest of the input."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest
from pygls.io_ import StdoutWriter

from cairn.lsp.early import INITIALIZE_RESULT, answer_initialize, framed
from cairn.lsp.jsonrpc import speak
from cairn.lsp.language_server import build_server


def initialize(capabilities: Any, request_id: Any = 1, options: Any = None) -> dict[str, Any]:
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    if options is not None:
        params["initializationOptions"] = options
    return {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params}


def without_false(value: Any) -> Any:
    """Remove capabilities that are false, which means the same as missing ones."""
    if isinstance(value, dict):
        return {key: without_false(item) for key, item in value.items() if item is not False}
    return value


def result_of(stdout: BytesIO) -> Any:
    return json.loads(stdout.getvalue().partition(b"\r\n\r\n")[2])["result"]


def early_result(message: Any) -> Any:
    stdout = BytesIO()
    answer_initialize(BytesIO(framed(message)), stdout)
    return result_of(stdout)


def server_result(message: Any) -> Any:
    server, stdout = build_server(), BytesIO()
    server.protocol.set_writer(StdoutWriter(stdout))

    async def answer() -> None:
        reader = asyncio.StreamReader()
        reader.feed_eof()
        await speak(server.protocol, reader, json.dumps(message).encode())

    try:
        asyncio.run(answer())
        return without_false(result_of(stdout))
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]
        server.close()


USUAL = {
    "workspace": {"workspaceFolders": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
    "textDocument": {"synchronization": {"didSave": True, "willSave": True}},
    "window": {"workDoneProgress": True},
}
DYNAMIC = {
    "textDocument": {
        "references": {"dynamicRegistration": True},
        "callHierarchy": {"dynamicRegistration": True},
    }
}

LENSES = {
    "textDocument": {"codeLens": {"dynamicRegistration": True}, "hover": {"dynamicRegistration": True}},
}
NAVIGATION = ("definition", "references", "implementation", "callHierarchy")


@pytest.mark.parametrize(
    ("options", "capabilities", "announced"),
    [
        (None, {}, set()),
        (None, USUAL, set()),
        (
            {"lsp": {"navigation": ["lua"]}},
            {},
            {"definition", "references", "implementation", "callHierarchy"},
        ),
        ({"lsp": {"navigation": "*"}}, DYNAMIC, {"definition", "implementation"}),
        ({"lsp": {"navigation": []}}, {}, set()),
        ({"lsp": "on"}, {}, set()),
        ([], {}, set()),
        ({}, LENSES, set()),
    ],
)
def test_early_answer_equals_that_of_the_server(options: Any, capabilities: Any, announced: set[str]) -> None:
    message = initialize(capabilities, options=options)
    early = early_result(message)
    assert server_result(message) == early
    found = early["capabilities"]
    assert {name for name in NAVIGATION if f"{name}Provider" in found} == announced
    assert found.get("codeLensProvider") == (None if capabilities is LENSES else {"resolveProvider": True})
    assert found.get("hoverProvider") == (None if capabilities is LENSES else True)
    assert INITIALIZE_RESULT["capabilities"].keys() <= found.keys()


@pytest.mark.parametrize("request_id", [0, 7, "seven"])
def test_server_gets_the_answered_request_and_the_rest(request_id: Any) -> None:
    first = initialize({"general": {"positionEncodings": ["utf-8"]}}, request_id)
    stdin, stdout = BytesIO(framed(first) + b"more"), BytesIO()
    body, answered = answer_initialize(stdin, stdout)
    assert answered == request_id
    assert json.loads(stdout.getvalue().partition(b"\r\n\r\n")[2])["id"] == request_id
    # The server must not choose another encoding than the answer.
    assert json.loads(body) == initialize({}, request_id)
    assert stdin.read() == b"more"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"Content-Length: 5\r\n\r\n{nope",
        b"Content-Length: 2\r\n\r\n[]",
        b"no header at all\r\n",
        framed({"jsonrpc": "2.0", "id": 1, "method": "cairn/search", "params": {"query": "x"}}),
        framed({"jsonrpc": "2.0", "method": "exit"}),
        framed(initialize(None)),
        framed({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": []}),
    ],
)
def test_server_gets_any_other_message(sent: bytes) -> None:
    stdout = BytesIO()
    body, answered = answer_initialize(BytesIO(sent), stdout)
    assert (answered, stdout.getvalue()) == (None, b"")
    assert body == sent.partition(b"\r\n\r\n")[2]
