"""`cairn install` and `cairn uninstall`: Cairn's MCP server in the settings of agents' clients."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from cairn.cli.command_folders import folder_option
from cairn.cli.completion import clients_like
from cairn.cli.output import FAILED, F, WrongUsageError, alternatives, answers, remark, report
from cairn.errors import CairnError, missing_extra
from cairn.operations.places import require_directory

if TYPE_CHECKING:
    from cairn.clients.settings_changes import Change, Request
    from cairn.clients.table import Client, Scope

_SCOPES = click.Choice(["user", "project"])


def _options(command: F) -> F:
    decorators: Sequence[Callable[[Any], Any]] = (
        click.argument("names", nargs=-1, metavar="[CLIENT]...", shell_complete=clients_like),
        click.option(
            "--scope",
            type=_SCOPES,
            default="user",
            show_default=True,
            help=(
                "Your own settings, for all projects; or the project's, which everyone working on it shares."
            ),
        ),
        click.option("-n", "--dry-run", is_flag=True, help="Show the changes, and write nothing."),
        click.option("-y", "--yes", is_flag=True, help="Write without asking."),
        click.option(
            "--force",
            is_flag=True,
            help="Also replace or remove a server named cairn that Cairn did not write.",
        ),
        folder_option,
        answers,
    )
    return reduce(lambda made, decorator: decorator(made), reversed(decorators), command)


@click.command()
@_options
@click.option(
    "--agents-md",
    is_flag=True,
    help=(
        "Also write a paragraph into the project's AGENTS.md, or the file that a client reads instead, that "
        "tells agents when to use Cairn and when grep."
    ),
)
@click.option("--uninstall", "is_removal", is_flag=True, help="Do the same as `cairn uninstall`.")
def install(agents_md: bool, is_removal: bool, **options: Any) -> None:
    """Give agents Cairn's tools.

    This writes the MCP server into the settings of each CLIENT: claude, codex, gemini, cursor, vscode,
    windsurf, zed and opencode; without a CLIENT, of the installed ones. It shows the changes and asks before
    writing.
    """
    if is_removal and agents_md:
        raise WrongUsageError("", "--uninstall also removes the paragraph; leave out --agents-md")
    _run(**options, agents_md=agents_md, is_removal=is_removal)


@click.command()
@_options
def uninstall(**options: Any) -> None:
    """Remove what `cairn install` wrote, and nothing else.

    This covers the settings of each CLIENT, or of all clients, and the project's paragraph for agents.
    """
    _run(**options, agents_md=False, is_removal=True)


def _run(
    names: tuple[str, ...],
    scope: Scope,
    dry_run: bool,
    yes: bool,
    force: bool,
    folder: Path,
    as_json: bool,
    agents_md: bool,
    is_removal: bool,
) -> None:
    from cairn.clients.settings_changes import PROBLEMS, WRITES, Request, apply, plan_install, plan_uninstall
    from cairn.clients.table import Machine, server_command

    require_directory(folder)
    machine = Machine()
    clients = _chosen(names, machine, every=is_removal, scope=scope)
    request = Request(clients, scope, folder.resolve(), machine, force)
    command = ""
    if is_removal:
        changes = [change for change in plan_uninstall(request) if names or change.state != "absent"]
        _report_other_scope(request)
    else:
        if any(importlib.util.find_spec(name) is None for name in ("mcp", "starlette")):
            raise missing_extra("serve")
        command = server_command(machine)
        changes = plan_install(request, command, instruct=agents_md)
    to_write = [change for change in changes if change.state in WRITES]
    is_asked = bool(to_write) and not (dry_run or yes)
    if is_asked and not _agreed(changes, as_json):
        remark("Nothing was written.")
        sys.exit(FAILED)
    for change in [] if dry_run else to_write:
        apply(change, machine)
    if is_asked:
        remark("Written. A running client reads it when it starts again.")
    else:
        is_written = bool(to_write) and not dry_run
        answer = {
            "scope": scope,
            "command": command,
            "written": is_written,
            "changes": [
                {
                    "client": each.client,
                    "path": "" if each.path is None else str(each.path),
                    "state": each.state,
                    "message": each.message,
                    "diff": each.diff,
                }
                for each in changes
            ],
        }
        report(answer, lambda _: _print_changes(changes, "written" if is_written else "to write"), as_json)
    if any(change.state in PROBLEMS for change in changes):
        sys.exit(FAILED)


def _report_other_scope(request: Request) -> None:
    """Say which settings of the other scope also contain the server, because they are not changed."""
    from cairn.clients.settings_changes import plan_uninstall

    other: Scope = "project" if request.scope == "user" else "user"
    for change in plan_uninstall(evolve(request, scope=other)):
        if change.client and change.state == "removed":
            remark(f"{change.path} has it as well; to remove it there, use --scope {other}.")


def _agreed(changes: Sequence[Change], as_json: bool) -> bool:
    """Show the changes and ask for consent. Raise CairnError if stdin is not a terminal."""

    if as_json or not sys.stdin.isatty():
        problem = "Nothing was written, because there is no terminal to ask on"
        raise CairnError(f"{problem}: add --yes to write, or --dry-run to see the changes.")
    _print_changes(changes, "to write")
    return click.confirm("Write this?", default=True, err=True)


def _chosen(names: Sequence[str], machine: Any, *, every: bool, scope: Scope) -> list[Client]:
    """Return the named clients, else the installed ones. Raise WrongUsageError or CairnError."""
    from cairn.clients.table import BY_NAME, CLIENTS

    for name in names:
        if name not in BY_NAME:
            raise WrongUsageError(
                "client", f"{name} is not a client that Cairn knows{alternatives(name, [*BY_NAME])}"
            )
    if names:
        return [BY_NAME[name] for name in dict.fromkeys(names)]
    # Not every client has settings for a project.
    able = [client for client in CLIENTS if scope == "user" or client.project_files]
    found = [client for client in able if every or client.is_installed(machine)]
    if not found:
        raise CairnError(
            f"No client was found on this machine. Name the clients to write for: {', '.join(BY_NAME)}."
        )
    return found


_SAID = {
    "added": "added",
    "updated": "brought up to date",
    "removed": "removed",
    "present": "already there",
    "absent": "not there",
    "different": "left alone",
    "unreadable": "cannot be read",
    "uneditable": "cannot be changed",
    "unsupported": "not possible",
}
_STYLES = {"+": "green", "-": "red", "@": "dim", "$": "bold"}


def _print_changes(changes: Sequence[Change], done: str) -> None:
    """Print each file with its changes and problems. `done` is "written" or "to write"."""
    from cairn.cli.console import escape, warn, write
    from cairn.clients.settings_changes import PROBLEMS

    for change in changes:
        where = "" if change.path is None else f"  {escape(str(change.path))}"
        state = _SAID[change.state]
        state = f"{done}: {state}" if change.diff else state
        write(f"[bold]{escape(change.title)}[/]{where}  [dim]{state}[/]")
        for line in change.diff.splitlines():
            style = _STYLES.get(line[:1])
            text = escape(f"  {line}")
            write(f"[{style}]{text}[/]" if style else text)
        if change.state in PROBLEMS:
            warn(f"  {change.message}")
        elif change.message:
            write(f"  [dim]{escape(change.message)}[/]")
    if not changes:
        write("nothing by Cairn was found")
