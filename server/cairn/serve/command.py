"""The commands `serve`, `team serve`, `open` and `openapi`, which need the extra `serve`."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cairn.cli.output import answers, print_json, remark, to_stderr
from cairn.errors import CairnError, InvalidRequestError, needing

if TYPE_CHECKING:
    from cairn.serve.serving import Addresses

_port = click.option("--port", type=int, help="The port of HTTP; by default 7420, 0 for a free one.")
_OPTIONS = (
    click.option("--host", help="The address to listen at; by default 127.0.0.1."),
    _port,
    click.option("--lsp-port", type=int, help="The port of LSP; by default 7421, 0 for a free one."),
    click.option("--no-lsp", is_flag=True, help="Do not serve LSP."),
    click.option(
        "--idle-minutes",
        type=click.FloatRange(min=0),
        help="End after this time without a client; 0 for never.",
    ),
    click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines reach."),
    click.option(
        "--public-host", multiple=True, metavar="HOST[:PORT]", help="The server's name behind a proxy."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the addresses as one line of JSON."),
)


def _serve_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `serve` and `team serve` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, readable=False), metavar="[FOLDER]...")
@_serve_options
@click.option("--new-token", is_flag=True, help="Make a new token first.")
@click.option(
    "--store",
    metavar="URL",
    multiple=True,
    help="Serve a team's database instead of folders: its URL, or a file with it. Give several for replicas.",
)
def serve(
    folders: tuple[Path, ...],
    as_json: bool,
    no_lsp: bool,
    new_token: bool,
    store: tuple[str, ...],
    public_host: tuple[str, ...],
    **options: Any,
) -> None:
    """Serve browsers, agents, scripts and editors: a page, REST, MCP and metrics over HTTP, and LSP over a
    socket.

    FOLDER is the current one by default, but not your home folder. Runs until Ctrl-C.
    """
    if store and folders:
        raise CairnError("Give folders or --store, not both.")
    if store and new_token:
        raise CairnError("--new-token is for folders: `cairn team grant` makes tokens for a team's database.")
    options = {**options, "lsp": not no_lsp, "new_token": new_token, "names": public_host}
    if store:
        _serve([], as_json, store=store, **options)
        return
    _serve(folders or [_project()], as_json, **options)


def _project() -> Path:
    """Return the project of the current folder. Raise InvalidRequestError for the home folder and above."""
    from cairn.cli.command_folders import project_here

    project = project_here("")
    if project.note:
        remark(project.note)
    return project.root


@click.command("serve")
@click.option(
    "--store",
    metavar="URL",
    multiple=True,
    help="The database's URL, or a file with it; by default CAIRN_STORE_URL, or the trial on this machine. "
    "Give several for replicas.",
)
@_serve_options
def serve_team(
    as_json: bool, no_lsp: bool, store: tuple[str, ...], public_host: tuple[str, ...], **options: Any
) -> None:
    """Answer from the store over REST, MCP and LSP, for clients that have a token.

    The server stores nothing itself, so any number of them may run. Runs until Ctrl-C.
    """
    with needing("serve", "team"):
        from cairn.team.team_store import urls_of
    options = {**options, "lsp": not no_lsp, "new_token": False, "names": public_host}
    _serve([], as_json, store=urls_of(store), **options)


def _serve(
    folders: Sequence[Path],
    as_json: bool,
    on_ready: Callable[[Addresses], None] | None = None,
    **options: Any,
) -> None:
    with needing("serve"):
        from cairn.serve.serving import serve as run
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    for name in ("uvicorn", "pygls"):  # Cairn reports their errors itself.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    run(folders, on_ready or (_print_json if as_json else _print_text), **options)


@click.command("open")
@click.argument("place", required=False, metavar="[FOLDER|URL]")
@click.option(
    "--print", "only_print", is_flag=True, help="Print the link instead of opening it, as --json does."
)
@_port
@answers
def open_page(place: str | None, only_print: bool, port: int | None, as_json: bool) -> None:
    """Open the page of a folder in the browser: search, answers, files and the index.

    A running server that has the folder open shows the page; otherwise this command does, until Ctrl-C. With
    the URL of a server, such as a team's, it opens the page of that server. The link signs in one browser,
    once.
    """
    from cairn.serve.open_page import is_address, link_at, show, show_soon

    folder = Path(place) if place else _project()
    with needing("serve"):
        link = link_at(place) if place and is_address(place) else _link_of_folder(folder)
    if link:
        if as_json:
            print_json({"link": link})
        elif only_print:
            print(link)
        elif not show(link):
            to_stderr("No browser has opened this link. It signs in one browser, once:")
            print(link)
        return

    def on_ready(addresses: Addresses) -> None:
        if as_json:
            _print_json(addresses)
            return
        print(f"Cairn shows {', '.join(addresses.folders)} until Ctrl-C\n  {addresses.link}", flush=True)
        if not only_print:
            show_soon(addresses.link)

    options = {"lsp": False, "new_token": False, "allow_remote": False}
    _serve([folder], False, on_ready, port=port, or_free_port=port is None, **options)


def _link_of_folder(folder: Path) -> str:
    from cairn.serve.open_page import running_link

    if not folder.is_dir():
        raise InvalidRequestError("folder", f"{folder} is neither a directory nor the URL of a server")
    return running_link(folder.resolve())


@click.command()
@answers
def openapi(as_json: bool) -> None:
    """Print the OpenAPI description of the HTTP API of `cairn serve`."""
    with needing("serve"):
        from cairn.http.openapi import description
    print_json(json.loads(description()))


def _print_json(addresses: Addresses) -> None:
    from cairn.schema.convert import unstructure

    print(json.dumps(unstructure(addresses), ensure_ascii=False), flush=True)


def _print_text(addresses: Addresses) -> None:
    lsp = (
        f"  LSP   {addresses.lsp_host} port {addresses.lsp_port}\n" if addresses.lsp_port is not None else ""
    )
    what = ", ".join(addresses.folders) or "a team's database"
    token = f"token in {addresses.token_file}" if addresses.token_file else "tokens by `cairn team grant`"
    once = " (signs in once; `cairn open` makes more)" if addresses.link else ""
    print(
        f"Cairn serves {what}\n"
        f"  Page  {addresses.link or addresses.page}{once}\n"
        f"  REST  {addresses.api} (described in {addresses.url}/openapi.json)\n"
        f"  MCP   {addresses.mcp}\n{lsp}"
        f"  {token}",
        flush=True,
    )
