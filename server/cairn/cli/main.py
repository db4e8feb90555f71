"""The command line: it parses, calls the engine and prints. Results go to stdout, everything else to stderr.

The commands are in the other modules of this package. These import what they need when they run, so that help
and completion are fast. `cairn.__main__` adds the commands of the other fronts.
"""

from __future__ import annotations

import sys

import click

from cairn import __version__
from cairn.cli.completion import VARIABLE, completion
from cairn.cli.config import config
from cairn.cli.indexing import index, pause, reindex, resume, status
from cairn.cli.install import install, uninstall
from cairn.cli.output import EXIT_CODES, FAILED, INTERRUPTED, leave_stdout, print_error
from cairn.cli.question import Question, answer_question
from cairn.cli.questions import call, context, discover, page, related, search
from cairn.cli.references import DIRECTIONS
from cairn.cli.team import team
from cairn.cli.upkeep import doctor, feedback, model, phase
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
    *(search, discover, related, *DIRECTIONS, context, page, call),
    *(index, reindex, pause, resume, status),
    *(doctor, config, phase, feedback, model, completion),
    *(install, uninstall, team),
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
