"""Commands that make, control and show an index."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import click

from cairn.cli.folders import folder_argument, folder_option, opened, wait
from cairn.cli.output import answers, report, show
from cairn.operations.places import path_in

_TEAM_SECONDS = 15.0
"""How long `cairn status` waits for a team's server, in seconds."""


@click.command()
@folder_argument
@click.option("--force", is_flag=True, help="Index every file again, even if it has not changed.")
@answers
def index(folder: Path, force: bool, as_json: bool) -> None:
    """Bring the index of FOLDER up to date."""
    _index(folder, as_json, reindexed="" if force else None)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
@folder_option
@answers
def reindex(path: Path | None, folder: Path, as_json: bool) -> None:
    """Index a file, a directory or everything again, even if nothing has changed there."""
    _index(folder, as_json, reindexed=path_in(folder, path) if path else "")


@click.command()
@folder_argument
@answers
def pause(folder: Path, as_json: bool) -> None:
    """Stop making vectors until `cairn resume`.

    This also stops the editor or command that indexes FOLDER. Saved files are still indexed by keywords.
    """
    _set_paused(folder, as_json, paused=True)


@click.command()
@folder_argument
@answers
def resume(folder: Path, as_json: bool) -> None:
    """Continue after `cairn pause`."""
    _set_paused(folder, as_json, paused=False)


@click.command()
@folder_argument
@click.option(
    "--all", "everything", is_flag=True, help="Show each collection, and each rule that leaves files out."
)
@answers
def status(folder: Path, everything: bool, as_json: bool) -> None:
    """Show the state of the index of FOLDER."""
    from cairn.cli.console import waiting
    from cairn.cli.state_text import print_status
    from cairn.engine.runner import answer

    with opened(folder, keep_indexed=False) as engine:
        if any(each.sharing for each in engine.folders):
            with waiting("Waiting for the team's server …"):
                engine.wait_for_team(_TEAM_SECONDS)
        shown = partial(print_status, everything=everything)
        show(answer(engine.request(), "status", {}, as_json=False), shown, as_json)


def _index(folder: Path, as_json: bool, *, reindexed: str | None) -> None:
    """Bring the index up to date, and index the path `reindexed` again: "" is everything, None nothing.

    If another process indexes the folder, that process does the work, and this one waits.
    """
    from cairn.cli.state_text import print_status
    from cairn.engine.runner import answer
    from cairn.engine.status import status_of
    from cairn.operations.control import is_being_indexed

    other = reindexed is not None and is_being_indexed(folder)
    with opened(folder, keep_indexed=not other) as engine:
        if reindexed is not None:
            answer(engine.request(), "reindex", {"path": reindexed or None})
        wait(engine, vectors=True, rest=math.inf, written_by=[folder] if other else [])
        report(status_of(engine.request()), print_status, as_json)


def _set_paused(folder: Path, as_json: bool, *, paused: bool) -> None:
    from cairn.cli.console import waiting
    from cairn.cli.state_text import print_paused
    from cairn.operations.control import set_paused
    from cairn.protocol import PausedAnswer

    with waiting("Waiting for the process that indexes …"):
        set_paused(folder, paused)
    report(PausedAnswer(paused), print_paused, as_json)
