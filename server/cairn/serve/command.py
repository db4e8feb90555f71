"""The commands of `cairn serve`, which need the extra of that name."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cairn.cli.output import answers, print_json
from cairn.errors import CairnError

if TYPE_CHECKING:
    from cairn.serve.server import Addresses

_EXTRA = 'This needs more libraries: pip install "cairn-ls[serve]"'


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@click.option("--host", help="The address to listen at; by default 127.0.0.1.")
@click.option("--port", type=int, help="Of REST, MCP and metrics; by default 7420, 0 for a free one.")
@click.option("--lsp-port", type=int, help="Of the language server; by default 7421, 0 for a free one.")
@click.option("--no-lsp", is_flag=True, help="No language server.")
@click.option(
    "--idle-minutes", type=click.FloatRange(min=0), help="End after so long without a client; 0 never."
)
@click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines reach.")
@click.option("--new-token", is_flag=True, help="Make another token first.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one line of JSON.")
def serve(folders: tuple[Path, ...], as_json: bool, no_lsp: bool, **options: Any) -> None:
    """Serve agents, scripts and editors over HTTP and a socket: REST, MCP, LSP and metrics.

    FOLDER is the current one by default, but not your home folder. Runs until Ctrl-C.
    """
    try:
        from cairn.mcp.workspaces import refusal
        from cairn.serve.server import serve as run
    except ImportError as problem:
        raise CairnError(_EXTRA) from problem

    if not folders and (why := refusal(Path.cwd(), "cairn serve")):
        raise CairnError(why)
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    for told_by_us in ("uvicorn", "pygls"):
        logging.getLogger(told_by_us).setLevel(logging.CRITICAL)
    run(folders or [Path()], _print_json if as_json else _print_text, lsp=not no_lsp, **options)


@click.command()
@answers
def openapi(as_json: bool) -> None:
    """Print the OpenAPI description of what `cairn serve` answers."""
    try:
        from cairn.http.openapi import description
    except ImportError as problem:
        raise CairnError(_EXTRA) from problem
    print_json(json.loads(description()))


def _print_json(addresses: Addresses) -> None:
    from cairn.schema.convert import unstructure

    click.echo(json.dumps(unstructure(addresses), ensure_ascii=False))


def _print_text(addresses: Addresses) -> None:
    lsp = (
        f"  LSP   {addresses.lsp_host} port {addresses.lsp_port}\n" if addresses.lsp_port is not None else ""
    )
    click.echo(
        f"Cairn serves {', '.join(addresses.folders)}\n"
        f"  REST  {addresses.api} (described in {addresses.url}/openapi.json)\n"
        f"  MCP   {addresses.mcp}\n{lsp}"
        f"  token in {addresses.token_file}"
    )
