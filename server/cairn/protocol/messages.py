"""Params and results of every `cairn/*` method: the one schema for LSP, REST and MCP.

Those of the single stages of discovery stand in `cairn.protocol.stages`, which is loaded when one is asked for.

Lines are LSP ranges (0-based, end exclusive); paths are relative to their workspace folder, with `/`.
`cairn.schema.convert` turns these classes into camelCase JSON and back.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import field, frozen

from cairn.chunking.model import ChunkType
from cairn.errors import InvalidRequestError
from cairn.protocol.evidence import AnswerPlan, Bullet, DiscoveryMetrics
from cairn.protocol.places import Position, Range
from cairn.retrieval.learned import FeedbackAction
from cairn.schema.bounds import at_most, check_bounds, within
from cairn.settings.tree import FormatStyle

MAX_LIMIT = 200
_HASH = re.compile(r"^[0-9a-f]{32}$")
_NOT_BLANK = r"\S"
_LIMIT = within(1, MAX_LIMIT)
_AROUND = within(0, 10)


# --- cairn/search -------------------------------------------------------------------------------


@frozen
class SearchFilter:
    """Strict: a result satisfies every field that is given. Several values mean any of them."""

    type: tuple[ChunkType, ...] = ()
    language: tuple[str, ...] = ()
    """By name or by a usual short one: `typescript`, `ts`."""
    path: tuple[str, ...] = ()
    """Gitignore-style globs, relative to the workspace folder."""
    collection: tuple[str, ...] = ()


@frozen
class SearchParams:
    query: str
    limit: int = field(default=10, metadata=_LIMIT)
    alpha: float | None = field(default=None, metadata=within(0, 1))
    """0 keywords only … 1 vectors only; by the query's type when absent."""
    filter: SearchFilter = field(factory=SearchFilter)
    context: int = field(default=1, metadata=_AROUND)
    """Chunks shown before and after each result."""
    explain: bool = False
    case_sensitive: bool = False
    """Whether text in double quotes is found only in the same case. With this or `whole_word`, a query without quotes
    is such text as a whole."""
    whole_word: bool = False
    """Whether text in double quotes is found only where it is no part of a longer word."""

    def __attrs_post_init__(self) -> None:
        check_bounds(self)


@frozen
class Context:
    before: str = ""
    after: str = ""


@frozen
class SearchResult:
    path: str
    folder: str
    """URI of the workspace folder."""
    uri: str
    range: Range
    selection_range: Range
    """The line to go to, as in LSP's symbols: the one that names `symbol`, or else the first."""
    collection: str
    title: str
    header_path: str
    symbol: str
    symbol_kind: str
    """`function`, `class`, `method`, …; "" for none."""
    type: ChunkType
    language: str
    score: float
    """0 to 1, comparable within one answer."""
    source: str
    """`exact`, `keyword`, `embedding` or `hybrid`: the legs that found it."""
    matched_terms: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why it stands where it does: the ranking signals that speak for it, the strongest first, three at most."""
    snippet: str
    context: Context
    content_hash: str
    match_explain: tuple[str, ...] | None = None
    """One line a signal, strongest first; only when asked for."""


@frozen
class Candidate:
    """What a clarifying question offers."""

    title: str
    category: str
    path: str


@frozen
class Verdict:
    action: str
    """`answer`, `clarify` or `noMatch`."""
    message: str
    candidates: tuple[Candidate, ...]
    confidence: float
    """By what share of its score the first result leads the mean of the next three, 0 to 1."""
    matched_terms: tuple[str, ...]
    coverage: float = 0.0
    """How much of the question some result holds, 0 to 1, rare terms counting more."""


@frozen
class QueryInfo:
    """How the query was understood."""

    normalized: str
    terms: tuple[str, ...]
    type: str
    alpha: float
    corrections: tuple[str, ...] = ()


@frozen
class IndexState:
    generation: int
    complete: bool
    """Whether every present file was indexed and embedded when the answer was made."""


@frozen
class AnsweredIn:
    """The phase (S2) in which an answer was made."""

    phase: int = 3
    """3 with vectors, 2 by keywords alone, 1 by names and keywords and nothing else, 0 where retrieval is off."""
    wanted: int = 3
    """The phase that the settings, or somebody by hand, ask for; 2 at most where no model can be used."""
    fallback: str = ""
    """What stood in for the phase that it was asked in: `keywords` or `names` where more failed, `cache` for an answer that was
    kept from before, `generic` for a message alone; "" for nothing."""
    reason: str = ""
    """Why the phase is lower than wanted, or something stood in."""


@frozen
class SearchAnswer:
    results: tuple[SearchResult, ...]
    verdict: Verdict
    query: QueryInfo
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step; `cached` is 1 where the answer was there already."""
    broken_off: tuple[str, ...] = ()
    """Steps whose time was over before they had looked everywhere; what they found until then counts."""
    retrieval: AnsweredIn = AnsweredIn()


