"""`cairn/discover`; its single stages stand in `cairn.protocol.stages`."""

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
    """What evidence may be taken from."""

    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Where to look, as in the filter of `cairn/search`: folders (`net/ipv4`), files or globs. Give it wherever the question is about
    one part of the workspace: excerpts, bullets and chunks are all from there."""


@frozen
class DiscoverParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    include: tuple[str, ...] = ()
    """Globs of collections to use; all when empty."""
    exclude: tuple[str, ...] | None = None
    """Globs of collections to leave out; the configured default when absent."""
    max_bullets: int | None = field(default=None, metadata=within(0, 1_000))
    format: FormatStyle | None = None
    filter: DiscoverFilter = field(factory=DiscoverFilter)
    config: dict[str, Any] = field(factory=dict)
    """Any part of the `discovery` settings, laid over them for this request."""

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
    """What the prompt quotes, in its order: the most useful first."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)


@frozen
class DiscoverProgress:
    """What `$/progress` carries to the `partialResultToken` of `cairn/discover`, and REST's events to who asks for them, after each
    of its nine stages. An answer that was kept from before runs no stage, so nothing is told of it.

    A part of the answer that the stage did not change is absent; one that is there replaces the one before, whole.
    The answer itself is complete all the same, so that a client may ignore all of these.
    """

    stage: str
    """The stage that has ended, as `metrics.stages` names it."""
    metrics: DiscoveryMetrics
    """As far as they are known."""
    chunks: tuple[SearchResult, ...] | None = None
    bullets: tuple[Bullet, ...] | None = None
    plan: AnswerPlan | None = None
    excerpts: tuple[Excerpt, ...] | None = None
    answer_prompt: str | None = None
