"""`cairn/discover`; its single stages are in `cairn.protocol.stages`."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.evidence import AnswerPlan, Bullet, DiscoveryMetrics, Excerpt
from cairn.protocol.search import PLACES, AnsweredIn, IndexState, SearchResult, Verdict
from cairn.schema.bounds import NOT_BLANK, at_most, within
from cairn.settings.discovery import FormatStyle


@frozen
class DiscoverFilter:
    """The files that evidence may come from."""

    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Folders (`net/ipv4`), files or globs, as in the filter of `cairn/search`. All excerpts, bullets and
    chunks come from them. Give this if the question is about one part of the workspace."""


@frozen
class DiscoverParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    include: tuple[str, ...] = ()
    """Globs of the collections to search; if empty, all are searched."""
    exclude: tuple[str, ...] | None = None
    """Globs of the collections to leave out; if absent, the settings decide."""
    max_bullets: int | None = field(default=None, metadata=within(0, 1_000))
    format: FormatStyle | None = None
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)
    """Any part of the `discovery` settings, which replaces that part for this request."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; ask a question or name a symbol")


@frozen
class DiscoverAnswer:
    answer_prompt: str
    plan: AnswerPlan
    bullets: tuple[Bullet, ...]
    chunks: tuple[SearchResult, ...]
    verdict: Verdict
    metrics: DiscoveryMetrics
    index: IndexState
    excerpts: tuple[Excerpt, ...] = ()
    """The excerpts that the prompt quotes, the most useful first."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class DiscoverProgress:
    """A partial answer, sent after each of the nine stages of `cairn/discover`: over LSP as `$/progress` for
    the `partialResultToken`, over REST as a server-sent event. A cached answer has no progress.

    A part of the answer that the stage did not change is absent. A part that is present replaces the former
    one. The final answer is complete, so a client may ignore all partial ones.
    """

    stage: str
    """The name of the finished stage, as in `metrics.stages`."""
    metrics: DiscoveryMetrics
    """The metrics so far."""
    chunks: tuple[SearchResult, ...] | None = None
    bullets: tuple[Bullet, ...] | None = None
    plan: AnswerPlan | None = None
    excerpts: tuple[Excerpt, ...] | None = None
    answer_prompt: str | None = None
