"""Which engine answers an agent's `cairn mcp`: one that runs, one that is started in the background, or else one of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from cairn.attach.channel import AttachError, Channel
from cairn.attach.finding import attach
from cairn.attach.greeting import greeting
from cairn.attach.relay import relay


def serve_agent(
    named: Sequence[Path], tools: Sequence[str] | None = None, *, structured: bool = False
) -> NoReturn:
    """Serve MCP over stdin and stdout until the client is gone; the process ends with that.

    The client works in the folders `named`, or else in its roots or in the current directory. `tools` are the names of those that it
    is shown, None for what the settings say; `structured` asks for data instead of text.
    """
    usual = tools is None and not structured
    relay(attached(named, Path.cwd(), tools, structured=structured), greeting() if usual else None)


def attached(
    named: Sequence[Path], here: Path, tools: Sequence[str] | None, *, structured: bool
) -> Callable[[list[str]], Channel]:
    """What gives a channel to an engine of the folders `named`, or else of the directory `here`; or of others that an engine sends to.

    The other arguments are those of `serve_agent`.
    """
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
            # A data folder that cannot be written, or an editor whose installation has no MCP.
            print(f"cairn: {problem}; this process has an engine of its own.", file=sys.stderr)
        if not own:
            from cairn.serve.sharing import OwnEngine

            own.append(OwnEngine())
        return own[0].channel(wish)  # type: ignore[no-any-return]

    return channel
