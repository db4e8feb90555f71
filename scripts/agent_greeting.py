"""Writes `server/cairn/attach/greeting.json`: what `cairn mcp` answers before there is an engine.

    .venv/bin/python scripts/agent_greeting.py

Run it after a change to the tools that agents have or to their manuals. A test compares the file with what
the server proper answers.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.client.client import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from cairn.attach.greeting import FILE
from cairn.mcp.server import build_server


async def greeting() -> dict[str, Any]:
    """The content of the file, as the server proper answers."""

    async def nowhere(*_: Any) -> Any:
        raise AssertionError("nothing is asked of an engine")

    async with Client(build_server(nowhere), mode="legacy") as client:
        told = client.session.initialize_result
        tools = await client.list_tools()
    assert told is not None
    plain = {"mode": "json", "by_alias": True, "exclude_unset": True}
    result = told.model_dump(**plain)
    del result["protocolVersion"]
    return {
        "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "initialize": result,
        "tools": tools.model_dump(**plain),
    }


def text() -> str:
    """The file's text."""
    return json.dumps(asyncio.run(greeting()), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
