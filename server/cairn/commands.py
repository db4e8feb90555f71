"""The command `cairn`: the command line, and the commands that start the other fronts."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cairn.cli.command_folders import add_folder_option
from cairn.cli.main import cli
from cairn.cli.main import main as main
from cairn.cli.team import team
from cairn.errors import InvalidRequestError, missing_extra
from cairn.serve.command import open_page, openapi, serve, serve_team
from cairn.startup.streams import unguarded

if TYPE_CHECKING:
    from cairn.engine.engine import Engine


@cli.command()
def lsp() -> None:
    """Serve an editor over stdin and stdout (LSP)."""
    from cairn.lsp.early import answer_initialize
    from cairn.startup.current_folder import leave_current_folder

    leave_current_folder()
    stdout = unguarded(sys.stdout).buffer
    sys.stdout = sys.stderr  # A stray print would break the protocol.
    first, answered = answer_initialize(sys.stdin.buffer, stdout)

    from cairn.lsp.bytecode_cache import cached_bytecode
    from cairn.startup.interpreter import exempt_from_collection

    with exempt_from_collection(), cached_bytecode("server"):
        from cairn.lsp.language_server import serve_stdio

    def share(engine: Engine) -> Callable[[], None]:
        from cairn.attach.engine_records import EDITOR
        from cairn.serve.shared_engine import shared

        return shared(EDITOR, engine.host)

    sys.exit(serve_stdio(first, answered, stdout, share))


@cli.command()
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path, readable=False))
@click.option("--tools", metavar="NAMES", help="Tools to show, such as search,read; or all, or stages.")
@click.option("--structured", is_flag=True, help="Answer with data for programs instead of text for models.")
def mcp(folders: tuple[Path, ...], tools: str | None, structured: bool) -> None:
    """Serve an agent over stdin and stdout (MCP).

    It searches each FOLDER; without any, the client's roots, or else the current directory. It uses the
    engine of an editor or of another agent if one is running. Otherwise it starts one in the background,
    which ends soon after its last client.
    """
    if any(importlib.util.find_spec(name) is None for name in ("mcp", "starlette")):
        raise missing_extra("serve")
    for folder in folders:
        if not folder.is_dir():
            raise InvalidRequestError("folder", f"{folder} is not a directory")
    shown = None if tools is None else [name for name in re.split(r"[,\s]+", tools) if name]
    if shown is not None:
        from cairn.agents.tools import listed

        listed(shown)  # It raises an error for a wrong name before the server starts.
    from cairn.serve.mcp_relay import serve_agent

    serve_agent([folder.absolute() for folder in folders], shown, structured=structured)


cli.add_command(serve)
cli.add_command(open_page)
team.add_command(serve_team)
cli.add_command(openapi)
add_folder_option(cli)
