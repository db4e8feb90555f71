"""The table of the protocol's methods: params, answer, and the engine function that handles each.

LSP, REST, MCP and `cairn call` all use this table, so a request has the same answer through each of them. A
method's module is imported with its first request. Each handler may raise QueryCancelledError soon after the
request was cancelled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from attrs import frozen

from cairn import protocol
from cairn.errors import InvalidRequestError

Tell = Callable[["protocol.DiscoverProgress"], None]
"""Gets each stage of a method that streams, on the thread of the request."""

CLI, HTTP, LSP, MCP, WEB = "cli", "http", "lsp", "mcp", "web"
"""The names of the fronts in the metrics."""


class Needs(IntEnum):
    """What a method needs from the indexes. Each value includes those before it."""

    NOTHING = 0
    INDEX = 1
    """The method waits until earlier saves are indexed, and background indexing waits for the method."""
    RETRIEVAL = 2
    """Retrieval must be on. The handler gets a `Request` with the settings of the phase."""
    ANSWER = 3
    """The method always answers. Lower phases are tried, and then the module's `fallback_answer`."""


@frozen
class Method:
    """One method. Its name in LSP begins with `cairn/`."""

    name: str
    handler: str
    """The `module.function` in `cairn.engine` that takes a `Request` and the params."""
    params: str
    """The name of the params class in `cairn.protocol`."""
    answer: str
    """The name of the answer class in `cairn.protocol`, with `[]` after it for a list."""
    summary: str
    """A sentence that describes the method, without its full stop."""
    needs: Needs = Needs.NOTHING
    changes: bool = False
    """Whether the method changes state on which later answers depend."""
    streams: bool = False
    """Whether the method reports partial results while it runs."""

    def handle(self) -> Callable[[Any, Any], Any]:
        """Return the handler after importing its module."""
        return _import(self.handler)

    def fallback_answer(self) -> Callable[[Any, Any, str], Any]:
        """Return the function that answers if every phase failed, after importing its module."""
        return _import(f"{self.handler.partition('.')[0]}.fallback_answer")

    def params_class(self) -> type[Any]:
        found: type[Any] = getattr(protocol, self.params)
        return found

    def answer_type(self) -> Any:
        """Return the attrs class of the answer, or `tuple[…, ...]` of it."""
        found = getattr(protocol, self.answer.removesuffix("[]"))
        return tuple[found, ...] if self.answer.endswith("[]") else found  # type: ignore[valid-type]


def _import(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"cairn.engine.{module}"), function)
    return found


def _stage(name: str, handler: str, answer: str, summary: str) -> Method:
    params = name[0].upper() + name[1:] + "Params"
    return Method(name, f"stages.{handler}", params, f"{answer}Answer", summary, Needs.RETRIEVAL)


# Each method is one line, as in a table.
# fmt: off
_STAGES = (
    _stage("filterCollections", "filter_", "Collections", "Choose the collections that a question is about"),
    _stage("scoreCollections", "score", "Collections", "Rank collections by how well they fit a question"),
    _stage("expandQueries", "expand", "Queries", "Make variations of a question"),
    _stage("broadDiscovery", "search_broadly", "Chunks", "Search all collections with several queries"),
    _stage("semanticFocus", "focus", "Chunks", "Search one collection deeply"),
    _stage("promoteReadme", "promote", "Chunks", "Put READMEs first where the question asks what a thing is"),
    _stage("compressEvidence", "compress", "Bullets",
           "Pick the sentences that answer the question, each with its citation"),
    _stage("buildAnswerPlan", "plan", "Plan", "Arrange evidence in sections"),
    _stage("renderPrompt", "render", "Prompt", "Write the prompt for a language model"),
)
_METHODS = (
    Method("search", "search.search", "SearchParams", "SearchAnswer",
           "Find ranked passages for a question", Needs.ANSWER),
    Method("discover", "discover.discover", "DiscoverParams", "DiscoverAnswer",
           "Find cited evidence for a question, with a prompt that contains it", Needs.ANSWER, streams=True),
    Method("related", "related.related", "RelatedParams", "RelatedAnswer",
           "Find the passages that are related to a given one", Needs.RETRIEVAL),
    Method("references", "references.references", "ReferencesParams", "ReferencesAnswer",
           "Find who calls or uses a definition, and what it calls", Needs.INDEX),
    Method("change", "change.change", "ChangeParams", "ChangeAnswer",
           "Say what a change touches: definitions, their users, tests, and what usually changes with it",
           Needs.INDEX),
    Method("context", "context.context", "ContextParams", "ContextAnswer",
           "Collect the context of a place in a document, with a prompt that contains it", Needs.RETRIEVAL),
    Method("fetchPage", "page.fetch_page", "FetchPageParams", "PageAnswer",
           "Return a whole indexed file", Needs.INDEX),
    Method("collections", "status.collections", "NoParams", "CollectionInfo[]",
           "List the collections", Needs.INDEX),
    Method("status", "status.status", "NoParams", "StatusAnswer",
           "Report what is indexed, how far indexing is, and how questions are answered"),
    Method("reindex", "changes.reindex", "ReindexParams", "ReindexAnswer",
           "Index a file, a directory or everything again", changes=True),
    Method("pause", "changes.pause", "NoParams", "PausedAnswer",
           "Stop making vectors until `resume`", changes=True),
    Method("resume", "changes.resume", "NoParams", "PausedAnswer",
           "Continue after `pause`", changes=True),
    Method("setPhase", "changes.set_phase", "SetPhaseParams", "PhaseState",
           "Set the phase of retrieval by hand, in all processes that have the workspace open",
           changes=True),
    Method("feedback", "changes.take_feedback", "FeedbackParams", "FeedbackAnswer",
           "Report that a result was opened, copied or rated", changes=True),
    Method("resetFeedback", "changes.reset_feedback", "ResetFeedbackParams", "ResetFeedbackAnswer",
           "Delete all recorded feedback", changes=True),
    *_STAGES,
)
# fmt: on

STAGES: Mapping[str, Method] = {stage.name: stage for stage in _STAGES}
"""The nine stages of discovery by name, in the order in which they run."""
METHODS: Mapping[str, Method] = {method.name: method for method in _METHODS}
SYMBOLS = Method(
    "workspace/symbol", "symbols.symbols", "SymbolParams", "Symbol[]", "Find definitions by name", Needs.INDEX
)
"""The LSP method for workspace symbols, which no other front has."""


def method_named(name: str) -> Method:
    """Return the method, with or without `cairn/`. Raise InvalidRequestError for an unknown name."""
    method = METHODS.get(name.removeprefix("cairn/")) or (SYMBOLS if name == SYMBOLS.name else None)
    if method is None:
        raise InvalidRequestError("method", f"there is no {name!r}; the methods are {', '.join(METHODS)}")
    return method
