"""Stages 4 to 6: one batched search without near-duplicates, a focused one, and the promotion of READMEs."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import CHUNKS, FixedSearcher, chunk, collection

from cairn.discovery.preparation import QueryTerms
from cairn.discovery.searching import (
    broad_discovery,
    distinct,
    jaccard,
    maximal_marginal_relevance,
    promote_readme,
    semantic_focus,
    sentence_quality_score,
    term_frequency_score,
)
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import BroadDiscoveryConfig, ReadmePromotionConfig, SemanticFocusConfig

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


DOCS = collection("demo-docs")
PLAIN = SemanticFocusConfig(semantic_reranking=False, context_window=0)


def focused(chunks, config, k=5, queries=("request routing",)):
    return semantic_focus(FixedSearcher(chunks), DOCS, list(queries), k, config)


def test_search_requests_twice_as_many_chunks_of_one_collection():
    searcher = FixedSearcher([])
    semantic_focus(searcher, DOCS, ["one", "two"], 5, PLAIN)
    assert searcher.searches == [(("one", "two"), ("demo-docs",), 10)]


def test_weak_chunks_are_dropped_and_the_rest_sorted():
    chunks = [chunk("x", score, index=i) for i, score in enumerate((0.34, 0.35, 0.9))]
    assert [hit.score for hit in focused(chunks, PLAIN)] == [0.9, 0.35]


def test_reranking_follows_its_formula():
    config = SemanticFocusConfig(context_window=0)
    [hit] = focused([chunk("Routing matches requests", 0.5, index=10)], config)
    tf = 1 / 2.2
    assert hit.score == pytest.approx(0.5 * 0.6 + tf * 0.2 + 1.0 * 0.1 + 0.5 * 0.1)


def test_reranking_uses_the_first_query():
    chunks = [chunk("about cookies", 0.5, index=0), chunk("about routing", 0.5, index=1)]
    config = SemanticFocusConfig(context_window=0)
    assert focused(chunks, config, queries=("routing", "cookies"))[0].metadata.chunk_index == 1
    assert focused(chunks, config, queries=("cookies", "routing"))[0].metadata.chunk_index == 0


def test_neighbours_have_half_the_score_for_each_step():
    hit = chunk("hit", 0.8, index=5)
    around = [chunk("near", 0.0, index=i) for i in (2, 3, 4, 6, 7, 8, 9)]
    found = focused([hit, *around], SemanticFocusConfig(semantic_reranking=False, context_window=2), k=9)
    assert {h.metadata.chunk_index: h.score for h in found} == {5: 0.8, 4: 0.4, 6: 0.4, 3: 0.2, 7: 0.2}


@pytest.mark.parametrize("window", [0, 1])
def test_no_more_chunks_than_requested_are_found(window):
    chunks = [chunk("a", 0.9, index=0), chunk("b", 0.0, index=1), chunk("c", 0.4, index=9)]
    config = SemanticFocusConfig(semantic_reranking=False, context_window=window)
    assert ids(focused(chunks, config, k=1)) == [0]
    assert ids(focused(chunks, config, k=2)) == ([0, 1] if window else [0, 9])


def test_neighbour_that_is_also_a_hit_has_its_better_score():
    chunks = [chunk("a", 0.9, index=0), chunk("b", 0.4, index=1)]
    found = focused(chunks, SemanticFocusConfig(semantic_reranking=False, context_window=1))
    assert [(h.metadata.chunk_index, h.score) for h in found] == [(0, 0.9), (1, 0.45)]


@pytest.mark.parametrize(("queries", "k"), [((), 5), (("q",), 0)])
def test_empty_requests_find_nothing(queries, k):
    assert focused([chunk("a")], PLAIN, k=k, queries=queries) == []


def test_cross_encoder_has_no_effect():
    chunks = [chunk("a berth", 0.9), chunk("a ship", 0.8, index=4)]
    assert focused(chunks, SemanticFocusConfig(cross_encoder=True)) == focused(chunks, SemanticFocusConfig())


def test_term_frequency_saturates_and_is_a_mean():
    terms = QueryTerms.of("routing cookies")
    once = term_frequency_score(terms, "routing")
    assert once == pytest.approx(1 / 2.2 / 2)
    assert once < term_frequency_score(terms, "routing routing routing") < 0.5
    assert term_frequency_score(terms, "routing cookies") == pytest.approx(1 / 2.2)
    assert term_frequency_score(QueryTerms.of("what is it"), "it") == 0.0


def test_sentences_have_more_quality_than_tables_and_code():
    prose = sentence_quality_score('Flask is a "micro" framework; it doesn\'t decide for you.')
    table = sentence_quality_score("| name | value |\n| --- | --- |\n| a_b | 12 |")
    code = sentence_quality_score("def f(x=1): return {x: [x]}")
    assert prose == 1.0
    assert table < 0.5
    assert code < 0.5
    assert sentence_quality_score("") == 0.0


def paths(chunks):
    return [(found.metadata.file_path, round(found.score, 3)) for found in chunks]


HITS = [
    chunk("a", 0.9, "docs/guide.md"),
    chunk("b", 0.2, "README.md"),
    chunk("c", 0.5, "sub/readme.rst"),
    chunk("d", 0.3, "src/readme.py"),
]


GUIDE, RST, PY, README = "docs/guide.md", "sub/readme.rst", "src/readme.py", "README.md"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((ReadmePromotionConfig(),), [(RST, 0.75), (README, 0.3), (GUIDE, 0.9), (PY, 0.3)]),
        ((ReadmePromotionConfig(always_top=False),), [(GUIDE, 0.9), (RST, 0.75), (README, 0.3), (PY, 0.3)]),
        ((ReadmePromotionConfig(), Readme.AS_IT_IS), [(GUIDE, 0.9), (RST, 0.5), (PY, 0.3), (README, 0.2)]),
    ],
    ids=["first", "boosted only", "sorted only"],
)
def test_readmes_are_promoted_as_configured(options, expected):
    assert paths(promote_readme(HITS, *options)) == expected
    assert promote_readme([], *options) == []


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("ReadMe.MD", ("README.md",), True),
        ("docs\\README.md", ("readme.md",), True),
        ("README", ("README",), True),
        ("README.md.bak", ("README.md",), False),
        ("MY_README.md", ("README.md",), False),
        ("README.pt.md", ("README*.md",), True),
        ("README.md", (), False),
    ],
)
def test_patterns_match_the_file_name_in_any_case(path, patterns, expected):
    [found] = promote_readme([chunk("x", 0.8, path)], ReadmePromotionConfig(readme_patterns=patterns))
    assert found.score == pytest.approx(1.2 if expected else 0.8)


PIES = ["red apple pie", "red apple tart", "green pear cake"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "A, b. C d!", 1.0),
        ("a b c d", "a b", 0.5),
        ("a b", "c d", 0.0),
        ("a a a b", "a b", 1.0),
        ("", "", 1.0),
        ("", "a", 0.0),
    ],
)
def test_similarity_is_shared_words_over_all_words(one, other, expected):
    similarity = jaccard([one, other])
    assert similarity[0, 1] == similarity[1, 0] == pytest.approx(expected)
    assert similarity[0, 0] == similarity[1, 1] == 1.0


def test_first_of_near_duplicates_is_kept():
    words = [f"w{i}" for i in range(20)]
    texts = [" ".join(words), " ".join([*words[:-1], "x"]), " ".join(words[:10]), " ".join([*words, "y"])]
    # Similarities to the first: 0.90, 0.50, 0.95.
    assert distinct(jaccard(texts), 0.85) == [0, 2]
    assert distinct(jaccard(texts), 0.92) == [0, 1, 2]
    assert distinct(jaccard(texts), 1.0) == [0, 1, 2, 3]
    # The similarity must exceed the threshold.
    assert distinct(jaccard(["a b", "a b"]), 1.0) == [0, 1]
    assert distinct(jaccard(["a b", "a b"]), 0.99) == [0]


VECTORS = np.array([[1, 0], [1, 0], [0, 1]], np.float32)


@pytest.mark.parametrize(
    ("relevance", "similarity", "k", "trade_off", "expected"),
    [
        pytest.param([0.9, 0.85, 0.7], jaccard(PIES), 2, 0.5, [0, 2], id="new words"),
        pytest.param([0.9, 0.85, 0.7], jaccard(PIES), 2, 1.0, [0, 1], id="relevance alone"),
        pytest.param([0.1, 0.9, 0.5], jaccard(["a", "b", "c"]), 3, 0.0, [1, 0, 2], id="most relevant first"),
        pytest.param([0.5, 0.5], jaccard(["a", "b"]), 1, 0.7, [0], id="k"),
        pytest.param([0.5, 0.5], jaccard(["a", "b"]), 9, 0.7, [0, 1], id="fewer than k"),
        pytest.param([], jaccard([]), 9, 0.7, [], id="nothing"),
        pytest.param([0.9, 0.85, 0.7], VECTORS @ VECTORS.T, 3, 0.5, [0, 2, 1], id="by vectors"),
    ],
)
def test_mmr_prefers_relevant_and_different_texts(relevance, similarity, k, trade_off, expected):
    assert maximal_marginal_relevance(relevance, similarity, k, trade_off) == expected


# --- any chunks -------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(CHUNKS, st.integers(0, 6), st.floats(0, 1), st.booleans())
def test_broad_discovery_returns_strong_chunks_once(chunks, k, threshold, deduplicate):
    config = BroadDiscoveryConfig(similarity_threshold=threshold, enable_deduplication=deduplicate)
    found = run(chunks, k, ["one", "two"], config)
    names = [hit.doc_id for hit in found]
    strong = [hit for hit in chunks if hit.score >= threshold]
    assert len(set(names)) == len(names) <= k
    assert {*names} <= {hit.doc_id for hit in strong}
    best = sorted((hit.score for hit in strong), reverse=True)[:1]
    assert [hit.score for hit in found[:1]] == (best if k else [])


@settings(max_examples=20)
@given(CHUNKS, st.floats(0, 3), st.booleans())
def test_promotion_loses_and_adds_no_chunks(chunks, boost, on_top):
    promoted = promote_readme(chunks, ReadmePromotionConfig(readme_boost=boost, always_top=on_top))
    assert sorted(hit.doc_id for hit in promoted) == sorted(hit.doc_id for hit in chunks)
    rated = [attrs.evolve(hit, score=1.0) for hit in chunks]
    doubled = promote_readme(rated, ReadmePromotionConfig(readme_boost=2.0))
    readmes = {hit.doc_id for hit in doubled if hit.score == 2.0}
    order = [(on_top and hit.doc_id not in readmes, -hit.score) for hit in promoted]
    assert order == sorted(order)