# --- cairn/feedback, cairn.resetFeedback -----------------------------------------------------------


@frozen
class FeedbackParams:
    query: str = field(metadata=at_most(pattern=_NOT_BLANK))
    """What was asked; of it only the stems of its words are kept."""
    content_hash: str = field(metadata=at_most(pattern=_HASH.pattern))
    """Of the result."""
    action: FeedbackAction
    path: str = ""
    """The result's, to tell it apart from copies."""
    folder: str = ""
    """URI of the result's workspace folder."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; give the question that the result answered")
        if not _HASH.fullmatch(self.content_hash):
            raise InvalidRequestError(
                "contentHash", f"{self.content_hash!r} is none; give a result's `contentHash` as it is"
            )


@frozen
class FeedbackAnswer:
    kept: bool
    """False where the settings say that nothing is to be learned."""


@frozen
class ResetFeedbackParams:
    folder: str = ""
    """URI of the workspace folder; all when absent."""


@frozen
class ResetFeedbackAnswer:
    forgotten: int
    """Choices that there were."""


# --- cairn/related, workspace/symbol ---------------------------------------------------------------


@frozen
class TextDocument:
    uri: str


@frozen
class RelatedParams:
    text_document: TextDocument
    range: Range
    """The passage; an empty one is the line it is in."""
    limit: int = field(default=10, metadata=_LIMIT)
    context: int = field(default=1, metadata=_AROUND)
    """Chunks shown before and after each result."""

    def __attrs_post_init__(self) -> None:
        check_bounds(self)
        _check_range("range", self.range)


@frozen
class RelatedAnswer:
    results: tuple[SearchResult, ...]
    """`matchExplain` names how each is related; `source` may be `relation`: by its file alone."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
    retrieval: AnsweredIn = AnsweredIn()


@frozen
class Symbol:
    """A definition, for LSP's `workspace/symbol`."""

    name: str
    kind: str
    """`function`, `class`, `method`, …; "" where it is not known."""
    container: str
    uri: str
    range: Range


# --- cairn/context --------------------------------------------------------------------------------


@frozen
class Diagnostic:
    """One of LSP's."""

    range: Range
    message: str
    severity: int | None = field(default=None, metadata=within(1, 4))
    """1 error, 2 warning, 3 information, 4 hint; an error when absent."""
    source: str | None = None
    code: Any = None
    """A string or a whole number."""

    def __attrs_post_init__(self) -> None:
        _check_range("range", self.range)
        check_bounds(self)
        if not isinstance(self.code, str | int | None) or isinstance(self.code, bool):
            raise InvalidRequestError("code", f"expected a string or a whole number, got {self.code!r}")


@frozen
class ContextParams:
    """The place is either a position or a range."""

    text_document: TextDocument
    position: Position | None = None
    range: Range | None = None
    """What is selected; an empty one is a position."""
    budget: int | None = field(default=None, metadata=within(0, 100_000))
    """Tokens of the whole context; those of the settings when absent."""
    limit: int = field(default=10, metadata=_LIMIT)
    """Passages."""
    query: str = ""
    """What is asked about the place; passages that it finds come first."""
    text: str | None = None
    """What the document holds, for one that is not indexed; documents that are open here need none."""
    open_documents: tuple[str, ...] | None = None
    """URIs, the one used last first; the open ones that the server knows of when absent."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Of the document."""
    recent_queries: tuple[str, ...] | None = None
    """The latest first; the last five that were answered here when absent."""

    def __attrs_post_init__(self) -> None:
        if (self.position is None) == (self.range is None):
            raise InvalidRequestError("position", "give either a position or a range")
        if self.position is not None:
            _check_range("position", Range(self.position, self.position))
        if self.range is not None:
            _check_range("range", self.range)
        check_bounds(self)


