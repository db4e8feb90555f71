"""Every method of the protocol, in one table: its params, its answer, and the function of the engine that handles it.

LSP, REST, MCP and `cairn call` all read it, so the same request has the same answer through each of them. A method is one
module of `cairn.engine`, imported with its first request, and classes for its params and answer in `cairn.protocol`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from attrs import frozen

from cairn import protocol
from cairn.errors import InvalidRequestError

CLI, HTTP, LSP, MCP, WEB = "cli", "http", "lsp", "mcp", "web"
"""The fronts, as the metrics name them."""


class Asks(IntEnum):
    """What a method needs of the indexes; each also needs what stands before it."""

    NOTHING = 0
    INDEX = 1
    """What was saved before is indexed, and background indexing steps aside meanwhile."""
    RETRIEVAL = 2
    """Retrieval is on, and the handler gets the settings of the phase, as an `OpenWorkspace`."""
    ANSWER = 3
    """There is always an answer: lower phases are tried, and the module's `stand_in` makes one where all fail."""


@frozen
class Method:
    """One method; LSP puts `cairn/` before its name."""

    name: str
    handler: str
    """`module.function` in `cairn.engine`: from a `Request` and the params to the answer."""
    params: str
    """The class of its params, in `cairn.protocol`."""
    answer: str
    """The class of its answer; `[]` after it for a list of them."""
    summary: str
    """What it does, in a sentence without its full stop."""
    asks: Asks = Asks.NOTHING
    changes: bool = False
    """Whether it changes what later answers depend on."""
    streams: bool = False
    """Whether it tells what it knows while it runs."""

    def handle(self) -> Callable[[Any, Any], Any]:
        """The handler, imported."""
        return _of_engine(self.handler)

    def stand_in(self) -> Callable[[Any, Any, str], Any]:
        """What answers in its place where every phase failed: the module's `stand_in`, imported."""
        return _of_engine(f"{self.handler.partition('.')[0]}.stand_in")

    def params_class(self) -> type[Any]:
        """The attrs class that its params are converted to."""
        found: type[Any] = getattr(protocol, self.params)
        return found

    def answer_type(self) -> Any:
        """The attrs class of its answer, or `tuple[…, ...]` of one."""
        found = getattr(protocol, self.answer.removesuffix("[]"))
        return tuple[found, ...] if self.answer.endswith("[]") else found  # type: ignore[valid-type]


def _of_engine(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"cairn.engine.{module}"), function)
    return found


def _stage(name: str, handler: str, answer: str, summary: str) -> Method:
    params = name[0].upper() + name[1:] + "Params"
    return Method(name, f"stages.{handler}", params, answer, summary, Asks.RETRIEVAL)


# One line each, as in a table.
# fmt: off
_STAGES = (
    _stage("filterCollections", "filter_", "CollectionsAnswer", "Choose the collections that a question is about"),
    _stage("scoreCollections", "score", "CollectionsAnswer", "Rank collections by how well they fit a question"),
    _stage("expandQueries", "expand", "QueriesAnswer", "Make variations of a question"),
    _stage("broadDiscovery", "search_broadly", "ChunksAnswer", "Search all collections with several queries"),
    _stage("semanticFocus", "focus", "ChunksAnswer", "Search one collection deeply"),
    _stage("promoteReadme", "promote", "ChunksAnswer", "Put READMEs first where the question asks what a thing is"),
    _stage("compressEvidence", "compress", "BulletsAnswer", "Pick the sentences that answer, each with its citation"),
    _stage("buildAnswerPlan", "plan", "PlanAnswer", "Arrange evidence in sections"),
    _stage("renderPrompt", "render", "PromptAnswer", "Write the prompt for a language model"),
)
_METHODS = (
    Method("search", "search.search", "SearchParams", "SearchAnswer",
           "Ranked passages for a question", Asks.ANSWER),
    Method("discover", "discover.discover", "DiscoverParams", "DiscoverAnswer",
           "Cited evidence for a question, and a prompt that holds it", Asks.ANSWER, streams=True),
    Method("related", "related.related", "RelatedParams", "RelatedAnswer",
           "What is related to a passage", Asks.RETRIEVAL),
    Method("references", "references.references", "ReferencesParams", "ReferencesAnswer",
           "Who calls or uses a definition, and what it calls", Asks.INDEX),
    Method("context", "context.context", "ContextParams", "ContextAnswer",
           "What belongs to a place in a document, and a prompt made of it", Asks.RETRIEVAL),
    Method("fetchPage", "page.fetch_page", "FetchPageParams", "PageAnswer",
           "A whole indexed file", Asks.INDEX),
    Method("collections", "status.collections", "NoParams", "CollectionInfo[]",
           "The collections that there are", Asks.INDEX),
    Method("status", "status.status", "NoParams", "StatusAnswer",
           "What the index holds, how far indexing is, and how questions are answered"),
    Method("reindex", "indexing.reindex", "ReindexParams", "ReindexAnswer",
           "Index a file, a directory or everything anew", changes=True),
    Method("pause", "indexing.pause", "NoParams", "PausedAnswer",
           "Make no vectors until `resume`", changes=True),
    Method("resume", "indexing.resume", "NoParams", "PausedAnswer",
           "Go on after `pause`", changes=True),
    Method("setPhase", "fallback.set_phase", "SetPhaseParams", "PhaseState",
           "Set by hand how much takes part in answers, in all processes that have the workspace open", changes=True),
    Method("feedback", "feedback.take_feedback", "FeedbackParams", "FeedbackAnswer",
           "Tell which result was opened", changes=True),
    Method("resetFeedback", "feedback.reset_feedback", "ResetFeedbackParams", "ResetFeedbackAnswer",
           "Forget which results were opened", changes=True),
    *_STAGES,
)
# fmt: on

STAGES: Mapping[str, Method] = {stage.name: stage for stage in _STAGES}
"""The nine stages of discovery, by name and in the order in which they run."""
METHODS: Mapping[str, Method] = {method.name: method for method in _METHODS}
"""All of them, by name."""
SYMBOLS = Method(
    "workspace/symbol", "symbols.symbols", "SymbolParams", "Symbol[]", "Definitions by name", Asks.INDEX
)
"""LSP's own, which no other front has."""


def method_named(name: str) -> Method:
    """The method of that name, with or without `cairn/`. Raises InvalidRequestError where there is none."""
    method = METHODS.get(name.removeprefix("cairn/")) or (SYMBOLS if name == SYMBOLS.name else None)
    if method is None:
        raise InvalidRequestError("method", f"there is no {name!r}; the methods are {', '.join(METHODS)}")
    return method
