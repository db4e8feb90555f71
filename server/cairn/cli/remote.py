"""Runs a command line for another process, which prints what comes back: `cairn search` with an engine that runs.

The other process has imported next to nothing (`cairn.attach.commands`), so the command line is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from attrs import frozen

from cairn.cli.folders import HERE
from cairn.cli.output import FAILED, error_texts
from cairn.cli.question import Question
from cairn.cli.questions import discover, page, related, search
from cairn.cli.references import callees, callers
from cairn.errors import CairnError

COMMANDS: dict[str, click.Command] = {
    str(command.name): command for command in (search, discover, related, callers, callees, page)
}


@frozen
class Ran:
    """What a command line printed, and its exit code."""

    stdout: str
    stderr: str = ""
    code: int = 0


def question_of(arguments: Sequence[str], here: Path) -> Question | Ran:
    """What the command line asks, with paths relative to `here`; what it prints instead where it is wrong.

    Both streams are programs' to read: the answer is wanted as text.
    """
    token = HERE.set(here)
    try:
        asked = COMMANDS[arguments[0]].main(
            list(arguments[1:]), prog_name=f"cairn {arguments[0]}", standalone_mode=False
        )
    except (click.ClickException, CairnError) as problem:
        return failed(problem, arguments)
    finally:
        HERE.reset(token)
    assert isinstance(asked, Question)
    return asked


def failed(problem: click.ClickException | CairnError, arguments: Sequence[str]) -> Ran:
    """What a command line prints that fails."""
    stdout, stderr = error_texts(problem, arguments)
    return Ran(stdout, stderr, getattr(problem, "exit_code", FAILED))
