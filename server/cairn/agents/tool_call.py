"""One call of a tool: its arguments, the budget of its answer, and the cursor of the next part.

Arguments are read as models write them, and errors say what the tool accepts. The listed names are in
snake_case; the camelCase names of the protocol are accepted as well. Null counts as absent, because some
clients make models fill in every argument. A number may be written as a string.

A cursor is a short text that says how much earlier answers to a question contained. The server keeps no state
for it. If the index has changed, the next answer comes from the new index.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from attrs import frozen

from cairn.agents.place_text import Paths
from cairn.agents.shown_lines import ShownLines
from cairn.engine.methods import CLI
from cairn.engine.runner import answer
from cairn.engine.scope import within
from cairn.errors import InvalidRequestError
from cairn.schema.convert import camel_case, snake_case, structure
from cairn.text.nearest import nearest

if TYPE_CHECKING:
    from cairn.embedding.shared import TokenCounter
    from cairn.engine.methods import Tell
    from cairn.engine.request import Request

LEAST_TOKENS, MOST_TOKENS = 100, 50_000
"""The limits of `max_tokens`. A shorter answer could not say what it leaves out."""


@frozen
class Budget:
    """The maximum number of tokens of an answer."""

    tokens: int
    count: TokenCounter
    option: str = "max_tokens"
    """What sets the budget, as an answer names it."""

    def holds(self, *parts: str) -> bool:
        return self.count(joined(*parts)) <= self.tokens

    def cut(self, text: str) -> str:
        lines = text.split("\n")
        count = largest_fitting(len(lines), lambda count: self.holds("\n".join(lines[:count])))
        return "\n".join(lines[:count])


def joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def largest_fitting(possible: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `possible` that fits, or 0. This is a binary search."""
    low, high = 0, possible
    if possible and fits(possible):
        return possible
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def fit(head: str, items: Sequence[str], foot: Callable[[int], str], budget: Budget) -> str:
    """Return the text of `fitted`."""
    return fitted(head, items, foot, budget)[0]


def fitted(head: str, items: Sequence[str], foot: Callable[[int], str], budget: Budget) -> tuple[str, int]:
    """Return an answer of the head, as many items as fit, and the foot; and the number of these items.

    `foot(count)` is the text below `count` items: how to get the rest, and what the index lacks. If no item
    fits beside the head, the head is left out. If the first item still does not fit, it is cut after a line.
    """
    for above in dict.fromkeys((head, "")):
        count = largest_fitting(
            len(items),
            lambda shown, above=above: budget.holds(above, *items[:shown], foot(shown)),  # type: ignore[misc]
        )
        if count or not items:
            return _not_empty(budget.cut(joined(above, *items[:count], foot(count))), budget), count
    lines = items[0].split("\n")
    begun = largest_fitting(len(lines), lambda shown: budget.holds("\n".join(lines[:shown]), CUT, foot(1)))
    if begun > 1:
        return joined("\n".join(lines[:begun]), CUT, foot(1)), 0
    return _not_empty(budget.cut(joined(foot(0), head)), budget), 0


CUT = "…"


def _not_empty(text: str, budget: Budget) -> str:
    return (
        text
        or f"Nothing of the answer fits into {budget.tokens:,} tokens; ask with a higher {budget.option}."
    )


Steps = tuple[tuple[int, int], ...]
"""Pairs of numbers, one for each earlier answer. Each tool gives them its own meaning."""

_CURSOR = re.compile(
    r"(?:cursor=)?(?P<steps>[0-9]{1,9}(?:-[0-9]{1,9})?(?:_[0-9]{1,9}(?:-[0-9]{1,9})?){0,20})"
    r"\.(?P<mark>[0-9a-f]{4})"
)


def cursor_of(steps: Steps, *question: Any) -> str:
    """Return the cursor after these steps of the answer to `question`."""
    written = (f"{first}-{second}" if second else str(first) for first, second in steps)
    return f"{'_'.join(written)}.{_mark(question)}"


def steps_of(cursor: str, *question: Any) -> Steps:
    """Return the steps of a cursor, none for "". Raise InvalidRequestError for another question's cursor."""
    if not cursor:
        return ()
    found = _CURSOR.fullmatch(cursor.strip().strip("'\"`"))
    if found is None:
        problem = (
            f"{cursor[:60]!r} is not a cursor; copy it from the line `more:` of an answer, or leave it out"
        )
        raise InvalidRequestError("cursor", problem)
    if found["mark"] != _mark(question):
        raise InvalidRequestError(
            "cursor",
            (
                "belongs to another question; repeat the arguments of the answer that it is from, or leave "
                "it out"
            ),
        )
    pairs = (step.partition("-") for step in found["steps"].split("_"))
    return tuple((int(first), int(second or 0)) for first, _, second in pairs)


def _mark(question: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(question, default=str).encode()).hexdigest()[:4]


def require_none(cursor: str) -> None:
    """Raise InvalidRequestError for any cursor: structured answers are not split into parts."""
    if cursor:
        raise InvalidRequestError(
            "cursor", "belongs to answers as text; data is not cut, so ask for a higher limit"
        )


