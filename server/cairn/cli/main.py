"""The command line: it parses, calls the engine and prints. Results go to stdout, everything else to stderr.

The commands are in the other modules of this package. These import what they need when they run, so that help
and completion are fast. `cairn.__main__` adds the commands of the other fronts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from attrs import frozen

from cairn import __version__
from cairn.attach.answered_commands import INPUT, QUERY_COMMANDS
from cairn.cli import change_command, install, query_commands, reference_commands, team, upkeep
from cairn.cli.command_folders import HERE
from cairn.cli.completion import VARIABLE, completion
from cairn.cli.output import EXIT_CODES, FAILED, INTERRUPTED, error_texts, leave_stdout, print_error
from cairn.cli.question import Question, answer_question
from cairn.errors import CairnError


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
# Other programs are named cairn, too; an editor recognises this one by the distribution's name.
@click.version_option(__version__, prog_name="cairn", message="%(prog)s, version %(version)s (cairn-ls)")
def cli() -> None:
    """Find the places in a workspace that answer a question."""


@cli.result_callback()
def _answer(result: object) -> None:
    if isinstance(result, Question):
        answer_question(result)


for command in (
    *(query_commands.search, query_commands.discover, query_commands.related, *reference_commands.DIRECTIONS),
    *(reference_commands.trace, change_command.changes),
    *(query_commands.context, query_commands.page, upkeep.call),
    *(upkeep.index, upkeep.reindex, upkeep.pause, upkeep.resume, upkeep.status),
    *(upkeep.doctor, upkeep.config, upkeep.phase, upkeep.feedback, upkeep.model, completion),
    *(install.install, install.uninstall, team.team),
):
    cli.add_command(command)


def main() -> None:
    """Run the command line. An error prints a line that says what to do, and sets a non-zero exit code."""
    try:
        try:
            code = cli.main(prog_name="cairn", complete_var=VARIABLE, standalone_mode=False) or 0
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()  # This raises an error if the reader of a pipe has ended.
    except click.exceptions.NoArgsIsHelpError as problem:
        problem.show()
        code = problem.exit_code
    except (click.ClickException, CairnError) as problem:
        print_error(problem, sys.argv[1:])
        code = getattr(problem, "exit_code", FAILED)
    except (KeyboardInterrupt, click.Abort) as problem:
        print_error(problem, sys.argv[1:])
        code = INTERRUPTED
    except OSError as problem:
        if not isinstance(problem, BrokenPipeError):
            print_error(problem, sys.argv[1:])
        leave_stdout()
        code = FAILED
    sys.exit(code)


# --- command lines of other processes ----------------------------------------------------------------


_SENT = {name: cli.commands[name] for name in QUERY_COMMANDS}


@frozen
class CommandOutput:
    stdout: str
    stderr: str = ""
    code: int = 0


def question_of(arguments: Sequence[str], here: Path, given: bytes | None = None) -> Question | CommandOutput:
    """Parse the command line of another process, whose paths are relative to `here`, and which has read the
    input `given`.

    Return its question, or its output if it is wrong. The other process, which imports almost nothing
    (`cairn.attach.answered_commands`), prints the output. That is text for programs, which read both streams.
    """
    token, input_token = HERE.set(here), INPUT.set(given)
    try:
        question = _SENT[arguments[0]].main(
            list(arguments[1:]), prog_name=f"cairn {arguments[0]}", standalone_mode=False
        )
    except (click.ClickException, CairnError) as problem:
        return failed(problem, arguments)
    finally:
        HERE.reset(token)
        INPUT.reset(input_token)
    assert isinstance(question, Question)
    return question


def failed(problem: click.ClickException | CairnError, arguments: Sequence[str]) -> CommandOutput:
    stdout, stderr = error_texts(problem, arguments)
    return CommandOutput(stdout, stderr, getattr(problem, "exit_code", FAILED))