@frozen
class ContextPassage:
    group: str
    """`code`, `documents` or `readme`."""
    reasons: tuple[str, ...]
    """Why it is there, the strongest first; `matchExplain` has the figures."""
    result: SearchResult


@frozen
class ContextPlace:
    """The passage that an answer is about: it stays the same while the cursor is in its range."""

    path: str
    uri: str
    range: Range
    title: str
    header_path: str
    symbol: str


@frozen
class ContextPart:
    name: str
    """`coreConcepts`, `passages`, `editorState`, `diagnostics` or `recentQueries`."""
    budget: int
    tokens: int


@frozen
class DroppedItem:
    """What the context leaves out, as a whole or some lines of it."""

    part: str
    title: str
    citation: str
    tokens: int
    score: float
    why: str


@frozen
class ContextAnswer:
    passages: tuple[ContextPassage, ...]
    """Best first."""
    context: str
    """Markdown; citations are `path#L10-L14`, 1-based and inclusive."""
    parts: tuple[ContextPart, ...]
    dropped: tuple[DroppedItem, ...]
    tokens: int
    """Of `context`."""
    budget: int
    place: ContextPlace
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step; `cached` is 1 where the passages were there already."""
    retrieval: AnsweredIn = AnsweredIn()


# --- cairn/discover -----------------------------------------------------------------------------


@frozen
class DiscoverParams:
    query: str
    include: tuple[str, ...] = ()
    """Globs of collections to use; all when empty."""
    exclude: tuple[str, ...] | None = None
    """Globs of collections to leave out; the configured default when absent."""
    max_bullets: int | None = field(default=None, metadata=within(0, 1_000))
    format: FormatStyle | None = None
    config: dict[str, Any] = field(factory=dict)
    """Any part of the `discovery` settings, laid over them for this request."""

    def __attrs_post_init__(self) -> None:
        check_bounds(self)


@frozen
class DiscoverAnswer:
    answer_prompt: str
    plan: AnswerPlan
    bullets: tuple[Bullet, ...]
    chunks: tuple[SearchResult, ...]
    verdict: Verdict
    metrics: DiscoveryMetrics
    index: IndexState
    retrieval: AnsweredIn = AnsweredIn()


@frozen
class DiscoverProgress:
    """What `$/progress` carries to the `partialResultToken` of `cairn/discover`, after each of its nine stages.

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
    answer_prompt: str | None = None


# --- cairn/status, cairn/collections, cairn/fetchPage, cairn/reindex -------------------------------


@frozen
class NoParams:
    """For methods that take none."""


@frozen
class FileCounts:
    total: int
    indexed: int


@frozen
class ModelInfo:
    name: str
    dimension: int
    id: str
    packaged: bool = False
    """Whether it is the code model that comes with Cairn; `cairn model install` adds a larger one, slower to index."""


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
    """Milliseconds over the latest searches that were not answered from the cache; null before the first."""

    p50: float | None
    p95: float | None
    cache_hits: int = 0
    """Searches whose answer was there already, since the start…"""
    cache_misses: int = 0
    """…and those whose answer had to be made."""


@frozen
class PhaseState:
    """How the switch stands, for the status."""

    phase: int
    wanted: int
    """What the settings, or somebody by hand, ask for."""
    by_hand: bool
    automatic: bool
    reason: str
    """Of the last change; "" before the first."""
    since: str
    """When that was, or the start; UTC (ISO 8601)."""
    next_try_seconds: float | None
    """Until the next higher phase may be tried; 0 where it waits for searches to become faster; None if none is to be."""
    p95_ms: float | None
    """Of the searches counted: those of this phase, since it began and within the window; None before the first."""
    error_rate: float
    """Their share that failed, 0 to 1…"""
    fallback_rate: float
    """…and that less than this phase answered, because something of it failed."""
    queries: int
    """How many they are."""


