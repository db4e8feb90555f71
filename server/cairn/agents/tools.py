"""The tools that agents call, each with its name, manual, schemas and answer function.

The manuals are all that an agent knows about Cairn: they say by examples when and how to use a tool. A client
is shown the tools that `listed` returns. It can call every other tool too, by its name.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn.agents import manuals
from cairn.agents.change_tool import ChangesArguments, changes, changes_data
from cairn.agents.discover_tool import DiscoverArguments, discover, discover_data
from cairn.agents.index_state import StatusArguments, freshness, status, status_data
from cairn.agents.manuals import Schema, answer_schema, params_schema
from cairn.agents.read_tool import ReadArguments, read, read_data
from cairn.agents.reference_tool import ReferencesArguments, references, references_data
from cairn.agents.search_tools import (
    RelatedArguments,
    SearchArguments,
    related,
    related_data,
    search,
    search_data,
)
from cairn.agents.tool_call import WORKSPACE, ToolCall, arguments_of, error_with_usage, without_nulls
from cairn.engine.methods import MCP, METHODS, STAGES, Method
from cairn.errors import InvalidRequestError
from cairn.schema.convert import snake_case, unstructure
from cairn.text.nearest import nearest

if TYPE_CHECKING:
    from cairn.agents.shown_lines import ShownLines
    from cairn.engine.methods import Tell
    from cairn.engine.request import Request

INSTRUCTIONS = manuals.INSTRUCTIONS

ALL_TOOLS, STAGE_TOOLS = "all", "stages"
"""Names that stand for several tools: for all, and for the stages of discovery."""

_OMITTED_FROM_DISCOVERY = frozenset({"answerPrompt", "bullets", "chunks"})
"""Fields that repeat `excerpts` and the bullets of `plan`. Without them, an answer shrinks from 130,000
characters to 36,000."""

Given = Mapping[str, Any]
"""Arguments as a client sends them."""


@frozen
class ToolAnswer:
    """An answer as either text or data. A client that got both would show everything twice to a model."""

    texts: tuple[str, ...]
    """Texts for a model; empty if the answer is structured."""
    data: dict[str, Any] | None
    """The structured answer, as in the protocol, for programs."""


@frozen
class Tool:
    name: str
    description: str
    method: Method
    """The method of the protocol that defines the structured answers."""
    write: Callable[[ToolCall, Given], str]
    """Returns the answer as text."""
    gather: Callable[[ToolCall, Given], Any]
    """Returns the answer as an object of the protocol."""
    omitted: Set[str] = frozenset()
    """Fields of the method's answer that structured answers leave out, because other fields repeat them."""
    reports_state: bool = False
    """Whether a second text says what the index lacks. The first text is JSON, which cannot say it."""

    @property
    def streams(self) -> bool:
        """Whether it reports each stage while it runs."""
        return self.method.streams

    @functools.cached_property
    def input_schema(self) -> Schema:
        manual = manuals.MANUALS.get(self.name)
        return manual.input_schema if manual else params_schema(self.method)

    @functools.cached_property
    def example(self) -> str:
        """Arguments as JSON."""
        if manual := manuals.MANUALS.get(self.name):
            return json.dumps(manual.examples[0], ensure_ascii=False)
        return '{"query": "how are berths assigned"}' if "query" in self.input_schema["properties"] else "{}"

    @functools.cached_property
    def output_schema(self) -> Schema:
        return answer_schema(self.method, self.omitted)

    def answer(
        self,
        request: Request,
        arguments: Mapping[str, Any],
        *,
        structured: bool = False,
        front: str,
        tell: Tell | None = None,
        session: ShownLines | None = None,
    ) -> ToolAnswer:
        """Return the answer to these arguments. Call this on a thread of the engine.

        Text leaves out what `session` has, and adds what it shows. Data is always whole.

        Raise InvalidRequestError, with usage and an example, for arguments that the tool does not take;
        QueryCancelledError soon after `request.cancelled()` turns true; any other CairnError of the engine.
        """
        try:
            has_session = front != MCP or not request.settings.agents.repeat_lines
            call = ToolCall(request, front, tell, session if has_session else None)
            if structured:
                data = unstructure(self.gather(call, arguments))
                kept = {name: value for name, value in data.items() if name not in self.omitted}
                return ToolAnswer((), kept)
            text = self.write(call, arguments)
        except InvalidRequestError as problem:
            raise error_with_usage(
                problem, self.name, self.input_schema, arguments, self.example
            ) from problem
        lacks = freshness(call.asked) if self.reports_state else ""
        return ToolAnswer(tuple(filter(None, (text, lacks))), None)


