"""The tools that agents have: for each its name, its manual, its schemas, and its answer.

What an agent knows of Cairn, it knows from these manuals: they say when to ask and how, by examples. Fronts list the tools of
`listed`; whatever the list, every tool can be called by its name or a former one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn.agents import manuals
from cairn.agents.arguments import arguments_of, taught, workspace_of
from cairn.agents.asked import Asked
from cairn.agents.discover import DiscoverArguments, discover, discover_data
from cairn.agents.read import ReadArguments, read, read_data
from cairn.agents.references import ReferencesArguments, references, references_data
from cairn.agents.related import RelatedArguments, related, related_data
from cairn.agents.schemas import Schema, answer_schema, params_schema
from cairn.agents.search import SearchArguments, search, search_data
from cairn.agents.stages import MANUALS, NAMES, stage, stage_data
from cairn.agents.state import freshness
from cairn.agents.status import StatusArguments, status, status_data
from cairn.engine.methods import METHODS, Method
from cairn.errors import InvalidRequestError
from cairn.schema.convert import snake_case, unstructure
from cairn.text.nearest import nearest

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.request import Tell

INSTRUCTIONS = manuals.INSTRUCTIONS

_FORMER_PREFIX = "cairn_"
_FORMER = {"fetch_page": "read", "fetchpage": "read"}
ALL, STAGES = "all", "stages"
"""Names that stand for several tools."""

_SAID_BY_OTHERS = frozenset({"answerPrompt", "bullets", "chunks"})
"""Of a discovery: `excerpts` and the bullets in `plan` hold it all, in 36,000 characters instead of 130,000."""

Given = Mapping[str, Any]
"""Arguments, as a client sends them."""


@frozen
class ToolAnswer:
    """An answer in one form: a client that got both would give a model everything twice."""

    texts: tuple[str, ...]
    """For a model to read; empty where the answer is structured."""
    data: dict[str, Any] | None
    """As the protocol has it, for programs; None unless it is structured."""


@frozen
class Tool:
    """One tool."""

    name: str
    title: str
    description: str
    input_schema: Schema
    example: str
    """Arguments, as JSON."""
    method: Method
    """What its structured answers are."""
    write: Callable[[Asked, Given], str]
    """The answer as text."""
    gather: Callable[[Asked, Given], Any]
    """The answer as an object of the protocol."""
    omitted: Set[str] = frozenset()
    """Fields of the method's answer that structured answers lack, because other parts say the same."""
    reports_state: bool = False
    """Whether what the index lacks is told beside the answer, which is JSON."""

    @property
    def streams(self) -> bool:
        """Whether it tells of each stage while it runs."""
        return self.method.streams

    @functools.cached_property
    def output_schema(self) -> Schema:
        """What a structured answer holds."""
        return answer_schema(self.method, self.omitted)

    def answer(
        self,
        engine: Engine,
        arguments: Mapping[str, Any],
        *,
        structured: bool = False,
        front: str,
        cancelled: Callable[[], bool] = lambda: False,
        tell: Tell | None = None,
    ) -> ToolAnswer:
        """The answer to these arguments, on a thread of the engine.

        Raises InvalidRequestError for arguments that it does not take, with what it takes and an example, QueryCancelledError
        soon after `cancelled()` turns true, and any other CairnError of the engine.
        """
        try:
            workspace = workspace_of(arguments)
            asked = Asked(engine.over(workspace) if workspace else engine, front, cancelled, tell)
            if structured:
                data = unstructure(self.gather(asked, arguments))
                kept = {name: value for name, value in data.items() if name not in self.omitted}
                return ToolAnswer((), kept)
            text = self.write(asked, arguments)
        except InvalidRequestError as problem:
            raise taught(problem, self.name, self.input_schema, arguments, self.example) from problem
        lacks = freshness(asked.engine) if self.reports_state else ""
        return ToolAnswer(tuple(filter(None, (text, lacks))), None)


def _tool(
    name: str,
    title: str,
    method: str,
    arguments: type[Any],
    write: Callable[[Asked, Any], str],
    gather: Callable[[Asked, Any], Any],
    omitted: Set[str] = frozenset(),
) -> Tool:
    manual = manuals.MANUALS[name]
    return Tool(
        name=name,
        title=title,
        description=manual.description,
        input_schema=manual.input_schema,
        example=json.dumps(manual.examples[0], ensure_ascii=False),
        method=METHODS[method],
        write=lambda asked, given: write(asked, arguments_of(given, arguments)),
        gather=lambda asked, given: gather(asked, arguments_of(given, arguments)),
        omitted=omitted,
    )


def _stage(name: str, method: Method) -> Tool:
    return Tool(
        name=name,
        title=method.summary,
        description=MANUALS[method.name],
        input_schema=params_schema(method),
        example='{"query": "how are berths assigned"}'
        if "query" in params_schema(method)["properties"]
        else "{}",
        method=method,
        write=functools.partial(stage, method),
        gather=functools.partial(stage_data, method),
        reports_state=True,
    )


STATUS = "status"
DEFAULT: tuple[str, ...] = ("search", "discover", "read", "references", STATUS)
"""The tools that a client is shown where nobody says otherwise."""
TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool("search", "Search the workspace", "search", SearchArguments, search, search_data),
        _tool(
            "discover",
            "Gather what answers a question",
            "discover",
            DiscoverArguments,
            discover,
            discover_data,
            _SAID_BY_OTHERS,
        ),
        _tool("read", "Read lines of a file", "fetchPage", ReadArguments, read, read_data),
        _tool(
            "references",
            "Find callers, callees and uses",
            "references",
            ReferencesArguments,
            references,
            references_data,
        ),
        _tool("status", "State of the index", "status", StatusArguments, status, status_data),
        _tool("related", "Find what is related", "related", RelatedArguments, related, related_data),
        *(_stage(name, method) for name, method in NAMES.items()),
    )
}
"""Every tool by name, the default ones first."""


def listed(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools that a client is shown, in the order of the table: those of these names, the usual ones without any.

    `all` and `stages` stand for several. Raises InvalidRequestError for a name that there is not.
    """
    wanted: set[str] = set()
    for name in names or DEFAULT:
        if name == ALL:
            wanted |= set(TOOLS)
        elif name == STAGES:
            wanted |= set(NAMES)
        else:
            wanted.add(tool_named(name, (ALL, STAGES)).name)
    return tuple(tool for name, tool in TOOLS.items() if name in wanted)


def tool_named(name: str, others: Sequence[str] = ()) -> Tool:
    """The tool of that name, or of a former one. Raises InvalidRequestError, with the nearest, where there is none.

    `others` are names beside the tools' own that may be meant.
    """
    bare = snake_case(name).removeprefix(_FORMER_PREFIX)
    tool = TOOLS.get(name) or TOOLS.get(_FORMER.get(bare, bare))
    if tool is not None:
        return tool
    match = nearest(bare, [*TOOLS, *_FORMER, *others])
    meant = _FORMER.get(match, match)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join([*TOOLS, *others])}"
    raise InvalidRequestError("", f"there is no tool {name[:100]!r}; {hint}")


__all__ = ["DEFAULT", "INSTRUCTIONS", "STATUS", "TOOLS", "Tool", "ToolAnswer", "listed", "tool_named"]
