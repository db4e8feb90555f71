"""Runs a command line for another process on a running engine. The other process prints the result.

The other process imports almost nothing (`cairn.attach.answered_commands`), so this module parses its command
line.
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
from cairn.cli.references import DIRECTIONS
from cairn.errors import CairnError

COMMANDS: dict[str, click.Command] = {
    str(command.name): command for command in (search, discover, related, *DIRECTIONS, page)
}


@frozen
class CommandOutput:
    stdout: str
    stderr: str = ""
    code: int = 0


def question_of(arguments: Sequence[str], here: Path) -> Question | CommandOutput:
    """Parse a command line with paths relative to `here`. Return its question, or its output if it is wrong.

    The output is text for programs, which read both streams.
    """
    token = HERE.set(here)
    try:
        question = COMMANDS[arguments[0]].main(
            list(arguments[1:]), prog_name=f"cairn {arguments[0]}", standalone_mode=False
        )
    except (click.ClickException, CairnError) as problem:
        return failed(problem, arguments)
    finally:
        HERE.reset(token)
    assert isinstance(question, Question)
    return question


def failed(problem: click.ClickException | CairnError, arguments: Sequence[str]) -> CommandOutput:
    stdout, stderr = error_texts(problem, arguments)
    return CommandOutput(stdout, stderr, getattr(problem, "exit_code", FAILED))
