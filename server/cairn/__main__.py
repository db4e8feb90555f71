"""The command `cairn`: the command line with the commands of the other fronts. Also run by `python -m cairn`."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import click

from cairn.cli.main import cli, main
from cairn.cli.team import team
from cairn.errors import CairnError, InvalidRequestError
from cairn.serve.command import openapi, serve, serve_team


@cli.command()
def lsp() -> None:
    """Serve an editor over stdin and stdout (LSP)."""
    from cairn.lsp.early import answer_initialize

    stdout = sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print would break the protocol
    first, answered = answer_initialize(sys.stdin.buffer, stdout)

    from cairn.lsp.kept_bytecode import kept_bytecode
    from cairn.startup.interpreter import made_to_last

    with made_to_last(), kept_bytecode("server"):
        from cairn.lsp.server import serve_stdio

    sys.exit(serve_stdio(first, answered, stdout))


@cli.command()
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path))
@click.option("--tools", metavar="NAMES", help="Tools to show, such as search,read; or all, or stages.")
@click.option("--structured", is_flag=True, help="Answer with data for programs instead of text for models.")
def mcp(folders: tuple[Path, ...], tools: str | None, structured: bool) -> None:
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
        from cairn.agents.tools import listed
        from cairn.mcp.server import serve_stdio
        from cairn.settings.layers import Layers

    settings = Layers().without_workspace().settings.agents
    names = settings.tools if tools is None else tuple(filter(None, re.split(r"[,\s]+", tools)))
    listed(names)  # whoever starts it is told what is wrong
    serve_stdio(folders, client, names, structured=structured or settings.structured)


cli.add_command(serve)
team.add_command(serve_team)
cli.add_command(openapi)


if __name__ == "__main__":
    main()
