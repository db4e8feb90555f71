"""What every command has in common: JSON or text for people, colour, quiet, and errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click
from attrs import define

from cairn.errors import CairnError, InvalidRequestError
from cairn.text.nearest import nearest

FAILED, USAGE, INTERRUPTED = 1, 2, 130

EXIT_CODES = """\
\b
Exit codes:
  0    done, also where nothing was found
  1    failed, or `cairn doctor` found a problem
  2    wrong usage
  130  interrupted

\b
With --json, an error is JSON on stdout, too:
  {"error": {"code": …, "message": …, "field": …}}"""

F = TypeVar("F", bound=Callable[..., Any])


@define
class Look:
    """How the command at hand shows things."""

    color: str = "auto"
    """`auto`, `always` or `never`."""
    quiet: bool = False


look = Look()
"""Set anew by the options of each command."""


def answers(command: F) -> F:
    """The options of every command that prints: `--json` (as `as_json`), `--quiet` and `--color`."""

    def keep(_context: click.Context, option: click.Parameter, value: Any) -> None:
        setattr(look, str(option.name), value)

    kept = partial(click.option, expose_value=False, callback=keep)
    colours = click.Choice(["auto", "always", "never"])
    colour = kept("--color", type=colours, default="auto", help="Colour on a terminal, always or never.")
    quiet = kept("-q", "--quiet", is_flag=True, help="Print answers and errors only.")
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print JSON, as the protocol has it; errors, too."
    )
    return colour(quiet(as_json(command)))


def show(answer: Any, shown: Callable[[Any], None], as_json: bool) -> None:
    """Print an answer: as JSON, or with `shown` for people."""
    if as_json:
        print_json(answer)
    else:
        shown(answer)


def report(answer: Any, shown: Callable[[Any], None], as_json: bool) -> None:
    """As `show`, of a command that is run for what it does: nothing for people who want it quiet."""
    if as_json or not look.quiet:
        show(answer, shown, as_json)


def print_json(answer: Any) -> None:
    """Print an attrs instance, or data, as JSON with camelCase keys; exact whatever the encoding of stdout."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    print(json_text(answer, ascii_only=encoding != "utf8"))


def json_text(answer: Any, *, ascii_only: bool = True) -> str:
    """An attrs instance, or data, as JSON with camelCase keys."""
    from cairn.schema.convert import unstructure

    return json.dumps(unstructure(answer), ensure_ascii=ascii_only, indent=2)


def remark(line: str) -> None:
    """Tell people, on stderr, what is not the answer."""
    if not look.quiet:
        tell(line)


def tell(line: str) -> None:
    """Write a line to stderr. Not by click, which writes UTF-8 where the encoding is ASCII."""
    print(line, file=sys.stderr)


class WrongUsageError(click.UsageError):
    """A value that no folder could make right; `field` is the argument's or the option's name in the protocol."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


def structured(data: Any, cls: type[Any]) -> Any:
    """The params of a method from what was typed. Raises WrongUsageError, naming the field."""
    import attrs

    from cairn.schema.convert import camel_case, structure

    try:
        return structure(data, cls)
    except InvalidRequestError as problem:
        message = str(problem).removeprefix(f"{problem.field}: ")
        if message == "unknown field" and "." not in problem.field:
            message += instead(problem.field, [camel_case(each.name) for each in attrs.fields(cls)])
        raise WrongUsageError(problem.field, message) from None


def instead(name: str, known: Sequence[str]) -> str:
    """The end of a sentence that says what else there is: the nearest of `known`, or all of them."""
    meant = nearest(name, known)
    return f"; did you mean {meant}?" if meant else f"; there are {', '.join(known) or 'none'}"


# --- errors ----------------------------------------------------------------------------------------


@define
class ErrorAnswer:
    """An error as `--json` has it."""

    code: str
    """`usage`, `interrupted`, `system`, or the error's own name: `invalidRequest`, `indexUnavailable`, `model`, …"""
    message: str
    field: str
    """What it is about, as a dotted camelCase path; "" for nothing in particular."""


def error_answer(problem: BaseException) -> ErrorAnswer:
    """The error in words."""
    if isinstance(problem, click.UsageError):
        parameter = getattr(problem, "param", None)
        field = parameter.name if parameter is not None else getattr(problem, "option_name", "")
        return ErrorAnswer("usage", problem.format_message(), getattr(problem, "field", str(field)))
    if isinstance(problem, click.ClickException):
        return ErrorAnswer("failed", problem.format_message(), "")
    if isinstance(problem, CairnError):
        name = type(problem).__name__.removesuffix("Error")
        return ErrorAnswer(name[0].lower() + name[1:], str(problem), getattr(problem, "field", ""))
    if isinstance(problem, OSError):
        return ErrorAnswer("system", str(problem), "")
    return ErrorAnswer("interrupted", "interrupted; what is indexed is kept", "")


def print_error(problem: BaseException, arguments: Sequence[str]) -> None:
    """Say on stderr what is wrong and what to do; where `arguments` ask for JSON, say it on stdout as JSON, too."""
    stdout, stderr = error_texts(problem, arguments)
    if stdout:
        with contextlib.suppress(OSError):  # a full disk may be what is wrong
            print(stdout, end="")
    print(stderr, end="", file=sys.stderr)


def error_texts(problem: BaseException, arguments: Sequence[str]) -> tuple[str, str]:
    """What a command line that fails prints on stdout and on stderr."""
    error = error_answer(problem)
    stdout = json_text({"error": error}) + "\n" if asks_for_json(arguments) else ""
    stderr = f"cairn: {error.message}\n"
    if isinstance(problem, click.UsageError):
        context = problem.ctx
        path = context.command_path if context is not None else "cairn"
        stderr += f"`{path} --help` shows how it is used.\n"
    return stdout, stderr


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, even one that cannot be understood otherwise."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or arguments[:1] == ["call"]


def make_encodable() -> None:
    """Have stdout and stderr replace what their encoding lacks (an old Windows console's, C's), instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")


def leave_stdout() -> None:
    """Let nothing more be written to a stdout that takes no more, as in `cairn search … | head`."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
