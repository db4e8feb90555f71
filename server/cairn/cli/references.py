"""Commands that follow references, such as `cairn callers`: one for each direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from cairn.cli.folders import (
    find_file,
    folders_option,
    names_position,
    position_named,
    real_place,
    require_line,
)
from cairn.cli.output import F, WrongUsageError, answers
from cairn.cli.question import Question
from cairn.cli.questions import compact_options


def _follows(command: F) -> F:
    name = click.argument("name", metavar="NAME|FILE:LINE[:COLUMN]")
    depth = click.option("--depth", default=1, show_default=True, help="Levels to follow, up to 5.")
    limit = click.option("-n", "--limit", default=100, show_default=True, help="Number of references.")
    options: tuple[Callable[[F], F], ...] = (name, folders_option, depth, limit, compact_options, answers)
    for option in reversed(options):
        command = option(command)
    return command


_NAME_HELP = "NAME is its name, optionally with its owner (Owner.name), or a line in it."


def _command(direction: str, summary: str) -> click.Command:
    """Return the command of a direction, which has the direction's name."""

    @click.command(direction, help=f"{summary}\n\n{_NAME_HELP}")
    @_follows
    def follow(name: str, **options: Any) -> Question:
        return _follow(name, direction, **options)

    return follow


DIRECTIONS: tuple[click.Command, ...] = (
    _command(
        "callers",
        "Show who calls a function or makes an instance of a type, and with --depth, who calls those.",
    ),
    _command(
        "callees", "Show what a function calls, in the order of its code, and with --depth, what those call."
    ),
    _command("uses", "Show what calls, imports, reads, writes or inherits from a definition."),
    _command("implementations", "Show the types that extend or implement a type, or a method's overrides."),
    _command("tests", "Show the tests that call a function, directly or through one other function."),
)
"""The commands that follow references. The protocol has the same directions."""


def _follow(
    name: str, direction: str, *, folders: Sequence[Path], depth: int, limit: int, **options: Any
) -> Question:
    from cairn.cli.reference_text import print_references

    if not name.strip():
        raise WrongUsageError("name", "is empty; give a name, Owner.name or FILE:LINE")
    data = {
        "symbol": _place(name, folders) if names_position(name) else name,
        "direction": direction,
        "depth": depth,
        "limit": limit,
    }
    return Question(
        folders=folders,
        method="references",
        data=data,
        shown=partial(print_references, direction=direction),
        tool="references",
        no_wait=True,
        **options,
    )


def _place(text: str, folders: Sequence[Path]) -> str:
    """Return `FILE:LINE…` with the file's path as in the protocol."""
    at = position_named(text)
    folder, file = find_file(at.file, folders)
    require_line(file, at)
    inside = real_place(file).relative_to(folder.resolve()).as_posix()
    path = str(file) if len(folders) > 1 else inside
    return f"{path}{text.replace('#L', ':')[len(at.file) :]}"
