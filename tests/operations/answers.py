"""Makes answers to log and to count, with the matched terms of their results."""

from __future__ import annotations

from tests.search_results import search_result

from cairn import protocol

Found = tuple[str, float, tuple[str, ...]]
"""A result's path, score and matched terms."""


def search_answer(
    *found: Found,
    terms: tuple[str, ...] = ("walruses", "moor"),
    action: str = "answer",
    phase: int = 3,
    fallback: str = "",
    broken_off: tuple[str, ...] = (),
) -> protocol.SearchAnswer:
    return protocol.SearchAnswer(
        results=tuple(map(_result, found)),
        verdict=verdict(action),
        query=protocol.QueryInfo(" ".join(terms), terms, "natural", 0.5),
        index=protocol.IndexState(7, complete=True),
        timings={},
        broken_off=broken_off,
        retrieval=protocol.AnsweredIn(phase, fallback=fallback),
    )


def discover_answer(
    *found: Found, metrics: protocol.DiscoveryMetrics | None = None, fallback: str = ""
) -> protocol.DiscoverAnswer:
    return protocol.DiscoverAnswer(
        answer_prompt="",
        plan=protocol.AnswerPlan((), 0, ()),
        bullets=(),
        chunks=tuple(map(_result, found)),
        verdict=verdict("answer"),
        metrics=metrics or protocol.DiscoveryMetrics(),
        index=protocol.IndexState(7, complete=True),
        retrieval=protocol.AnsweredIn(fallback=fallback),
    )


def verdict(action: str) -> protocol.Verdict:
    return protocol.Verdict(action, "", (), 0.41, ())


def _result(found: Found) -> protocol.SearchResult:
    path, score, matched_terms = found
    return search_result(
        path=path, title="moor", score=score, source="keyword", matched_terms=matched_terms, reasons=()
    )
