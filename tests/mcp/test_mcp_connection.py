"""Lines of an MCP client, including malformed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("mcp")

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCError, JSONRPCNotification, JSONRPCRequest

from cairn.attach.relay import MAX_LINE_BYTES
from cairn.mcp.mcp_server import message_of


def test_requests_and_notifications_are_parsed() -> None:
    request = message_of(b'{"jsonrpc":"2.0","id":"7","method":"ping"}')
    assert isinstance(request, JSONRPCRequest)
    assert request.id == "7"
    notification = message_of(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert isinstance(notification, JSONRPCNotification)


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b"12", INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', INVALID_REQUEST, 4),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', INVALID_REQUEST, "a"),
        (b'{"id":5,"method":6}', INVALID_REQUEST, 5),
    ],
)
def test_malformed_lines_get_errors(line: bytes, code: int, request_id: Any) -> None:
    answer = message_of(line)
    assert isinstance(answer, JSONRPCError)
    assert (answer.error.code, answer.id) == (code, request_id)
    assert answer.error.message


@pytest.mark.parametrize(
    "line",
    [b"", b"  \r", b'{"jsonrpc":"2.0","method":"x","params":3}', b'{"jsonrpc":"2.0","id":[],"result":{}}'],
)
def test_invalid_lines_that_expect_no_answer_are_ignored(line: bytes) -> None:
    assert message_of(line) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), x)
        ),
    )
)
def test_any_json_is_handled(data: Any) -> None:
    found = message_of(json.dumps(data).encode())
    assert found is None or found.jsonrpc == "2.0"


def test_longest_line_fits_the_largest_request_of_discovery() -> None:
    assert MAX_LINE_BYTES > 6 * 500_000  # JSON may escape each character as \uXXXX.
