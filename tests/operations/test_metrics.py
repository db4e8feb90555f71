"""Prometheus reads the metrics, whose names never change."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.operations.answers import discover_answer, search_answer

from cairn.engine.engine import Engine
from cairn.operations.prometheus import CONTENT_TYPE, Figures, PrometheusMetrics
from cairn.protocol import DiscoveryMetrics


def families(metrics: PrometheusMetrics) -> dict[str, tuple[str, list[Sample]]]:
    """Return the type and the samples of each metric by its name, as Prometheus parses them."""
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


def check(metrics: PrometheusMetrics, expected: dict[str, float]) -> None:
    """Compare values, whose keys are names followed by labels such as `kind=keywords`."""
    found = {}
    for key in expected:
        name, *labels = key.split()
        found[key] = value(metrics, name, **dict(label.split("=") for label in labels))
    assert found == expected


NAMES = {
    "counter": """cursor_discovery_requests cairn_cache_hits cairn_cache_misses cairn_errors cairn_verdicts
        cairn_keyword_matches cairn_fallbacks cairn_legs_broken_off cairn_feedback cairn_phase_changes
        cairn_requests cairn_query_log_failures""",
    "histogram": """cursor_discovery_duration_seconds cursor_discovery_collections_searched
        cairn_discovery_queries_generated cairn_discovery_chunks_found cairn_discovery_bullets_extracted
        cairn_request_duration_seconds""",
    "gauge": """python_info cairn_phase cairn_phase_wanted cairn_retrieval_enabled cairn_index_files
        cairn_index_chunks cairn_index_embedded_chunks cairn_index_queued_chunks cairn_index_generation
        cairn_index_complete cairn_resident_memory_bytes cairn_process_start_time_seconds""",
}


def test_every_metric_has_its_name_and_type() -> None:
    metrics = PrometheusMetrics()
    metrics.show_figures(Engine().figures)
    found: dict[str, set[str]] = {}
    for name, (kind, _) in families(metrics).items():
        found.setdefault(kind, set()).add(name)
    assert found == {kind: set(names.split()) for kind, names in NAMES.items()}
    text = metrics.text().decode()
    assert "\ncursor_discovery_requests_total 0.0\n" in text
    assert 'cursor_discovery_duration_seconds_bucket{le="0.5"} 0.0' in text
    assert 'cursor_discovery_collections_searched_bucket{le="+Inf"} 0.0' in text
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_a_discovery_counts_as_a_request_whatever_its_outcome() -> None:
    metrics = PrometheusMetrics()
    metrics.request("discover", "lsp", 0.2, "ok")
    counts = DiscoveryMetrics(
        collections_searched=4, queries_generated=8, chunks_found=31, bullets_extracted=20
    )
    metrics.discovery(discover_answer(metrics=counts), cached=False)
    metrics.request("discover", "http", 0.4, "error", error="IndexUnavailableError")
    metrics.request("search", "lsp", 0.01, "ok")
    assert value(metrics, "cursor_discovery_duration_seconds_sum") == pytest.approx(0.6)
    check(metrics, {
        "cursor_discovery_requests_total": 2,
        "cursor_discovery_duration_seconds_count": 2,
        "cursor_discovery_collections_searched_sum": 4,
        "cairn_discovery_queries_generated_sum": 8,
        "cairn_discovery_chunks_found_sum": 31,
        "cairn_discovery_bullets_extracted_count": 1,
        "cairn_requests_total method=discover front=lsp outcome=ok": 1,
        "cairn_requests_total method=discover front=http outcome=error": 1,
        "cairn_requests_total method=search front=lsp outcome=ok": 1,
        "cairn_errors_total kind=IndexUnavailableError": 1,
        "cairn_request_duration_seconds_count method=discover": 2,
    })  # fmt: skip


def test_searches_are_counted_by_their_outcome() -> None:
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
    check(metrics, {
        "cairn_cache_hits_total": 2,
        "cairn_cache_misses_total": 3,
        "cairn_verdicts_total action=answer": 2,
        "cairn_verdicts_total action=noMatch": 1,
        "cairn_keyword_matches_total": 2,
        "cairn_fallbacks_total kind=keywords": 1,
        "cairn_fallbacks_total kind=generic": 1,
        "cairn_legs_broken_off_total leg=vectors": 1,
        "cairn_feedback_total action=open": 1,
        "cairn_phase_changes_total before=3 after=2": 1,
    })  # fmt: skip


def test_buckets_contain_their_upper_bound() -> None:
    metrics = PrometheusMetrics()
    for seconds in (0.0001, 0.5, 0.50001, 2.0, 1_000.0):
        metrics.request("search", "lsp", seconds, "ok")
    _, samples = families(metrics)["cairn_request_duration_seconds"]
    buckets = [
        (float(s.labels["le"]), s.value) for s in samples if s.name == "cairn_request_duration_seconds_bucket"
    ]
    assert [bound for bound, _ in buckets] == sorted(bound for bound, _ in buckets)
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    counts = dict(buckets)
    bounds = (0.001, 0.25, 0.5, 1.0, 2.5, 30.0, float("inf"))
    assert [counts[bound] for bound in bounds] == [1, 1, 2, 3, 4, 4, 5]


def test_figures_are_read_only_for_an_output() -> None:
    now = {"index_chunks": ("Chunks in the index", 20.0), "query_log_failures": ("Lines", 7.0)}
    reads = []

    def index() -> Figures:
        reads.append(now)
        return now

    metrics = PrometheusMetrics()
    metrics.show_figures(index)
    metrics.request("search", "lsp", 0.1, "ok")
    assert reads == []
    assert value(metrics, "cairn_index_chunks") == 20
    assert len(reads) == 1
    now = now | {"index_chunks": ("Chunks in the index", 21.0)}
    assert value(metrics, "cairn_index_chunks") == 21
    assert value(metrics, "cairn_query_log_failures_total") == 7
    assert value(metrics, "cairn_resident_memory_bytes") > 1_000_000
    assert value(metrics, "cairn_process_start_time_seconds") == psutil.Process().create_time()


def test_two_sets_of_metrics_in_one_process_do_not_mix() -> None:
    first, second = PrometheusMetrics(), PrometheusMetrics()
    first.feedback("open")
    assert value(first, "cairn_feedback_total", action="open") == 1
    assert families(second)["cairn_feedback"][1] == []


def test_only_serve_imports_the_library() -> None:
    modules = "sys, cairn.lsp.language_server, cairn.mcp.mcp_server"
    script = f"import {modules}; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
