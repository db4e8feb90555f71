"""The commands that follow references: callers, callees, uses, implementations, tests and trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from cairn.cli.command_folders import (
    POSITION,
    folders_option,
    lines_named,
    path_inside,
    place_in,
    places_named,
    places_option,
)
from cairn.cli.output import F, WrongUsageError, answers
from cairn.cli.question import Question, compact_options
from cairn.errors import InvalidRequestError


def _follows(command: F) -> F:
    name = click.argument("name", metavar="NAME|FILE:LINE[:COLUMN]")
    depth = click.option("--depth", default=1, show_default=True, help="Levels to follow, up to 5.")
    limit = click.option("-n", "--limit", default=100, show_default=True, help="Number of references.")
    options: tuple[Callable[[F], F], ...] = (
        name, folders_option, depth, limit, places_option, compact_options, answers,
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


_NAME_HELP = "NAME is its name, optionally with its owner (Owner.name) or file (FILE:name), or a line in it."


def _command(direction: str, summary: str) -> click.Command:
    """Return the command of a direction, which has the direction's name."""

    @click.command(direction, help=f"{summary}\n\n{_NAME_HELP}")
    @_follows
    @_in_tests
    def follow(name: str, **options: Any) -> Question:
        return _follow(name, direction, **options)

    return follow


_in_tests = click.option(
    "--tests/--no-tests", default=None, help="Only references in tests, or none of these. By default, both."
)


@click.command(
    "callers",
    help="Show who calls a function or makes an instance of a type, and with --depth, who calls those."
    f" Of what is not called, such as a constant, show the uses.\n\n{_NAME_HELP}",
)
@_follows
@_in_tests
@click.option("--uses", is_flag=True, help="Show all uses, as `cairn uses` does.")
def callers(name: str, *, uses: bool, **options: Any) -> Question:
    return _follow(name, "uses" if uses else "callers", **options)


DIRECTIONS: tuple[click.Command, ...] = (
    callers,
    _command(
        "callees", "Show what a function calls, in the order of its code, and with --depth, what those call."
    ),
    _command("uses", "Show what calls, imports, reads, writes or inherits from a definition."),
    _command("implementations", "Show the types that extend or implement a type, or a method's overrides."),
    _command("tests", "Show the tests that call a function, directly or through one other function."),
)
"""The commands that follow references. The protocol has the same directions, and `trace`."""


@click.command()
@click.argument("name", metavar="NAME|FILE:LINE[:COLUMN]")
@click.argument("to", metavar="[TO]", required=False)
@folders_option
@click.option("--depth", type=int, help="Levels to follow, up to 10. By default, -n decides.")
@click.option(
    "-n", "--limit", type=int, help="Number of calls: 60 on a terminal, else what the answer holds."
)
@compact_options
@answers
def trace(name: str, to: str | None, depth: int | None, limit: int | None, **options: Any) -> Question:
    """Show what happens when a function runs: its calls in order, and below each the calls of that function.

    With TO, show only the shortest ways to it. NAME and TO are names, optionally with the owner (Owner.name),
    or lines in functions.
    """
    return _follow(name, "trace", to=to, depth=depth, limit=limit, **options)


def _follow(
    name: str,
    direction: str,
    *,
    folders: Sequence[Path],
    depth: int | None,
    limit: int | None,
    to: str | None = None,
    places: Sequence[str] = (),
    tests: bool | None = None,
    **options: Any,
) -> Question:
    from cairn.cli.answer_text import print_references, print_trace

    for field, given in (("name", name), ("to", to)):
        if given is not None and not given.strip():
            raise WrongUsageError(field, "is empty; give a name, Owner.name or FILE:LINE")
    data = {
        "symbol": _name_or_line(name, folders),
        "direction": direction,
        "to": None if to is None else _name_or_line(to, folders),
        "depth": depth,
        "path": places_named(places, folders),
        "limit": limit,
        "tests": tests,
    }
    is_trace = direction == "trace"
    return Question(
        folders=folders,
        method="references",
        data={**data, "limit": _CALLS if limit is None else limit},
        shown=print_trace if is_trace else partial(print_references, direction=direction),
        tool="references",
        arguments=data,
        no_wait=True,
        **options,
    )


_CALLS = 60
"""The number of calls that a terminal shows of a trace."""


def _name_or_line(text: str, folders: Sequence[Path]) -> str:
    """Return a name as it is, and `FILE:LINE…` with the file's path as in the protocol. Of other paths, the
    engine may know the end."""
    if not lines_named(text).first:
        return text
    try:
        folder, file, at = place_in(text, folders, POSITION)
    except InvalidRequestError:
        return text
    path = str(file) if len(folders) > 1 else path_inside(folder, file)
    return f"{path}:{at.first}" + (f":{at.column}" if at.column else "")
