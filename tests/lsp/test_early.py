"""The early answer to `initialize` is the server's own, and loses nothing of what the editor sends."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from typing import Any

import pytest

from cairn.lsp.early import INITIALIZE_RESULT, answer_initialize

SERVER_ALONE = """
import sys
from cairn.lsp.server import serve_stdio
first = sys.stdin.buffer.read().partition(b"\\r\\n\\r\\n")[2]
serve_stdio(first, None, sys.stdout.buffer)
"""


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def initialize(capabilities: Any, request_id: Any = 1, options: Any = None) -> dict[str, Any]:
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    if options is not None:
        params["initializationOptions"] = options
    return {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params}


def without_false(value: Any) -> Any:
    """What is said to be unsupported is the same as what is not mentioned."""
    if isinstance(value, dict):
        return {key: without_false(item) for key, item in value.items() if item is not False}
    return value


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {
            "workspace": {"workspaceFolders": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
            "textDocument": {"synchronization": {"didSave": True, "willSave": True}},
            "window": {"workDoneProgress": True},
        },
    ],
)
def test_it_says_what_the_server_would_say(capabilities: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVER_ALONE],
        input=framed(initialize(capabilities)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = json.loads(done.stdout.partition(b"\r\n\r\n")[2])
    assert without_false(answer["result"]) == INITIALIZE_RESULT


def answered_early(message: Any) -> Any:
    stdout = BytesIO()
    answer_initialize(BytesIO(framed(message)), stdout)
    return json.loads(stdout.getvalue().partition(b"\r\n\r\n")[2])["result"]


NAVIGATION = {"lsp": {"navigation": ["lua"]}}
LATER = {"references": {"dynamicRegistration": True}, "callHierarchy": {"dynamicRegistration": True}}


@pytest.mark.parametrize(
    ("options", "text_document", "announced"),
    [
        (NAVIGATION, {}, {"definition", "references", "implementation", "callHierarchy"}),
        ({"lsp": {"navigation": "*"}}, LATER, {"definition", "implementation"}),
        ({"lsp": {"navigation": []}}, {}, set()),
        ({"lsp": "on"}, {}, set()),
        ([], {}, set()),
    ],
)
def test_it_announces_navigation_as_the_server_would(
    options: Any, text_document: Any, announced: set[str]
) -> None:
    message = initialize({"textDocument": text_document}, options=options)
    early = answered_early(message)
    done = subprocess.run(
        [sys.executable, "-c", SERVER_ALONE],
        input=framed(message),
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = json.loads(done.stdout.partition(b"\r\n\r\n")[2])
    assert without_false(answer["result"]) == early
    new = early["capabilities"].keys() - INITIALIZE_RESULT["capabilities"].keys()
    assert new == {f"{name}Provider" for name in announced}


@pytest.mark.parametrize("request_id", [0, 7, "seven"])
def test_the_request_is_answered_and_everything_is_passed_on(request_id: Any) -> None:
    first = initialize({"general": {"positionEncodings": ["utf-8"]}}, request_id)
    stdin, stdout = BytesIO(framed(first) + b"more"), BytesIO()
    body, answered = answer_initialize(stdin, stdout)
    assert answered == request_id
    assert json.loads(stdout.getvalue().partition(b"\r\n\r\n")[2])["id"] == request_id
    # The encoding that was answered is not up for choice again.
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
def test_anything_else_is_left_to_the_server(sent: bytes) -> None:
    stdout = BytesIO()
    body, answered = answer_initialize(BytesIO(sent), stdout)
    assert (answered, stdout.getvalue()) == (None, b"")
    assert body == sent.partition(b"\r\n\r\n")[2]
