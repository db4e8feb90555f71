"""A question of the command line. An engine of this or another process answers it.

People on a terminal get answers in colour. Programs get the compact text of the tools over MCP, or JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import field, frozen

from cairn.cli.command_folders import opened, unnamed_project, wait_to_ask
from cairn.cli.output import F, display, json_text, print_json, remark, structured
from cairn.errors import InvalidRequestError

if TYPE_CHECKING:
    from cairn.engine.request import Request

_REMOTE_SECONDS = 10.0

max_tokens_option = click.option(
    "--max-tokens",
    type=click.IntRange(100, 50_000),
    help="Answer in compact text of at most this many tokens, also on a terminal.",
)
_cursor = click.option(
    "--cursor",
    help="Continue a compact answer: repeat the command with the option of its line `more:`.",
)


_session = click.option(
    "--session",
    metavar="NAME",
    help="Answer in compact text without the lines that this session's commands have printed.",
)
_again = click.option("--again", is_flag=True, help="Print lines that the session has printed before.")


def compact_options(command: F) -> F:
    return max_tokens_option(_cursor(command))


def session_options(command: F) -> F:
    return _session(_again(command))


def _note() -> str:
    project = unnamed_project()
    return project.note if project is not None else ""


@frozen
class Question:
    """A question of a command line. Raises WrongUsageError for params that the method does not take."""

    folders: Sequence[Path]
    method: str
    data: Mapping[str, Any]
    """The params of the method."""
    shown: Callable[[Any], None]
    """Prints the method's answer for people."""
    tool: str = ""
    """The tool that answers in compact text; "" if the answer is always printed by `shown`."""
    arguments: Mapping[str, Any] | None = None
    """The tool's arguments, except the next two, if they differ from `data`. Empty ones count as absent."""
    max_tokens: int | None = None
    cursor: str | None = None
    session: str | None = None
    """The name of the session, whose lines the compact text does not repeat; None without one."""
    again: bool = False
    as_json: bool = False
    is_compact: bool = False
    """Whether the answer is compact on a terminal as well."""
    no_wait: bool = False
    note: str = field(factory=_note)
    """A line for people on where the answer is from."""
    check: Callable[[Request], None] | None = None
    """Raises InvalidRequestError for values that can be checked only with the index."""

    def __attrs_post_init__(self) -> None:
        from cairn.engine.methods import METHODS

        structured(self.data, METHODS[self.method].params_class())

    @property
    def has_text(self) -> bool:
        return self.as_json or bool(self.tool)

    @property
    def is_for_people(self) -> bool:
        """Whether the answer is printed for people rather than for programs."""
        from cairn.cli.console import has_colour

        is_seen = sys.stdout.isatty() or has_colour()
        is_compact = self.is_compact or self.max_tokens or self.cursor or self.session
        return not self.has_text or (is_seen and not self.as_json and not is_compact)

    def answer(self, request: Request) -> Any:
        """Return the method's answer as an object of its class."""
        from cairn.engine.runner import answer

        if self.check is not None:
            self.check(request)
        return answer(request, self.method, dict(self.data), as_json=False)

    def text(self, request: Request) -> str:
        if self.as_json:
            return json_text(self.answer(request), ascii_only=False)
        from cairn.agents.shown_lines import ShownLines
        from cairn.agents.tools import tool_named
        from cairn.engine.methods import CLI

        if self.check is not None:
            self.check(request)
        arguments = {**(self.arguments or self.data), "max_tokens": self.max_tokens, "cursor": self.cursor}
        given = {name: value for name, value in arguments.items() if value not in (None, (), "")}
        if self.again:
            given["again"] = True
        shown = ShownLines.load(self.session) if self.session else None
        try:
            text = "\n".join(tool_named(self.tool).answer(request, given, front=CLI, session=shown).texts)
            if shown is not None and self.session:
                shown.save(self.session)
            return text
        except InvalidRequestError as problem:
            # The tool's error lists its own arguments, which differ from a command's options.
            raise (problem.__cause__ or problem) from None


def answer_question(question: Question) -> None:
    """Print the answer.

    For people, a running engine is tried first. For programs, it was tried before anything was imported.
    """
    if question.note:
        remark(question.note)
    answer = _answer_elsewhere(question) if question.is_for_people and question.check is None else None
    if answer is not None:
        question.shown(answer)
        return
    with opened(*question.folders) as engine:
        wait_to_ask(engine, vectors=not question.no_wait)
        request = engine.request()
        if question.is_for_people:
            question.shown(question.answer(request))
        elif question.as_json:
            print_json(question.answer(request))
        else:
            from cairn.cli.console import write_exactly

            write_exactly(question.text(request))


def _answer_elsewhere(question: Question) -> Any:
    """Return the answer of an engine that already runs for the folders; None if none answers."""
    from cairn.attach.answered_commands import WAITING
    from cairn.attach.finding import find
    from cairn.engine.methods import METHODS
    from cairn.schema.convert import structure
    from cairn.startup.timers import said_if_late

    folders = [folder.resolve() for folder in question.folders]
    wish = {
        "want": "method",
        "folders": [str(folder) for folder in folders],
        "method": question.method,
        "params": question.data,
        "noWait": question.no_wait,
    }
    with said_if_late("" if display.quiet else WAITING):
        found = find(folders, wish, _REMOTE_SECONDS)
    if found is None:
        return None
    channel, answer = found
    channel.close()
    if "answer" not in answer:  # An engine of this process reports the problem.
        return None
    return structure(answer["answer"], METHODS[question.method].answer_type())


def is_ready(request: Request, *, vectors: bool) -> bool:
    from cairn.engine.status import progress_of

    request.catch_up()
    return not (progress := progress_of(request.folders)).problem and progress.suffices(vectors=vectors)
