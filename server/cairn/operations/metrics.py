"""Counts what this process does, for Prometheus: S1's metrics under S1's names, everything else as `cairn_…`.

Counting needs no library; `cairn.operations.exposition`, which only the HTTP front imports, writes the counts
down in Prometheus' format.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Collection, Sequence

from attrs import frozen

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Prometheus' own, and milliseconds below them; S2's 0.5 s is among them, and the 30 s after which a request
is broken off."""
_COUNTS = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0)
"""S1 expands into 8 queries, and asks for 15 chunks, 20 bullets and 50 chunks."""
_MOST_LABELS = 200
"""Combinations of one metric's labels; what comes later is counted as `other`. No client grows this."""
_OTHER = "other"


@frozen
class Figure:
    """One number that is read when somebody asks for the metrics."""

    name: str
    description: str
    value: float
    total: bool = False
    """It only ever rises: a counter, not a gauge."""


@frozen
class CounterValues:
    """A counter as it stands."""

    name: str
    """Without the `_total` that Prometheus wants at its end."""
    description: str
    labels: tuple[str, ...]
    values: dict[tuple[str, ...], float]
    """By the labels' values."""


@frozen
class Distribution:
    """What a histogram holds for one combination of labels."""

    counts: tuple[int, ...]
    """In each bucket alone, the last one without an upper bound."""
    total: float


@frozen
class HistogramValues:
    """A histogram as it stands."""

    name: str
    description: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...]
    """The upper bounds of the buckets, included in them."""
    values: dict[tuple[str, ...], Distribution]


@frozen
class IndexFigures:
    """The state of retrieval in numbers, over all folders, at the time somebody asks for the metrics."""

    files: int = 0
    chunks: int = 0
    embedded: int = 0
    """Chunks with a vector."""
    queued: int = 0
    """Chunks that wait for one."""
    generation: int = 0
    complete: bool = False
    phase: int = 0
    wanted: int = 0
    enabled: bool = False
    log_failures: int = 0
    """Lines that the log of questions lost."""


