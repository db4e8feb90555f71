"""What is counted can be read by Prometheus, under S1's names where S1 has them."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.operations.answers import discover_answer, search_answer

from cairn.operations.metrics import IndexFigures
from cairn.operations.prometheus import CONTENT_TYPE, PrometheusMetrics
from cairn.protocol import DiscoveryMetrics


def families(metrics: PrometheusMetrics) -> dict[str, tuple[str, list[Sample]]]:
    """The type and the samples of each metric, by its name as Prometheus reads it."""
    text = metrics.text().decode()
    return {family.name: (family.type, family.samples) for family in text_string_to_metric_families(text)}


def value(metrics: PrometheusMetrics, name: str, **labels: str) -> float:
    found = [
        sample.value
        for _, samples in families(metrics).values()
        for sample in samples
        if sample.name == name and sample.labels == labels
    ]
    assert len(found) == 1, f"{name}{labels}: {found}"
    return found[0]


def test_every_metric_has_its_name_and_type() -> None:
    metrics = PrometheusMetrics()
    metrics.show_figures(IndexFigures)
    assert {name: kind for name, (kind, _) in families(metrics).items()} == {
        "python_info": "gauge",
        "cursor_discovery_requests": "counter",
        "cursor_discovery_duration_seconds": "histogram",
        "cursor_discovery_collections_searched": "histogram",
        "cairn_discovery_queries_generated": "histogram",
        "cairn_discovery_chunks_found": "histogram",
        "cairn_discovery_bullets_extracted": "histogram",
        "cairn_cache_hits": "counter",
        "cairn_cache_misses": "counter",
        "cairn_errors": "counter",
        "cairn_verdicts": "counter",
        "cairn_keyword_matches": "counter",
        "cairn_fallbacks": "counter",
        "cairn_legs_broken_off": "counter",
        "cairn_feedback": "counter",
        "cairn_phase_changes": "counter",
        "cairn_requests": "counter",
        "cairn_request_duration_seconds": "histogram",
        "cairn_phase": "gauge",
        "cairn_phase_wanted": "gauge",
        "cairn_retrieval_enabled": "gauge",
        "cairn_index_files": "gauge",
        "cairn_index_chunks": "gauge",
        "cairn_index_embedded_chunks": "gauge",
        "cairn_index_queued_chunks": "gauge",
        "cairn_index_generation": "gauge",
        "cairn_index_complete": "gauge",
        "cairn_query_log_failures": "counter",
        "cairn_resident_memory_bytes": "gauge",
        "cairn_process_start_time_seconds": "gauge",
    }


def test_the_names_of_s1_are_spelt_as_s1_spells_them() -> None:
    text = PrometheusMetrics().text().decode()
    assert "\ncursor_discovery_requests_total 0.0\n" in text
    assert 'cursor_discovery_duration_seconds_bucket{le="0.5"} 0.0' in text
    assert 'cursor_discovery_collections_searched_bucket{le="+Inf"} 0.0' in text
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_a_discovery_counts_as_a_request_whatever_became_of_it() -> None:
    metrics = PrometheusMetrics()
    metrics.request("discover", "lsp", 0.2, "ok")
    counts = DiscoveryMetrics(
        collections_searched=4, queries_generated=8, chunks_found=31, bullets_extracted=20
    )
    metrics.discovery(discover_answer(metrics=counts), cached=False)
    metrics.request("discover", "http", 0.4, "error", error="IndexUnavailableError")
    metrics.request("search", "lsp", 0.01, "ok")
    assert value(metrics, "cursor_discovery_requests_total") == 2
    assert value(metrics, "cursor_discovery_duration_seconds_count") == 2
    assert value(metrics, "cursor_discovery_duration_seconds_sum") == pytest.approx(0.6)
    assert value(metrics, "cursor_discovery_collections_searched_sum") == 4
    assert value(metrics, "cairn_discovery_queries_generated_sum") == 8
    assert value(metrics, "cairn_discovery_chunks_found_sum") == 31
    assert value(metrics, "cairn_discovery_bullets_extracted_count") == 1
    requests = "cairn_requests_total"
    assert value(metrics, requests, method="discover", front="lsp", outcome="ok") == 1
    assert value(metrics, requests, method="discover", front="http", outcome="error") == 1
    assert value(metrics, requests, method="search", front="lsp", outcome="ok") == 1
    assert value(metrics, "cairn_errors_total", kind="IndexUnavailableError") == 1
    assert value(metrics, "cairn_request_duration_seconds_count", method="discover") == 2


def test_searches_are_counted_by_what_was_done() -> None:
    metrics = PrometheusMetrics()
    found = ("src/harbour.py", 0.9, ("moor",))
    metrics.search(search_answer(found), cached=False)
    metrics.search(search_answer(found), cached=True)
    lowered = search_answer(action="noMatch", fallback="keywords", broken_off=("vectors",))
    metrics.search(lowered, cached=False)
    metrics.discovery(discover_answer(fallback="generic"), cached=False)
    metrics.discovery(discover_answer(), cached=True)
    metrics.feedback("open")
    metrics.phase_change(3, 2)
    assert value(metrics, "cairn_cache_hits_total") == 2
    assert value(metrics, "cairn_cache_misses_total") == 3
    assert value(metrics, "cairn_verdicts_total", action="answer") == 2
    assert value(metrics, "cairn_verdicts_total", action="noMatch") == 1
    assert value(metrics, "cairn_keyword_matches_total") == 2
    assert value(metrics, "cairn_fallbacks_total", kind="keywords") == 1
    assert value(metrics, "cairn_fallbacks_total", kind="generic") == 1
    assert value(metrics, "cairn_legs_broken_off_total", leg="vectors") == 1
    assert value(metrics, "cairn_feedback_total", action="open") == 1
    assert value(metrics, "cairn_phase_changes_total", before="3", after="2") == 1


def test_buckets_hold_all_that_is_below_them_and_the_bound_itself() -> None:
    metrics = PrometheusMetrics()
    for seconds in (0.0001, 0.5, 0.50001, 2.0, 1_000.0):
        metrics.request("search", "lsp", seconds, "ok")
    _, samples = families(metrics)["cairn_request_duration_seconds"]
    buckets = [
        (float(s.labels["le"]), s.value) for s in samples if s.name == "cairn_request_duration_seconds_bucket"
    ]
    assert [bound for bound, _ in buckets] == sorted(bound for bound, _ in buckets)
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    held = dict(buckets)
    assert (held[0.001], held[0.25], held[0.5], held[1.0], held[2.5]) == (1, 1, 2, 3, 4)
    assert (held[30.0], held[float("inf")]) == (4, 5)


def test_figures_are_read_when_somebody_asks_and_only_then() -> None:
    now = IndexFigures(index_files=3, index_chunks=20, phase=2, phase_wanted=3)
    asked = []

    def index() -> IndexFigures:
        asked.append(now)
        return now

    metrics = PrometheusMetrics()
    metrics.show_figures(index)
    metrics.request("search", "lsp", 0.1, "ok")
    assert asked == []
    assert value(metrics, "cairn_index_chunks") == 20
    assert len(asked) == 1
    now = IndexFigures(index_files=4, index_complete=True, retrieval_enabled=True, query_log_failures=7)
    assert value(metrics, "cairn_index_files") == 4
    assert value(metrics, "cairn_index_complete") == value(metrics, "cairn_retrieval_enabled") == 1
    assert value(metrics, "cairn_query_log_failures_total") == 7
    assert value(metrics, "cairn_resident_memory_bytes") > 1_000_000
    assert value(metrics, "cairn_process_start_time_seconds") == psutil.Process().create_time()


def test_two_sets_of_metrics_in_one_process_do_not_mix() -> None:
    first, second = PrometheusMetrics(), PrometheusMetrics()
    first.feedback("open")
    assert value(first, "cairn_feedback_total", action="open") == 1
    assert families(second)["cairn_feedback"][1] == []


def test_only_serve_imports_the_library() -> None:
    script = "import sys, cairn.lsp.server, cairn.mcp.server; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
