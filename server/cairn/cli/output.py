"""What all commands share: JSON or text for people, colour, `--quiet`, and errors with a remedy."""

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
from cairn.text.counts import listed
from cairn.text.nearest import nearest

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_MOST_LISTED = 24
"""The number of known names that an error lists. A large monorepo has more than a hundred collections."""

EXIT_CODES = """\
\b
Exit codes:
  0    done, even if nothing was found
  1    failed, or `cairn doctor` found a problem
  2    wrong usage
  130  interrupted

\b
With --json, an error is printed as JSON on stdout as well:
  {"error": {"code": …, "message": …, "field": …}}"""

F = TypeVar("F", bound=Callable[..., Any])


@define
class Display:
    """The options for the output of the current command."""

    color: str = "auto"
    """`auto`, `always` or `never`."""
    quiet: bool = False


display = Display()
"""The options of the current command set the fields of this object."""


def answers(command: F) -> F:
    """Add the options of every command that prints: `--json` (as `as_json`), `--quiet` and `--color`."""

    def keep(_context: click.Context, option: click.Parameter, value: Any) -> None:
        setattr(display, str(option.name), value)

    kept = partial(click.option, expose_value=False, callback=keep)
    colours = click.Choice(["auto", "always", "never"])
    colour = kept("--color", type=colours, default="auto", help="Use colour on a terminal, always or never.")
    quiet = kept("-q", "--quiet", is_flag=True, help="Print only answers and errors.")
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print answers and errors as JSON, as in the protocol."
    )
    return colour(quiet(as_json(command)))


def show(answer: Any, shown: Callable[[Any], None], as_json: bool) -> None:
    """Print an answer as JSON, or with `shown` for people."""
    if as_json:
        print_json(answer)
    else:
        shown(answer)


def report(answer: Any, shown: Callable[[Any], None], as_json: bool) -> None:
    """Print the answer of a command that is run for its effect. With `--quiet`, people get none."""
    if as_json or not display.quiet:
        show(answer, shown, as_json)


def print_json(answer: Any) -> None:
    """Print an attrs instance, or data, as JSON with camelCase keys, in ASCII unless stdout is UTF-8."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    print(json_text(answer, ascii_only=encoding != "utf8"))


def json_text(answer: Any, *, ascii_only: bool = True) -> str:
    """Return an attrs instance, or data, as JSON with camelCase keys."""
    from cairn.schema.convert import unstructure

    return json.dumps(unstructure(answer), ensure_ascii=ascii_only, indent=2)


def remark(line: str) -> None:
    """Write a line for people to stderr. It is not part of the answer."""
    if not display.quiet:
        to_stderr(line)


def to_stderr(line: str) -> None:
    """Write a line to stderr. click would write UTF-8 even if the encoding is ASCII."""
    print(line, file=sys.stderr)


class WrongUsageError(click.UsageError):
    """A value that is wrong in any folder. `field` is the protocol's name of the argument or option."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field


def structured(data: Any, cls: type[Any]) -> Any:
    """Return typed data as the params of a method. Raise WrongUsageError that names the wrong field."""
    import attrs

    from cairn.schema.convert import camel_case, structure

    try:
        return structure(data, cls)
    except InvalidRequestError as problem:
        message = str(problem).removeprefix(f"{problem.field}: ")
        if message == "unknown field" and "." not in problem.field:
            message += alternatives(problem.field, [camel_case(each.name) for each in attrs.fields(cls)])
        raise WrongUsageError(problem.field, message) from None


def alternatives(name: str, known: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, or the first known ones."""
    meant = nearest(name, known)
    return f"; did you mean {meant}?" if meant else f"; there are {listed(known, _MOST_LISTED) or 'none'}"


# --- errors ----------------------------------------------------------------------------------------


def _error_of(problem: BaseException) -> tuple[str, str, str]:
    """Return the code, the message, and the wrong field as a dotted camelCase path, or "".

    The code is `usage`, `interrupted`, `system`, or the name of the error, such as `invalidRequest`.
    """
    if isinstance(problem, click.UsageError):
        parameter = getattr(problem, "param", None)
        field = parameter.name if parameter is not None else getattr(problem, "option_name", "")
        return "usage", problem.format_message(), getattr(problem, "field", str(field))
    if isinstance(problem, click.ClickException):
        return "failed", problem.format_message(), ""
    if isinstance(problem, CairnError):
        name = type(problem).__name__.removesuffix("Error")
        return name[0].lower() + name[1:], str(problem), getattr(problem, "field", "")
    if isinstance(problem, OSError):
        return "system", str(problem), ""
    return "interrupted", "interrupted; what is indexed is kept", ""


def print_error(problem: BaseException, arguments: Sequence[str]) -> None:
    """Print the error and its remedy on stderr, and as JSON on stdout if `arguments` request that."""
    stdout, stderr = error_texts(problem, arguments)
    if stdout:
        with contextlib.suppress(OSError):  # The error may be a full disk.
            print(stdout, end="")
    print(stderr, end="", file=sys.stderr)


def error_texts(problem: BaseException, arguments: Sequence[str]) -> tuple[str, str]:
    code, message, field = _error_of(problem)
    # The command line may be one that cannot be parsed.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asks_for_json = "--json" in options or arguments[:1] == ["call"]
    answer = {"error": {"code": code, "message": message, "field": field}}
    stdout = f"{json_text(answer)}\n" if asks_for_json else ""
    stderr = f"cairn: {message}\n"
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx is not None else "cairn"
        stderr += f"Run `{path} --help` for its usage.\n"
    return stdout, stderr


def leave_stdout() -> None:
    """Discard further output to a stdout that the reader has closed, as in `cairn search … | head`."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
