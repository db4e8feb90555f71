"""Drives MCP servers over stdio as an agent's client does, from synchronous code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from attrs import field, frozen
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

_SHOWN = ("name", "description", "inputSchema")
"""The parts of a tool that clients pass to the model; hints and the schemas of answers are for the clients
themselves."""


class ToolError(Exception):
    """A tool refused a call; the message is the tool's."""


@frozen
class Server:
    """A connected MCP server."""

    _portal: BlockingPortal
    _client: Client
    definitions: str
    """The text that a model gets before any call: the server's instructions, and the name, description and
    arguments of each tool."""
    listing_bytes: int
    """The length of the answer to `tools/list`, in UTF-8 bytes."""
    _known: dict[str, str] = field(factory=dict)
    """Cached answers by call, since loops repeat the calls of other loops."""

    def call(self, tool: str, **arguments: Any) -> str:
        """Return the text of all blocks of a tool's answer. Raises ToolError if the tool fails."""
        key = json.dumps([tool, arguments])
        if key in self._known:
            return self._known[key]
        result = self.result(tool, **arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
        if result.is_error:
            raise ToolError(f"{tool} {arguments}: {text}")
        if tool != "status":
            self._known[key] = text
        return text

    def result(self, tool: str, **arguments: Any) -> types.CallToolResult:
        result = self._portal.call(self._client.call_tool, tool, arguments)
        assert isinstance(result, types.CallToolResult)
        return result


@contextmanager
def connected(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], patience: float = 600.0
) -> Iterator[Server]:
    """Start `command` in the folder `cwd`, with further environment variables, and connect to its server."""
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env={**os.environ, **environment}, cwd=cwd
    )
    with start_blocking_portal() as portal:
        client = Client(parameters, read_timeout_seconds=patience)
        with portal.wrap_async_context_manager(client):
            listing = portal.call(client.list_tools).model_dump(mode="json", by_alias=True, exclude_none=True)
            shown = [{name: tool.get(name) for name in _SHOWN} for tool in listing["tools"]]
            definitions = f"{client.instructions or ''}\n{_compact(shown)}"
            yield Server(portal, client, definitions, len(_compact({"tools": listing["tools"]}).encode()))


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
