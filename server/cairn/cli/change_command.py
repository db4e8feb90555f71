"""The command `cairn changes`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cairn.attach.answered_commands import INPUT, read_input
from cairn.cli.command_folders import folders_option
from cairn.cli.completion import revisions_like
from cairn.cli.output import WrongUsageError, answers
from cairn.cli.question import Question, max_tokens_option
from cairn.errors import InvalidRequestError


@click.command()
@click.argument("base", metavar="[REF]", required=False, shell_complete=revisions_like)
@folders_option
@click.option("--staged", is_flag=True, help="Only what is staged.")
@click.option(
    "--diff", "file", metavar="FILE|-", type=click.Path(), help="The change in this diff, - for stdin."
)
@click.option(
    "-n",
    "--limit",
    type=int,
    default=10,
    show_default=True,
    help="Number of entries of each list, besides places that still use an old definition.",
)
@click.option("--prompt", "prompt_alone", is_flag=True, help="Print only a prompt for a reviewer.")
@max_tokens_option
@answers
def changes(
    base: str | None,
    staged: bool,
    file: str | None,
    limit: int,
    prompt_alone: bool,
    max_tokens: int | None,
    folders: Sequence[Path],
    **options: Any,
) -> Question:
    """Show what a change touches: the definitions, their users, the tests to run, and what is missing.

    The change is what differs between REF, by default the last commit, and the files as they are. REF is a
    commit, branch or tag. With --diff, it is a diff as text, which needs no repository.
    """
    from cairn.cli import change_text

    if file is not None and base is not None:
        raise WrongUsageError("diff", "give either a diff, or a REF to compare the files with")
    arguments = {
        "base": base,
        "diff": None if file is None else _diff_in(file),
        "staged": staged,
        "limit": limit,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    tokens = {"maxTokens": max_tokens} if max_tokens is not None else {}
    return Question(
        folders=folders,
        method="change",
        data={**given, **tokens},
        shown=change_text.print_prompt if prompt_alone else change_text.print_changes,
        tool="" if prompt_alone else "changes",
        arguments=given,
        max_tokens=max_tokens,
        no_wait=True,
        **options,
    )


def _diff_in(name: str) -> str:
    """Return the text of a file or of stdin, which is never empty. Raise InvalidRequestError."""
    from cairn.text.decoding import decoded

    data = INPUT.get()
    if data is None:
        try:
            data = read_input(name)
        except OSError as problem:
            reason = f"{name} cannot be read ({problem.strerror})"
            raise InvalidRequestError("diff", f"{reason}; give a file, or - for stdin") from None
    text = decoded(data)
    if text is None:
        raise InvalidRequestError("diff", f"{name} is not text; give a unified diff, as of `git diff`")
    # An empty argument of a tool counts as absent, and an empty diff means that nothing changed.
    return text.text or "\n"
