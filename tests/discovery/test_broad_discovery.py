"""Stage 4: one batched search, merged, without near-duplicates, with diverse results."""

from __future__ import annotations

import attrs
import pytest
from tests.discovery.discovery_builders import FixedSearcher, chunk, collection

from cairn.discovery.searching import broad_discovery
from cairn.settings.discovery import BroadDiscoveryConfig

COLLECTIONS = [collection("demo-docs"), collection("demo-source")]
TEXTS = ("alpha beta gamma", "delta epsilon zeta", "eta theta iota", "kappa lambda mu")


def ids(chunks):
    return [found.metadata.chunk_index for found in chunks]


def run(chunks, k=50, queries=("q",), config=None):
    return broad_discovery(
        FixedSearcher(chunks), list(queries), COLLECTIONS, k, config or BroadDiscoveryConfig()
    )


def test_one_search_has_all_queries_and_collections():
    searcher = FixedSearcher([chunk(TEXTS[0])])
    broad_discovery(searcher, ["one", "two"], COLLECTIONS, 5, BroadDiscoveryConfig(k_per_query=7))
    assert searcher.searches == [(("one", "two"), ("demo-docs", "demo-source"), 7)]


def test_chunk_found_by_several_queries_has_its_best_score():
    @attrs.define
    class Varying(FixedSearcher):
        def search(self, queries, collections, k):
            return [[attrs.evolve(self.chunks[0], score=score)] for score in (0.4, 0.9, 0.6)]

    searcher = Varying([chunk(TEXTS[0])])
    found = broad_discovery(searcher, ["a", "b", "c"], COLLECTIONS, 5, BroadDiscoveryConfig())
    assert [hit.score for hit in found] == [0.9]


def test_weak_chunks_are_dropped():
    scored = zip(TEXTS, (0.29, 0.3, 0.31), strict=False)
    assert ids(run([chunk(text, score, index=i) for i, (text, score) in enumerate(scored)])) == [2, 1]


def test_best_of_near_duplicates_is_kept():
    text = " ".join(f"word{i}" for i in range(30))
    chunks = [chunk(text, 0.5, index=0), chunk(text + " more", 0.7, index=1), chunk("other", 0.4, index=2)]
    assert ids(run(chunks)) == [1, 2]
    assert sorted(ids(run(chunks, config=BroadDiscoveryConfig(enable_deduplication=False)))) == [0, 1, 2]


def test_diversity_lifts_a_weaker_but_different_chunk():
    chunks = [
        chunk("the router matches a path", 0.9, index=0),
        chunk("the router matches a url", 0.8, index=1),
        chunk("cookies are signed", 0.75, index=2),
    ]
    assert ids(run(chunks, k=2)) == [0, 2]
    assert ids(run(chunks, k=2, config=BroadDiscoveryConfig(mmr_lambda=1.0))) == [0, 1]


def test_equal_scores_are_ordered_by_place():
    placed = zip(TEXTS, "badc", strict=True)
    chunks = [chunk(text, 0.5, path=path, index=i) for i, (text, path) in enumerate(placed)]
    orders = {tuple(ids(run(given))) for given in (chunks, chunks[::-1], chunks[2:] + chunks[:2])}
    assert orders == {(1, 0, 3, 2)}


@pytest.mark.parametrize(("queries", "k"), [((), 5), (("q",), 0)])
def test_empty_requests_find_nothing_without_a_search(queries, k):
    searcher = FixedSearcher([chunk(TEXTS[0])])
    assert broad_discovery(searcher, list(queries), COLLECTIONS, k, BroadDiscoveryConfig()) == []
    assert broad_discovery(searcher, ["q"], [], 5, BroadDiscoveryConfig()) == []
    assert searcher.searches == []
