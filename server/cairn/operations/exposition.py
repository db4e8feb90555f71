"""Writes the metrics in Prometheus' format.

Only the HTTP front imports this: prometheus_client comes with the `serve` extra.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from cairn.operations.metrics import Distribution, Metrics

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def exposition(metrics: Metrics, *others: Collector) -> bytes:
    """All metrics as they are now, and what a front collects besides, in Prometheus' text format (`CONTENT_TYPE`)."""
    # A registry of its own: the library's global one belongs to whoever else is in the process.
    registry = CollectorRegistry(auto_describe=False)
    for collector in (_MetricsCollector(metrics), *others):
        registry.register(collector)
    return generate_latest(registry)


class _MetricsCollector(Collector):
    """What prometheus_client asks for the metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def describe(self) -> list[Metric]:
        """Nothing, so that registering reads no figures."""
        return []

    def collect(self) -> Iterator[Metric]:
        for counter in self._metrics.counters():
            family = CounterMetricFamily(counter.name, counter.description, labels=counter.labels)
            for labels, value in counter.values.items():
                family.add_metric(labels, value)
            yield family
        for histogram in self._metrics.histograms():
            shown = HistogramMetricFamily(histogram.name, histogram.description, labels=histogram.labels)
            for labels, held in histogram.values.items():
                shown.add_metric(labels, _buckets(histogram.bounds, held), held.total)
            yield shown
        for figure in self._metrics.figures():
            kind = CounterMetricFamily if figure.total else GaugeMetricFamily
            yield kind(figure.name, figure.description, value=figure.value)


def _buckets(bounds: tuple[float, ...], held: Distribution) -> list[tuple[str, float]]:
    """Prometheus' buckets: each holds all that is in the ones before it."""
    buckets, below = list[tuple[str, float]](), 0
    for bound, count in zip((*map(str, bounds), "+Inf"), held.counts, strict=True):
        below += count
        buckets.append((bound, float(below)))
    return buckets
