"""`cairn mcp`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import click

from cairn.errors import CairnError, InvalidRequestError


@click.command("mcp")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path))
def mcp(folders: tuple[Path, ...]) -> None:
    """Serve an agent over stdin and stdout (MCP).

    It works in each FOLDER; without any, in the client's roots, or else in the current directory.
    """
    client = os.getppid()  # before it may be gone
    if any(importlib.util.find_spec(name) is None for name in ("mcp", "starlette")):
        raise CairnError('The MCP server is not installed. Run: pip install "cairn-ls[serve]"')
    for folder in folders:
        if not folder.is_dir():
            raise InvalidRequestError("folder", f"{folder} is not a directory")

    from cairn.startup.interpreter import made_to_last

    with made_to_last():
        from cairn.mcp.server import serve_stdio

    serve_stdio(folders, client)