@frozen(eq=False)
class ToolCall:
    """A call of a tool, which runs on a thread of the engine."""

    asked: Request
    front: str
    tell: Tell | None = None
    session: ShownLines | None = None
    """The lines that earlier answers of the session have shown; None without a session."""

    def shown_before(self, *, again: bool) -> ShownLines:
        """Return the lines that need not be shown, none if they are wanted `again`."""
        return ShownLines() if again or self.session is None else self.session

    def note_shown(self, folder: str, path: str, first: int, lines: Sequence[str]) -> None:
        """Note that the answer shows these lines, of which `first` is the 1-based number of the first."""
        if self.session is not None:
            self.session.add(folder, path, first, lines)

    def note_named(self, folder: str, path: str) -> None:
        """Note that the answer names places of the file to read."""
        if self.session is not None:
            self.session.add_named(folder, path)

    def note_question(self, question: str) -> None:
        if self.session is not None:
            self.session.question = question

    @property
    def again(self) -> str:
        """How to get lines that were shown before."""
        return "--again repeats them" if self._is_command else "again=true repeats them"

    def request(self, method: str, params: Any) -> Any:
        """Return the answer of a method of the protocol as an object of its class."""
        return answer(self.asked, method, params, front=self.front, tell=self.tell, as_json=False)

    def budget(self, wanted: int | None, usual: int) -> Budget:
        """Return the answer's budget: `wanted` tokens, else the number in the settings, else `usual`."""
        tokens = wanted or self.asked.settings.agents.max_tokens or usual
        option = "--max-tokens" if self._is_command else "max_tokens"
        return Budget(max(LEAST_TOKENS, tokens), self.asked.host.model.count_tokens, option)

    # An answer advises only what its front can do: commands have options, and tools have arguments.

    @property
    def _is_command(self) -> bool:
        return self.front == CLI

    def more(self, steps: Steps, *question: Any) -> str:
        """Return the line that says how to get the rest of an answer."""
        cursor = cursor_of(steps, *question)
        return f"more: --cursor {cursor}" if self._is_command else f"more: cursor={cursor}"

    def more_lines(self, path: str, first: int, last: int) -> str:
        """Return the line that says how to read further lines of a file."""
        return f"more: {'' if self._is_command else 'path='}{path}:{first}-{last}"

    def other_ways(self, symbol: str) -> str:
        """Return a sentence that says how else to find what refers to a definition."""
        if self._is_command:
            name = shlex.quote(symbol)
            return f"Try `cairn uses {name}`, or `cairn search {name}`."
        return 'Try direction "uses", or search for the name.'

    @property
    def paths(self) -> Paths:
        return Paths.of(self.asked)

    def places(self, given: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Return those of the paths and globs that exist, and a note on the others.

        Raise InvalidRequestError if none exists, and for a wrong glob that leaves out.
        """
        problems: dict[str, str] = {}
        for each in given:
            try:
                within([each], self.asked.folders) if not each.startswith("!") else None
            except InvalidRequestError as problem:
                problems[each] = str(problem).partition(": ")[2]
        there = tuple(each for each in given if each not in problems)
        # If nothing is left, this raises the error of the first path.
        within(there if any(not each.startswith("!") for each in there) else given, self.asked.folders)
        return there, " ".join(f"Left out: {problem}." for problem in problems.values())


# --- arguments -----------------------------------------------------------------------------------------


T = TypeVar("T")

WORKSPACE = "workspace"
"""The argument of every tool that selects one of several open folders."""


def without_nulls(value: Any) -> Any:
    """Return JSON data without the members that are null."""
    if isinstance(value, Mapping):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def workspace_of(arguments: Mapping[str, Any]) -> str:
    """Return the open folder that the arguments name, or "". Raise InvalidRequestError for another type."""
    workspace = arguments.get(WORKSPACE)
    if workspace is not None and not isinstance(workspace, str):
        raise InvalidRequestError(WORKSPACE, "expected a string: the name, path or URI of an open folder")
    return workspace or ""


def arguments_of(given: Mapping[str, Any], cls: type[T]) -> T:
    """Return the arguments as an object of the attrs class `cls`. Raise InvalidRequestError."""
    hints = typing.get_type_hints(cls)
    data = {camel_case(name): value for name, value in without_nulls(given).items() if name != WORKSPACE}
    for attribute in attrs.fields(cls):  # type: ignore[arg-type]
        name = camel_case(attribute.name)
        if isinstance(data.get(name), str):
            data[name] = _parsed(data[name], hints[attribute.name])
    return structure(data, cls)


def require_words(field: str, text: str) -> None:
    """Raise InvalidRequestError if `text` is empty."""
    if not text.strip():
        raise InvalidRequestError(field, "is empty; ask a question or name a symbol")


def _parsed(text: str, hint: Any) -> Any:
    """Return the value that a string represents if `hint` is not a string type, else the string itself."""
    if hint in (int, int | None) and text.strip().removeprefix("-").isdecimal() and len(text) < 12:
        return int(text)
    if hint is bool and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if typing.get_origin(hint) is not tuple or not text.lstrip().startswith("["):
        return text
    try:
        read = json.loads(text)
    except ValueError:  # A glob may begin with a bracket.
        return text
    return read if isinstance(read, list) else text


def error_with_usage(
    problem: InvalidRequestError, tool: str, takes: Mapping[str, Any], arguments: Any, example: str
) -> InvalidRequestError:
    """Return the error with the most similar argument, all arguments of the tool, and an example."""
    known, required = list(takes["properties"]), takes.get("required", [])
    names = list(arguments) if isinstance(arguments, Mapping) else []
    slips = [
        name for name in names if snake_case(name) not in known and str(problem).endswith("unknown field")
    ]
    meant = [match for name in slips[:3] if (match := nearest(snake_case(name), known))]
    hint = f" Did you mean {' and '.join(meant)}?" if meant else ""
    listed = ", ".join(f"{name} (required)" if name in required else name for name in known)
    takes_what = f"{tool} takes {listed}" if listed else f"{tool} takes no arguments"
    shown = str(problem)
    listed_name = snake_case(problem.field.removeprefix("filter."))
    if listed_name in known:
        shown = listed_name + shown.removeprefix(problem.field)
    end = "" if shown.endswith((".", "?")) else "."
    explained = InvalidRequestError("", f"{shown}{end}{hint} {takes_what}. Example: {example}")
    explained.field = problem.field
    return explained