@frozen
class LoggedPhaseChange:
    """A step of the phase in some process of the workspace."""

    at: str
    before: int
    after: int
    reason: str
    next_try_seconds: float | None
    """From now until the next higher phase is tried, 0 if that is over; None where none is to be tried."""
    pid: int
    alive: bool
    """Whether that process runs still. Of one that does, the latest change tells its phase."""


@frozen
class RecentQueries:
    """What the latest logged questions were like, in all processes. A share of nothing is None."""

    queries: int
    since: str
    """When the first of them was asked; "" without any."""
    p50_ms: float | None
    """Of those that were not answered from the cache, and did not fail."""
    p95_ms: float | None
    cached_share: float | None
    """Of those that did not fail."""
    error_share: float | None
    no_match_share: float | None
    """Of those that were judged: answered with "Which part should I explain?", S2's fallback rate."""
    clarify_share: float | None
    """…and with another question back."""
    keyword_match_share: float | None
    """…and in which some result has one of the question's terms, S2's keyword match rate."""
    below_wanted_share: float | None
    """Of all: answered in a lower phase than was asked for, or with something that stood in for it."""
    phase_changes: tuple[LoggedPhaseChange, ...]
    """The latest first."""


@frozen
class RetrievalStatus:
    """How questions are answered."""

    state: PhaseState
    """In this process."""
    recent: RecentQueries
    """In all processes that have the workspace open; of several folders, the first one's."""


@frozen
class StatusAnswer:
    state: str
    """`starting`, `indexing`, `ready` (every present file is indexed and embedded by `model`), `degraded` (nothing
    more to do, but no vectors; or the index cannot be written) or `disabled`."""
    searchable: bool
    generation: int
    phase: int
    """3 with vectors, 2 on keywords alone (S2)."""
    files: FileCounts
    chunks: int
    embedded: int
    """Chunks with a vector of `model`."""
    queued: int
    """Chunks that wait for one."""
    model: ModelInfo | None
    """The installed model, else the code model that comes with Cairn; null where embedding is switched off, or neither
    can be used."""
    collections: tuple[CollectionInfo, ...]
    last_error: str | None
    latency: Latency
    memory: int
    """Resident bytes of this process."""
    warnings: tuple[str, ...] = ()
    skipped: dict[str, int] = field(factory=dict)
    """Files and directories that the last scan of this process left out, by rule."""
    activity: str = "idle"
    """What indexing does now: `checking`, `scanning`, `reading`, `static`, `history`, `embedding`, `tidying`,
    `idle` or `paused`."""
    static_embedded: int = 0
    """Chunks with a static vector, by the code model that comes with Cairn; these come within seconds."""
    paused: bool = False
    texts_per_second: float = 0.0
    """Texts embedded, as of late."""
    seconds_left: float | None = None
    """Until all vectors are made; null while nobody can tell."""
    retrieval: RetrievalStatus | None = None


@frozen
class SetPhaseParams:
    phase: int | None = field(default=None, metadata=within(0, 3))
    """0 switches retrieval off; null leaves it to the settings and the kill switch again."""

    def __attrs_post_init__(self) -> None:
        check_bounds(self)


@frozen
class FetchPageParams:
    path: str
    folder: str = ""
    """URI of the workspace folder; needed only where two folders hold the path."""


@frozen
class PageChunk:
    range: Range
    title: str
    type: ChunkType
    symbol: str


@frozen
class PageAnswer:
    text: str
    language: str
    chunks: tuple[PageChunk, ...]


@frozen
class ReindexParams:
    path: str | None = None
    """A file or folder relative to its workspace folder; everything when absent."""
    folder: str = ""
    """URI of the workspace folder; all when absent."""


@frozen
class ReindexAnswer:
    scheduled: bool


@frozen
class PausedAnswer:
    """To `cairn/pause` and `cairn/resume`."""

    paused: bool


def _check_range(name: str, given: Range) -> None:
    start, end = given.start, given.end
    if min(start.line, start.character, end.line, end.character) < 0:
        raise InvalidRequestError(name, "lines and characters are counted from 0")
    if (start.line, start.character) > (end.line, end.character):
        raise InvalidRequestError(name, "ends before it starts")
