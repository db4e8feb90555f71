"""Writes `server/cairn/attach/greeting.json`: the answers of `cairn mcp` before an engine runs.

    .venv/bin/python scripts/agent_greeting.py

Run it after a change to the tools of agents or to their manuals. A test compares the file with the answers of
the server itself.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.client.client import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from cairn.attach.greeting import FILE
from cairn.mcp.mcp_server import build_server


async def greeting() -> dict[str, Any]:
    """Return the content of the file, from the answers of the server itself."""

    async def nowhere(*_: Any) -> Any:
        raise AssertionError("the greeting must not query an engine")

    async with Client(build_server(nowhere), mode="legacy") as client:
        initialized = client.session.initialize_result
        tools = await client.list_tools()
    assert initialized is not None
    plain = {"mode": "json", "by_alias": True, "exclude_unset": True}
    result = initialized.model_dump(**plain)
    del result["protocolVersion"]
    return {
        "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "initialize": result,
        "tools": tools.model_dump(**plain),
    }


def text() -> str:
    """Return the file's text."""
    return json.dumps(asyncio.run(greeting()), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
