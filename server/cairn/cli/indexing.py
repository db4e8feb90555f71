"""Commands that make, steer and look at an index."""

from __future__ import annotations

from pathlib import Path

import click

from cairn.cli.folders import folder_argument, folder_option, opened, wait
from cairn.cli.output import answers, report, show
from cairn.operations.places import path_in


@click.command()
@folder_argument
@click.option("--force", is_flag=True, help="Index every file anew, also what has not changed.")
@answers
def index(folder: Path, force: bool, as_json: bool) -> None:
    """Bring the index of FOLDER up to date."""
    if force:
        _index_anew(folder, "", as_json)
        return
    from cairn.cli.terminal import print_status
    from cairn.engine.status import status_of

    with opened(folder) as engine:
        wait(engine, vectors=True)
        report(status_of(engine), print_status, as_json)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@folder_option
@answers
def reindex(path: Path | None, folder: Path, as_json: bool) -> None:
    """Index a file, a directory or everything anew.

    That is done also to what has not changed.
    """
    _index_anew(folder, path_in(folder, path) if path else "", as_json)


@click.command()
@folder_argument
@answers
def pause(folder: Path, as_json: bool) -> None:
    """Make no vectors until `cairn resume`.

    The editor or command that indexes FOLDER is told; saved files are still taken in.
    """
    _set_paused(folder, as_json, paused=True)


@click.command()
@folder_argument
@answers
def resume(folder: Path, as_json: bool) -> None:
    """Go on after `cairn pause`."""
    _set_paused(folder, as_json, paused=False)


@click.command()
@folder_argument
@answers
def status(folder: Path, as_json: bool) -> None:
    """Show what the index of FOLDER holds."""
    from cairn.cli.terminal import print_status
    from cairn.engine.runner import answer

    with opened(folder, keep_indexed=False) as engine:
        show(answer(engine, "status", {}, as_json=False), print_status, as_json)


def _index_anew(folder: Path, path: str, as_json: bool) -> None:
    """Index `path` anew; where another process indexes the folder, it does that and this one waits."""
    from cairn.cli.terminal import print_status
    from cairn.engine.runner import answer
    from cairn.engine.status import status_of
    from cairn.operations.control import is_being_indexed

    other = is_being_indexed(folder)
    with opened(folder, keep_indexed=not other) as engine:
        answer(engine, "reindex", {"path": path or None})
        wait(engine, vectors=True, written_by=[folder] if other else [])
        report(status_of(engine), print_status, as_json)


def _set_paused(folder: Path, as_json: bool, *, paused: bool) -> None:
    from cairn.cli.terminal import print_paused, waiting
    from cairn.operations.control import set_paused
    from cairn.protocol import PausedAnswer

    with waiting("Asking the process that indexes …"):
        set_paused(folder, paused)
    report(PausedAnswer(paused), print_paused, as_json)
