"""Hostile messages neither stop `cairn mcp` nor keep it from answering the messages before and after them.

`CAIRN_HOSTILE_MESSAGES` sets how many messages are sent; the default is a few hundred.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .mcp_agent import HELLO, Wire, run_wire

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("bare_data_dir")]

MESSAGES = int(os.environ.get("CAIRN_HOSTILE_MESSAGES", "400"))
_BATCH = 50
"""The number of messages between two that must be answered."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
METHODS = st.sampled_from(
    (
        "initialize server/discover tools/list tools/call ping resources/list logging/setLevel "
        "subscriptions/listen notifications/initialized notifications/cancelled notifications/progress "
        "notifications/roots/list_changed nothing/of/the/kind"
    ).split()
)
TOOLS = st.sampled_from("search discover read references related cairn_search expand_queries".split())
ARGUMENTS = st.sampled_from(
    "query limit filter path workspace config range textDocument symbol cursor".split()
)
CALLS = st.fixed_dictionaries(
    {"name": TOOLS}, optional={"arguments": st.dictionaries(ARGUMENTS, JSON) | JSON, "_meta": JSON}
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": METHODS | JSON},
    optional={"id": st.integers(-5, 5) | st.text(max_size=3) | JSON, "params": CALLS | JSON},
)
LINES = (
    REQUESTS.map(lambda message: json.dumps(message).encode())
    | JSON.map(lambda data: json.dumps(data).encode())
    | st.binary(max_size=60).map(lambda data: data.replace(b"\n", b" "))
    | st.sampled_from(
        [b"[" * 50_000, b"x" * 6_000_000, b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 9_000 + b'"}']
    )
)


async def receive(cairn: Wire, message_id: str) -> Any:
    """Skip the answers to other messages, and return the one to this message."""
    while (answer := await cairn.receive()).get("id") != message_id:
        assert answer.get("jsonrpc") == "2.0"
    return answer


def batches() -> list[list[bytes]]:
    """Generate all lines before any is sent, so that one process gets them all."""
    found: list[list[bytes]] = []

    @settings(
        max_examples=max(1, MESSAGES // _BATCH),
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(st.lists(LINES, min_size=_BATCH, max_size=_BATCH))
    def generate(batch: list[bytes]) -> None:
        found.append(batch)

    generate()
    return found


async def test_hostile_lines_neither_stop_nor_hang_the_process(workspace: Path) -> None:
    first, *others = batches()
    async with run_wire(workspace) as cairn:
        for line in first:
            cairn.send_line(line)
        cairn.send(id="hello", method="ping")
        await receive(cairn, "hello")
        cairn.send(**{**HELLO, "id": "initialize"})
        for number, batch in enumerate(others):
            for line in batch:
                cairn.send_line(line)
            cairn.send(id=f"probe {number}", method="tools/call", params={"name": "status", "arguments": {}})
            answer = await receive(cairn, f"probe {number}")
            assert "result" in answer or "error" in answer
            assert cairn.process.returncode is None
        cairn.stdin.close()
        assert await cairn.end() == 0