class Metrics:
    """The counts of this process since its start. Methods may be called from several threads at once, and
    cost 1 µs or so."""

    def __init__(self, index: Callable[[], IndexFigures] = IndexFigures) -> None:
        """`index` is asked whenever somebody asks for the metrics, and never else."""
        self._index = index
        self._lock = threading.Lock()
        self._counters: list[_Counter] = []
        self._histograms: list[_Histogram] = []

        # S1's three, as S1 spells them.
        self._discoveries = self._counter("cursor_discovery_requests", "Total cursor discovery requests")
        self._discovery_seconds = self._histogram(
            "cursor_discovery_duration_seconds", "Cursor discovery request duration", _SECONDS
        )
        self._collections = self._histogram(
            "cursor_discovery_collections_searched", "Number of collections searched per request", _COUNTS
        )
        # The rest of S1's list.
        self._queries = self._histogram(
            "cairn_discovery_queries_generated", "Queries that a question was expanded into", _COUNTS
        )
        self._chunks = self._histogram(
            "cairn_discovery_chunks_found", "Chunks that a discovery found, before any were merged", _COUNTS
        )
        self._bullets = self._histogram(
            "cairn_discovery_bullets_extracted", "Bullets that a discovery extracted", _COUNTS
        )
        self._cache_hits = self._counter("cairn_cache_hits", "Searches whose answer was there already")
        self._cache_misses = self._counter("cairn_cache_misses", "Searches whose answer had to be made")
        self._errors = self._counter("cairn_errors", "Requests that failed, by the kind of error", "kind")
        # S2's list.
        self._verdicts = self._counter(
            "cairn_verdicts", "Searches by what was done: answer, clarify or noMatch", "action"
        )
        self._keyword_matches = self._counter(
            "cairn_keyword_matches", "Searches in which some result had one of the question's terms"
        )
        self._fallbacks = self._counter(
            "cairn_fallbacks", "Searches answered by what stood in for their phase", "kind"
        )
        self._broken_off = self._counter(
            "cairn_legs_broken_off", "Legs of a search whose time was over", "leg"
        )
        self._feedback = self._counter("cairn_feedback", "What was done with results", "action")
        self._phase_changes = self._counter("cairn_phase_changes", "Steps of the phase", "before", "after")
        # Of every request.
        self._requests = self._counter(
            "cairn_requests", "Requests by method, front and outcome", "method", "front", "outcome"
        )
        self._seconds = self._histogram(
            "cairn_request_duration_seconds", "Request duration", _SECONDS, "method"
        )

    def request(self, method: str, front: str, seconds: float, outcome: str, error: str = "") -> None:
        """Count a request that has ended, however it did.

        `method` is the protocol's, with or without `cairn/`; `front` is `lsp`, `http` or `mcp`; `outcome` is
        `ok`, `cancelled`, `invalid` or `error`; `error` is the name of the exception's class, if there was
        one.
        """
        method = method.removeprefix("cairn/")
        with self._lock:
            self._requests.add(method, front, outcome)
            self._seconds.observe(seconds, method)
            if error:
                self._errors.add(error)
            if method == "discover":
                self._discoveries.add()
                self._discovery_seconds.observe(seconds)

    def search(
        self,
        *,
        action: str,
        cached: bool,
        keyword_match: bool,
        fallback: str = "",
        broken_off: Sequence[str] = (),
    ) -> None:
        """Count a search that was answered; the words are those of `QueryRecord` and `SearchAnswer`."""
        with self._lock:
            (self._cache_hits if cached else self._cache_misses).add()
            self._verdicts.add(action)
            if keyword_match:
                self._keyword_matches.add()
            if fallback:
                self._fallbacks.add(fallback)
            for leg in broken_off:
                self._broken_off.add(leg)

    def discovery(
        self, *, collections_searched: int, queries_generated: int, chunks_found: int, bullets_extracted: int
    ) -> None:
        """Take in the metrics of a discovery that was answered; that it was asked for, `request` counts."""
        with self._lock:
            self._collections.observe(collections_searched)
            self._queries.observe(queries_generated)
            self._chunks.observe(chunks_found)
            self._bullets.observe(bullets_extracted)

    def fallback(self, kind: str) -> None:
        """Count something that stood in for an answer where nothing was searched: `cache` or `generic`."""
        with self._lock:
            self._fallbacks.add(kind)

    def feedback(self, action: str) -> None:
        """Count something that was done with a result; S2's "not what I meant" is among it."""
        with self._lock:
            self._feedback.add(action)

    def phase_change(self, before: int, after: int) -> None:
        """Count a step of the phase."""
        with self._lock:
            self._phase_changes.add(str(before), str(after))

    # --- reading -----------------------------------------------------------------------------------

    def counters(self) -> tuple[CounterValues, ...]:
        """All counters, as they stand at one moment."""
        with self._lock:
            return tuple(counter.values() for counter in self._counters)

    def histograms(self) -> tuple[HistogramValues, ...]:
        """All histograms, as they stand at one moment."""
        with self._lock:
            return tuple(histogram.values() for histogram in self._histograms)

    def figures(self) -> tuple[Figure, ...]:
        """What is read only now: of the index, of retrieval and of this process."""
        import psutil  # which takes 30 ms, with the first answer that needs it

        now, process = self._index(), psutil.Process()
        return (
            Figure("cairn_phase", "The phase that searches are answered in; 0 is off", now.phase),
            Figure(
                "cairn_phase_wanted", "The phase that is asked for, by the settings or by hand", now.wanted
            ),
            Figure("cairn_retrieval_enabled", "Whether retrieval.enabled is on", now.enabled),
            Figure("cairn_index_files", "Files in the index", now.files),
            Figure("cairn_index_chunks", "Chunks in the index", now.chunks),
            Figure("cairn_index_embedded_chunks", "Chunks with a vector", now.embedded),
            Figure("cairn_index_queued_chunks", "Chunks that wait for a vector", now.queued),
            Figure("cairn_index_generation", "How often the index was changed", now.generation),
            Figure("cairn_index_complete", "Whether every file is indexed and embedded", now.complete),
            Figure(
                "cairn_query_log_failures", "Lines the log of questions lost", now.log_failures, total=True
            ),
            Figure("cairn_resident_memory_bytes", "Memory of this process", process.memory_info().rss),
            Figure(
                "cairn_process_start_time_seconds",
                "When this process began, in Unix seconds",
                process.create_time(),
            ),
        )

    # ------------------------------------------------------------------------------------------------

    def _counter(self, name: str, description: str, *labels: str) -> _Counter:
        self._counters.append(_Counter(name, description, labels))
        return self._counters[-1]

    def _histogram(self, name: str, description: str, bounds: tuple[float, ...], *labels: str) -> _Histogram:
        self._histograms.append(_Histogram(name, description, labels, bounds))
        return self._histograms[-1]


class _Counter:
    """Counts by labels; whoever calls holds the lock."""

    def __init__(self, name: str, description: str, labels: tuple[str, ...]) -> None:
        self._name, self._description, self._labels = name, description, labels
        # What has no labels is 0 before the first, so that a rate can be told from the start.
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *labels: str) -> None:
        key = _bounded(labels, self._values)
        self._values[key] = self._values.get(key, 0.0) + 1.0

    def values(self) -> CounterValues:
        return CounterValues(self._name, self._description, self._labels, dict(self._values))


class _Histogram:
    """Counts by labels and buckets; whoever calls holds the lock."""

    def __init__(
        self, name: str, description: str, labels: tuple[str, ...], bounds: tuple[float, ...]
    ) -> None:
        self._name, self._description, self._labels, self._bounds = name, description, labels, bounds
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._totals: dict[tuple[str, ...], float] = {}
        if not labels:
            self._begin(())

    def _begin(self, key: tuple[str, ...]) -> None:
        self._counts[key] = [0] * (len(self._bounds) + 1)
        self._totals[key] = 0.0

    def observe(self, value: float, *labels: str) -> None:
        key = _bounded(labels, self._counts)
        if key not in self._counts:
            self._begin(key)
        self._counts[key][bisect.bisect_left(self._bounds, value)] += 1
        self._totals[key] += value

    def values(self) -> HistogramValues:
        values = {key: Distribution(tuple(counts), self._totals[key]) for key, counts in self._counts.items()}
        return HistogramValues(self._name, self._description, self._labels, self._bounds, values)


def _bounded(labels: tuple[str, ...], known: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    return labels if labels in known or len(known) < _MOST_LABELS else (_OTHER,) * len(labels)
