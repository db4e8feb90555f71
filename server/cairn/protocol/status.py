"""`cairn/status`, `cairn/collections` and `cairn.setPhase`."""

from __future__ import annotations

from attrs import field, frozen

from cairn.schema.bounds import within


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
    """`starting`, `indexing`, `ready` (every present file is indexed and embedded by `model`, and history and imports are
    counted), `degraded` (nothing more to do, but no vectors; or the index cannot be written) or `disabled`."""
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
    remaining: tuple[str, ...] = ()
    """What is not done yet, of `files`, `vectors`, `history` and `imports`; nothing where `state` is `ready`."""


@frozen
class SetPhaseParams:
    phase: int | None = field(default=None, metadata=within(0, 3))
    """0 switches retrieval off; null leaves it to the settings and the kill switch again."""