def _tool(
    name: str,
    method: str,
    arguments: type[Any],
    write: Callable[[ToolCall, Any], str],
    gather: Callable[[ToolCall, Any], Any],
    omitted: Set[str] = frozenset(),
) -> Tool:
    return Tool(
        name=name,
        description=manuals.MANUALS[name].description,
        method=METHODS[method],
        write=lambda call, given: write(call, arguments_of(given, arguments)),
        gather=lambda call, given: gather(call, arguments_of(given, arguments)),
        omitted=omitted,
    )


def _stage(method: Method) -> Tool:
    """Return the tool of a stage of discovery, for custom pipelines: it takes the params of the method.

    Its text is compact JSON, which the next stage accepts.
    """

    def gather(call: ToolCall, arguments: Given) -> Any:
        params = {name: value for name, value in without_nulls(arguments).items() if name != WORKSPACE}
        return call.request(method.name, params)

    return Tool(
        name=snake_case(method.name),
        description=manuals.STAGE_MANUALS[method.name],
        method=method,
        write=lambda call, given: json.dumps(
            unstructure(gather(call, given)), ensure_ascii=False, separators=(",", ":")
        ),
        gather=gather,
        reports_state=True,
    )


STATUS = "status"
DEFAULT: tuple[str, ...] = ("search", "discover", "read", "references", "changes", STATUS)
"""The tools that a client lists by default."""
TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool("search", "search", SearchArguments, search, search_data),
        _tool("discover", "discover", DiscoverArguments, discover, discover_data, _OMITTED_FROM_DISCOVERY),
        _tool("read", "fetchPage", ReadArguments, read, read_data),
        _tool("references", "references", ReferencesArguments, references, references_data),
        _tool("changes", "change", ChangesArguments, changes, changes_data),
        _tool("status", "status", StatusArguments, status, status_data),
        _tool("related", "related", RelatedArguments, related, related_data),
        *map(_stage, STAGES.values()),
    )
}
"""Every tool by name, the default ones first."""


def listed(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools of these names, or the default ones, in the order of `TOOLS`.

    The names `all` and `stages` stand for several tools. Raise InvalidRequestError for an unknown name.
    """
    wanted: set[str] = set()
    for name in names or DEFAULT:
        if name == ALL_TOOLS:
            wanted |= set(TOOLS)
        elif name == STAGE_TOOLS:
            wanted |= set(map(snake_case, STAGES))
        else:
            wanted.add(tool_named(name, (ALL_TOOLS, STAGE_TOOLS)).name)
    return tuple(tool for name, tool in TOOLS.items() if name in wanted)


def tool_named(name: str, others: Sequence[str] = ()) -> Tool:
    """Return the tool with this name, however it is spelled. For an unknown name, raise InvalidRequestError
    with the nearest name.

    `others` are further names that the caller accepts. The error may suggest them.
    """
    tool = TOOLS.get(name) or TOOLS.get(snake_case(name))
    if tool is not None:
        return tool
    meant = nearest(name, [*TOOLS, *others])
    hint = f"did you mean {meant}?" if meant else f"the tools are {', '.join([*TOOLS, *others])}"
    raise InvalidRequestError("", f"there is no tool {name[:100]!r}; {hint}")
