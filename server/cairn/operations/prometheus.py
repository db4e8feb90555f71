"""Counts and formats the metrics of `cairn serve` with prometheus_client.

Only `cairn serve` imports this module, because importing the library takes 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from attrs import define
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cairn.operations.metrics import Metrics
from cairn.startup.figures import resident_bytes, start_time

if TYPE_CHECKING:
    from cairn.protocol import AnsweredIn, DiscoverAnswer, SearchAnswer

__all__ = ["CONTENT_TYPE", "PrometheusMetrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The bounds of the buckets: Prometheus' defaults, smaller ones, and the timeout of requests, 30 s."""
_COUNTS = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0)


Figures = Mapping[str, tuple[str, float]]
"""The description and the value of each figure. Its metric is called `cairn_<name>`."""
_COUNTERS = frozenset({"query_log_failures"})
"""The figures that only increase."""


class PrometheusMetrics(Metrics):
    """The metrics of this process. Counting takes 2 to 5 µs. Clients cannot add values of labels."""

    def __init__(self) -> None:
        # Without this, each metric has a second series with the time when it was first counted.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=False)
        """The registry, to which fronts add their own counters."""
        PlatformCollector(self.registry)

        counter = partial(Counter, registry=self.registry)
        counts = partial(Histogram, registry=self.registry, buckets=_COUNTS)
        seconds = partial(Histogram, registry=self.registry, buckets=_SECONDS)

        self._discoveries = counter("cursor_discovery_requests", "Total cursor discovery requests")
        self._discovery_seconds = seconds(
            "cursor_discovery_duration_seconds", "Cursor discovery request duration"
        )
        self._collections = counts(
            "cursor_discovery_collections_searched", "Number of collections searched per request"
        )
        self._queries = counts(
            "cairn_discovery_queries_generated", "Queries that a question was expanded into"
        )
        self._chunks = counts(
            "cairn_discovery_chunks_found", "Chunks that a discovery found, before any were merged"
        )
        self._bullets = counts("cairn_discovery_bullets_extracted", "Bullets that a discovery extracted")
        self._cache_hits = counter(
            "cairn_cache_hits", "Searches and discoveries whose answer was there already"
        )
        self._cache_misses = counter(
            "cairn_cache_misses", "Searches and discoveries whose answer had to be made"
        )
        self._errors = counter("cairn_errors", "Requests that failed, by the kind of error", ["kind"])
        self._verdicts = counter(
            "cairn_verdicts", "Searches by what was done: answer, clarify or noMatch", ["action"]
        )
        self._keyword_matches = counter(
            "cairn_keyword_matches", "Searches in which some result had one of the question's terms"
        )
        self._fallbacks = counter(
            "cairn_fallbacks", "Searches answered by what stood in for their phase", ["kind"]
        )
        self._broken_off = counter("cairn_legs_broken_off", "Legs of a search whose time was over", ["leg"])
        self._feedback = counter("cairn_feedback", "What was done with results", ["action"])
        self._phase_changes = counter("cairn_phase_changes", "Steps of the phase", ["before", "after"])
        self._requests = counter(
            "cairn_requests", "Requests by method, front and outcome", ["method", "front", "outcome"]
        )
        self._seconds = seconds("cairn_request_duration_seconds", "Request duration", ["method"])

    def show_figures(self, figures: Callable[[], Figures]) -> None:
        """Add the state of the index to the metrics. Each call of `text` calls `figures`."""
        self.registry.register(_Figures(figures))

    def text(self) -> bytes:
        """Return the current metrics in Prometheus' text format (`CONTENT_TYPE`)."""
        return generate_latest(self.registry)

    def request(self, method: str, front: str, seconds: float, outcome: str, error: str = "") -> None:
        self._requests.labels(method, front, outcome).inc()
        self._seconds.labels(method).observe(seconds)
        if error:
            self._errors.labels(error).inc()
        if method == "discover":
            self._discoveries.inc()
            self._discovery_seconds.observe(seconds)

    def search(self, answer: SearchAnswer, *, cached: bool) -> None:
        (self._cache_hits if cached else self._cache_misses).inc()
        self._verdicts.labels(answer.verdict.action).inc()
        if any(result.matched_terms for result in answer.results):
            self._keyword_matches.inc()
        for leg in answer.broken_off:
            self._broken_off.labels(leg).inc()
        self._count_fallback(answer.retrieval)

    def discovery(self, answer: DiscoverAnswer, *, cached: bool) -> None:
        (self._cache_hits if cached else self._cache_misses).inc()
        self._collections.observe(answer.metrics.collections_searched)
        self._queries.observe(answer.metrics.queries_generated)
        self._chunks.observe(answer.metrics.chunks_found)
        self._bullets.observe(answer.metrics.bullets_extracted)
        self._count_fallback(answer.retrieval)

    def _count_fallback(self, how: AnsweredIn) -> None:
        if how.fallback:
            self._fallbacks.labels(how.fallback).inc()

    def feedback(self, action: str) -> None:
        self._feedback.labels(action).inc()

    def phase_change(self, before: int, after: int) -> None:
        self._phase_changes.labels(str(before), str(after)).inc()


@define(eq=False)
class _Figures(Collector):
    """Gauges of the index, of retrieval and of this process. Each call of `text` computes them."""

    figures: Callable[[], Figures]

    def collect(self) -> Iterator[Metric]:
        for name, (description, value) in self.figures().items():
            kind = CounterMetricFamily if name in _COUNTERS else GaugeMetricFamily
            yield kind(f"cairn_{name}", description, value=value)
        yield GaugeMetricFamily(
            "cairn_resident_memory_bytes", "Memory of this process", value=resident_bytes()
        )
        yield GaugeMetricFamily(
            "cairn_process_start_time_seconds",
            "When this process began, in Unix seconds",
            value=start_time(),
        )
