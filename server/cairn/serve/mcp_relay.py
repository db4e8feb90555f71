"""Connects an agent's `cairn mcp` to a running engine, a new background engine, or an engine of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from cairn.attach.channel import AttachError, Channel
from cairn.attach.finding import attach
from cairn.attach.greeting import greeting
from cairn.attach.relay import relay
from cairn.startup.current_folder import leave_current_folder


def serve_agent(
    named: Sequence[Path], tools: Sequence[str] | None = None, *, structured: bool = False
) -> NoReturn:
    """Serve MCP over stdin and stdout until the client disconnects, and end the process.

    The client works in the folders `named`, which are absolute, else in its roots, else in the current
    directory, which this process leaves. `tools` are the names of the listed tools, by default those of the
    settings. `structured` requests data instead of text.
    """
    uses_settings = tools is None and not structured
    attach_to = _attach_function(named, Path.cwd(), tools, structured=structured)
    leave_current_folder()
    relay(attach_to, greeting() if uses_settings else None)


def _attach_function(
    named: Sequence[Path], here: Path, tools: Sequence[str] | None, *, structured: bool
) -> Callable[[list[str]], Channel]:
    """Return a function that attaches to the engine of its folders; without folders, of `named` or `here`."""
    own: list[Any] = []

    def channel(moved: list[str]) -> Channel:
        wish = {
            "want": "mcp",
            "folders": [str(folder) for folder in named],
            "cwd": str(here),
            "moved": bool(moved),
            "tools": tools,
            "structured": structured,
        }
        try:
            return attach([Path(folder) for folder in moved] or list(named) or [here], wish)
        except AttachError as problem:
            # The data folder cannot be written, or the editor's installation lacks MCP.
            print(f"cairn: {problem}; this process uses an engine of its own.", file=sys.stderr)
        if not own:
            from cairn.serve.shared_engine import OwnEngine

            own.append(OwnEngine())
        return own[0].channel(wish)  # type: ignore[no-any-return]

    return channel
