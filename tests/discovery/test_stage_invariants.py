"""Invariants of the stages for any input: order, limits, and no invented results."""

from __future__ import annotations

from collections import defaultdict

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import FixedSearcher, chunk, collection

from cairn.discovery.compression import compress_evidence
from cairn.discovery.preparation import score_collections
from cairn.discovery.searching import broad_discovery, promote_readme, semantic_focus
from cairn.settings.discovery import (
    BroadDiscoveryConfig,
    CompressionConfig,
    ReadmePromotionConfig,
    ScoringConfig,
    SemanticFocusConfig,
)

WORDS = (
    "harbour ships berth pilot tide mooring cargo crane quay anchor moves waits opens guards keeps".split()
)
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=18).map(
    lambda words: " ".join(words).capitalize() + "."
)
CHUNKS = st.lists(
    st.builds(
        lambda sentences, score, path, name: (" ".join(sentences), score, path, name),
        st.lists(SENTENCES, min_size=1, max_size=5),
        st.floats(0, 1),
        st.sampled_from(["README.md", "docs/readme.rst", "docs/a.md", "docs/b.md", "src/c.py"]),
        st.sampled_from(["port-docs", "port-source"]),
    ),
    max_size=12,
).map(
    lambda parts: [
        chunk(text, score, path, index=index, collection=name)
        for index, (text, score, path, name) in enumerate(parts)
    ]
)
LIMITS = st.integers(0, 6)


@settings(max_examples=50)
@given(CHUNKS, LIMITS, LIMITS, st.integers(1, 8), st.integers(0, 10))
def test_bullets_are_limited_sorted_and_of_the_right_length(chunks, most, per_doc, least, more):
    config = CompressionConfig(min_sentence_words=least, max_sentence_words=least + more)
    bullets = compress_evidence(chunks, most, per_doc, config, query="ships in the harbour")
    scores = [bullet.score for bullet in bullets]
    assert len(bullets) <= most
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(least <= len(bullet.text.split()) <= least + more for bullet in bullets)
    used = defaultdict(set)
    for bullet in bullets:
        used[bullet.collection, bullet.path].add(bullet.source_id)
    assert all(len(sources) <= per_doc for sources in used.values())


@settings(max_examples=50)
@given(CHUNKS, LIMITS, st.floats(0, 1), st.booleans())
def test_broad_discovery_returns_strong_chunks_once(chunks, k, threshold, deduplicate):
    config = BroadDiscoveryConfig(similarity_threshold=threshold, enable_deduplication=deduplicate)
    names = [collection("port-docs"), collection("port-source")]
    found = broad_discovery(FixedSearcher(chunks), ["one", "two"], names, k, config)
    ids = [hit.doc_id for hit in found]
    strong = [hit for hit in chunks if hit.score >= threshold]
    assert len(set(ids)) == len(ids) <= k
    assert {*ids} <= {hit.doc_id for hit in strong}
    best = sorted((hit.score for hit in strong), reverse=True)[:1]
    assert [hit.score for hit in found[:1]] == (best if k else [])


@settings(max_examples=50)
@given(CHUNKS, LIMITS, st.integers(0, 3), st.booleans())
def test_focused_chunks_are_of_one_collection_and_sorted(chunks, k, window, rerank):
    config = SemanticFocusConfig(semantic_reranking=rerank, context_window=window)
    same = [hit for hit in chunks if hit.collection == "port-docs"]
    found = semantic_focus(FixedSearcher(same), collection("port-docs"), ["ships"], k, config)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.doc_id for hit in found}) == len(found) <= k
    assert {hit.collection for hit in found} <= {"port-docs"}


@settings(max_examples=50)
@given(CHUNKS, st.floats(0, 3), st.booleans())
def test_promotion_loses_and_adds_no_chunks(chunks, boost, on_top):
    config = ReadmePromotionConfig(readme_boost=boost, always_top=on_top)
    promoted = promote_readme(chunks, config)
    assert sorted(hit.doc_id for hit in promoted) == sorted(hit.doc_id for hit in chunks)
    rated = [attrs.evolve(hit, score=1.0) for hit in chunks]
    doubled = promote_readme(rated, ReadmePromotionConfig(readme_boost=2.0))
    readmes = {hit.doc_id for hit in doubled if hit.score == 2.0}
    order = [(on_top and hit.doc_id not in readmes, -hit.score) for hit in promoted]
    assert order == sorted(order)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.lists(st.sampled_from(WORDS).map(collection), max_size=6),
)
def test_scored_collections_are_the_given_ones_best_first(terms, refs):
    scored = score_collections(terms, refs, ScoringConfig())
    scores = [score for _, score in scored]
    assert scores == sorted(scores, reverse=True)
    assert sorted(ref.name for ref, _ in scored) == sorted(ref.name for ref in refs)
