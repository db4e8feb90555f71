"""Every method of the protocol, in one table: the params it takes, the answer it gives, and what the engine does.

LSP, REST, MCP and `cairn call` all read it, so the same request has the same answer through each of them. Nothing heavy is
imported before a method is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn import protocol
from cairn.errors import InvalidRequestError, QueryCancelledError

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.protocol import DiscoverProgress

Cancelled = Callable[[], bool]
Call = Callable[["Engine", Any, Cancelled], Any]
CLI, HTTP, LSP, MCP = "cli", "http", "lsp", "mcp"
"""The fronts, as the metrics name them."""


@frozen
class Method:
    """One method; LSP puts `cairn/` before its name."""

    name: str
    params: str
    """The class of its params, in `cairn.protocol`."""
    answer: str
    """The class of its answer; `[]` after it for a list of them."""
    summary: str
    """What it does, in a sentence without its full stop."""
    call: Call
    changes: bool = False
    """Whether it changes what later answers depend on."""

    def params_class(self) -> type[Any]:
        """The attrs class that its params are converted to."""
        return self._class(self.params)

    def answer_type(self) -> Any:
        """The attrs class of its answer, or `tuple[…, ...]` of one."""
        return tuple[self.answer_class(), ...] if self.answers_list else self.answer_class()  # type: ignore[misc]

    @property
    def answers_list(self) -> bool:
        """Whether it answers with a list of its answer's class."""
        return self.answer.endswith("[]")

    def answer_class(self) -> type[Any]:
        """The attrs class of its answer, or of each in it."""
        return self._class(self.answer.removesuffix("[]"))

    def _class(self, name: str) -> type[Any]:
        found: type[Any] = getattr(protocol, name)
        return found


def _stage(name: str, answer: str, summary: str) -> Method:
    return Method(
        name,
        name[0].upper() + name[1:] + "Params",
        answer,
        summary,
        lambda engine, params, cancelled: engine.stage(name, params, cancelled),
    )


STAGES: Mapping[str, Method] = {
    stage.name: stage
    for stage in (
        _stage("filterCollections", "CollectionsAnswer", "Choose the collections that a question is about"),
        _stage("scoreCollections", "CollectionsAnswer", "Rank collections by how well they fit a question"),
        _stage("expandQueries", "QueriesAnswer", "Make variations of a question"),
        _stage("broadDiscovery", "ChunksAnswer", "Search all collections with several queries"),
        _stage("semanticFocus", "ChunksAnswer", "Search one collection deeply"),
        _stage("promoteReadme", "ChunksAnswer", "Put READMEs first where the question asks what a thing is"),
        _stage("compressEvidence", "BulletsAnswer", "Pick the sentences that answer, each with its citation"),
        _stage("buildAnswerPlan", "PlanAnswer", "Arrange evidence in sections"),
        _stage("renderPrompt", "PromptAnswer", "Write the prompt for a language model"),
    )
}
"""The nine stages of discovery, by name and in the order in which they run."""

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "search",
            "SearchParams",
            "SearchAnswer",
            "Ranked passages for a question",
            lambda engine, params, cancelled: engine.search(params, cancelled),
        ),
        Method(
            "discover",
            "DiscoverParams",
            "DiscoverAnswer",
            "Cited evidence for a question, and a prompt that holds it",
            lambda engine, params, cancelled: engine.discover(params, cancelled),
        ),
        Method(
            "related",
            "RelatedParams",
            "RelatedAnswer",
            "What is related to a passage",
            lambda engine, params, cancelled: engine.related(params, cancelled),
        ),
        Method(
            "context",
            "ContextParams",
            "ContextAnswer",
            "What belongs to a place in a document, and a prompt made of it",
            lambda engine, params, cancelled: engine.context(params, cancelled),
        ),
        Method(
            "fetchPage",
            "FetchPageParams",
            "PageAnswer",
            "A whole indexed file",
            lambda engine, params, _: engine.fetch_page(params),
        ),
        Method(
            "collections",
            "NoParams",
            "CollectionInfo[]",
            "The collections that there are",
            lambda engine, _, __: engine.collections(),
        ),
        Method(
            "status",
            "NoParams",
            "StatusAnswer",
            "What the index holds, how far indexing is, and how questions are answered",
            lambda engine, _, __: engine.status(),
        ),
        Method(
            "reindex",
            "ReindexParams",
            "ReindexAnswer",
            "Index a file, a directory or everything anew",
            lambda engine, params, _: engine.reindex(params),
            changes=True,
        ),
        Method(
            "pause",
            "NoParams",
            "PausedAnswer",
            "Make no vectors until `resume`",
            lambda engine, _, __: engine.pause(),
            changes=True,
        ),
        Method(
            "resume",
            "NoParams",
            "PausedAnswer",
            "Go on after `pause`",
            lambda engine, _, __: engine.resume(),
            changes=True,
        ),
        Method(
            "setPhase",
            "SetPhaseParams",
            "PhaseState",
            "Set by hand how much takes part in answers, in all processes that have the workspace open",
            lambda engine, params, _: engine.set_phase(params),
            changes=True,
        ),
        Method(
            "feedback",
            "FeedbackParams",
            "FeedbackAnswer",
            "Tell which result was opened",
            lambda engine, params, _: engine.feedback(params),
            changes=True,
        ),
        Method(
            "resetFeedback",
            "ResetFeedbackParams",
            "ResetFeedbackAnswer",
            "Forget which results were opened",
            lambda engine, params, _: engine.reset_feedback(params),
            changes=True,
        ),
        *STAGES.values(),
    )
}
"""All of them, by name."""


def method_named(name: str) -> Method:
    """The method of that name, with or without `cairn/`. Raises InvalidRequestError where there is none."""
    method = METHODS.get(name.removeprefix("cairn/"))
    if method is None:
        raise InvalidRequestError("method", f"there is no {name!r}; the methods are {', '.join(METHODS)}")
    return method


def answer(
    engine: Engine,
    name: str,
    data: Any,
    cancelled: Cancelled = lambda: False,
    *,
    front: str = CLI,
    tell: Callable[[DiscoverProgress], None] | None = None,
) -> Any:
    """What the method answers to the JSON params `data`, as JSON data.

    `front` is who is counted as asking; `tell` hears of each stage of `discover` that has ended. Raises
    InvalidRequestError, naming the field, for params that the method does not take, and any other CairnError of the engine.
    """
    from cairn.schema.convert import structure, unstructure

    method = method_named(name)
    began = time.perf_counter()
    outcome, error = "error", ""
    try:
        params = structure(data, method.params_class())
        found = engine.discover(params, cancelled, tell) if tell else method.call(engine, params, cancelled)
        shown = unstructure(found)
        outcome = "ok"
        return shown
    except InvalidRequestError:
        outcome = "invalid"
        raise
    except QueryCancelledError:
        outcome = "cancelled"
        raise
    except Exception as problem:
        error = type(problem).__name__
        raise
    finally:
        engine.metrics.request(method.name, front, time.perf_counter() - began, outcome, error)
