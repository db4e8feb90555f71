"""`cairn/status`, `cairn/collections`, and what changes the state: `cairn.setPhase`, `cairn/reindex`,
`cairn/pause`, `cairn/resume`, `cairn/feedback` and `cairn.resetFeedback`."""

from __future__ import annotations

import enum
import re

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.schema.bounds import NOT_BLANK, at_most, within


@frozen
class NoParams:
    """The params of methods that have none."""


@frozen
class FileCounts:
    total: int
    indexed: int


@frozen
class ModelInfo:
    name: str
    dimension: int
    """The length of a vector; 0 for a user's own model whose description does not say it."""
    id: str
    packaged: bool = False
    """Whether this is the code model that comes with Cairn, and not a model of the user's own."""


@frozen
class CollectionInfo:
    name: str
    folder: str
    kind: str
    files: int
    chunks: int
    tags: tuple[str, ...]
    created_at: str
    updated_at: str


@frozen
class Latency:
    """Percentiles, in milliseconds, over the latest searches without cache hits; null before the first
    search."""

    p50: float | None
    p95: float | None
    cache_hits: int = 0
    """How many searches were answered from the cache since the start."""
    cache_misses: int = 0
    """How many searches were not answered from the cache since the start."""


@frozen
class PhaseState:
    """The state of the kill switch."""

    phase: int
    wanted: int
    """The phase that the settings or `cairn phase` ask for."""
    by_hand: bool
    automatic: bool
    reason: str
    """The reason of the last change; "" before the first."""
    since: str
    """The time of the last change, or of the start; UTC (ISO 8601)."""
    next_try_seconds: float | None
    """Seconds until the next higher phase is tried; 0 if the time has come but searches are still too slow;
    null if there is no higher phase to try."""
    p95_ms: float | None
    """The 95th percentile of the processor time of this phase's searches in the window, in milliseconds; null
    before the first."""
    error_rate: float
    """The share of this phase's searches in the window that failed, from 0 to 1."""
    fallback_rate: float
    """The share of this phase's searches in the window that a lower phase answered because this one failed,
    from 0 to 1."""
    queries: int
    """The number of this phase's searches in the window."""


@frozen
class LoggedPhaseChange:
    """A change of phase in one process of the workspace."""

    at: str
    before: int
    after: int
    reason: str
    next_try_seconds: float | None
    """Seconds from now until the next higher phase is tried; 0 if that has passed; null if none will be
    tried."""
    pid: int
    alive: bool
    """Whether the process is still running. If so, its latest change shows its current phase."""


@frozen
class RecentQueries:
    """Figures of the latest logged queries of all processes. A share is null if there is nothing to count."""

    queries: int
    since: str
    """The time of the first of the counted queries; "" if there are none."""
    p50_ms: float | None
    """The median latency, without cache hits and failures."""
    p95_ms: float | None
    cached_share: float | None
    """The share of cache hits among the queries that did not fail."""
    error_share: float | None
    no_match_share: float | None
    """The share of queries without a match, among those that got a verdict."""
    clarify_share: float | None
    """The share of queries that were answered with a clarifying question, among those that got a verdict."""
    keyword_match_share: float | None
    """The share of queries with a result that contains a query term, among those that got a verdict."""
    below_wanted_share: float | None
    """The share of queries answered in a lower phase than wanted, or by a fallback."""
    phase_changes: tuple[LoggedPhaseChange, ...]
    """The changes of phase, the latest first."""


@frozen
class RetrievalStatus:
    """How queries are answered."""

    state: PhaseState
    """The state in this process."""
    recent: RecentQueries
    """Figures of all processes that have the workspace open. If there are several folders, those of the first
    one."""


@frozen
class ExcludedFiles:
    count: int = 0
    examples: tuple[str, ...] = ()
    """The first paths, relative to their workspace folders."""


@frozen
class StatusAnswer:
    state: str
    """`starting`, `indexing`, `ready` (all files are indexed and embedded by `model`, and history and imports
    are read), `degraded` (all files are indexed, but without vectors, or the index cannot be written) or
    `disabled`."""
    searchable: bool
    generation: int
    phase: int
    """The phase of indexing: 3 with vectors, 2 with keywords only."""
    files: FileCounts
    chunks: int
    embedded: int
    """How many chunks have a vector of `model`."""
    queued: int
    """How many chunks wait for a vector."""
    model: ModelInfo | None
    """The user's own model or, if there is none, the code model that comes with Cairn. It is null if
    embedding is switched off, or if neither can be used."""
    collections: tuple[CollectionInfo, ...]
    last_error: str | None
    latency: Latency
    memory: int
    """The resident memory of this process in bytes."""
    warnings: tuple[str, ...] = ()
    skipped: dict[str, int] = field(factory=dict)
    """How many files and directories the last scan of this process skipped, by rule."""
    activity: str = "idle"
    """The current step of indexing: `checking`, `scanning`, `reading`, `static`, `history`, `counting`,
    `embedding`, `tidying`, `idle` or `paused`."""
    static_embedded: int = 0
    """The same as `embedded`."""
    paused: bool = False
    texts_per_second: float = 0.0
    """How many texts were embedded in a second recently."""
    seconds_left: float | None = None
    """The estimated time until all vectors are made; null if unknown."""
    retrieval: RetrievalStatus | None = None
    remaining: tuple[str, ...] = ()
    """The unfinished parts: `files`, `vectors`, `history` and `imports`; empty if `state` is `ready`."""
    named_as_text: ExcludedFiles = ExcludedFiles()
    """The files that are named like code, prose or configuration, but whose content is binary."""


@frozen
class SetPhaseParams:
    phase: int | None = field(default=None, metadata=within(0, 3))
    """The phase; 0 switches retrieval off, and null returns control to the settings and the kill switch."""


@frozen
class ReindexParams:
    path: str | None = None
    """A file or folder, relative to its workspace folder; if absent, everything is indexed again."""
    folder: str = ""
    """The URI of the workspace folder; if absent, all folders."""


@frozen
class ReindexAnswer:
    scheduled: bool


@frozen
class PausedAnswer:
    """The result of `cairn/pause` and `cairn/resume`."""

    paused: bool


_HASH = re.compile(r"^[0-9a-f]{32}$")


class FeedbackAction(enum.StrEnum):
    """What a user did with a result."""

    OPEN = "open"
    COPY = "copy"
    HELPFUL = "helpful"
    NOT_HELPFUL = "notHelpful"


@frozen
class FeedbackParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    """The query of the result. Only the stems of its words are stored."""
    content_hash: str = field(metadata=at_most(pattern=_HASH.pattern))
    """The content hash of the result."""
    action: FeedbackAction
    path: str = ""
    """The path of the result, which distinguishes it from copies."""
    folder: str = ""
    """The URI of the result's workspace folder."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; give the question that the result answered")
        if not _HASH.fullmatch(self.content_hash):
            raise InvalidRequestError(
                "contentHash",
                f"{self.content_hash!r} is not a content hash; give the `contentHash` of a result",
            )


@frozen
class FeedbackAnswer:
    kept: bool
    """Whether the feedback was stored; false if the settings switch feedback off."""


@frozen
class ResetFeedbackParams:
    folder: str = ""
    """The URI of the workspace folder; if absent, all folders."""


@frozen
class ResetFeedbackAnswer:
    forgotten: int
    """How many stored choices were deleted."""
