"""Stage 5: the second ranking, and the chunks around a hit."""

from __future__ import annotations

import pytest
from tests.discovery.discovery_builders import FixedSearcher, chunk, collection

from cairn.discovery.searching import semantic_focus, sentence_quality_score, term_frequency_score
from cairn.discovery.terms import QueryTerms
from cairn.settings.discovery import SemanticFocusConfig

DOCS = collection("demo-docs")
PLAIN = SemanticFocusConfig(semantic_reranking=False, context_window=0)


def run(chunks, config, k=5, queries=("request routing",)):
    return semantic_focus(FixedSearcher(chunks), DOCS, list(queries), k, config)


def test_search_requests_twice_as_many_chunks_of_one_collection():
    searcher = FixedSearcher([])
    semantic_focus(searcher, DOCS, ["one", "two"], 5, PLAIN)
    assert searcher.searches == [(("one", "two"), ("demo-docs",), 10)]


def test_weak_chunks_are_dropped_and_the_rest_sorted():
    chunks = [chunk("x", score, index=i) for i, score in enumerate((0.34, 0.35, 0.9))]
    assert [hit.score for hit in run(chunks, PLAIN)] == [0.9, 0.35]


def test_reranking_follows_its_formula():
    config = SemanticFocusConfig(context_window=0)
    [hit] = run([chunk("Routing matches requests", 0.5, index=10)], config)
    tf = 1 / 2.2
    assert hit.score == pytest.approx(0.5 * 0.6 + tf * 0.2 + 1.0 * 0.1 + 0.5 * 0.1)


def test_reranking_uses_the_first_query():
    chunks = [chunk("about cookies", 0.5, index=0), chunk("about routing", 0.5, index=1)]
    config = SemanticFocusConfig(context_window=0)
    assert run(chunks, config, queries=("routing", "cookies"))[0].metadata.chunk_index == 1
    assert run(chunks, config, queries=("cookies", "routing"))[0].metadata.chunk_index == 0


def test_neighbours_have_half_the_score_for_each_step():
    hit = chunk("hit", 0.8, index=5)
    around = [chunk("near", 0.0, index=i) for i in (2, 3, 4, 6, 7, 8, 9)]
    found = run([hit, *around], SemanticFocusConfig(semantic_reranking=False, context_window=2), k=9)
    assert {h.metadata.chunk_index: h.score for h in found} == {5: 0.8, 4: 0.4, 6: 0.4, 3: 0.2, 7: 0.2}


def test_neighbour_that_is_also_a_hit_has_its_better_score():
    chunks = [chunk("a", 0.9, index=0), chunk("b", 0.4, index=1)]
    found = run(chunks, SemanticFocusConfig(semantic_reranking=False, context_window=1))
    assert [(h.metadata.chunk_index, h.score) for h in found] == [(0, 0.9), (1, 0.45)]


@pytest.mark.parametrize(("queries", "k"), [((), 5), (("q",), 0)])
def test_empty_requests_find_nothing(queries, k):
    assert run([chunk("a")], PLAIN, k=k, queries=queries) == []


def test_cross_encoder_has_no_effect():
    chunks = [chunk("a berth", 0.9), chunk("a ship", 0.8, index=4)]
    assert run(chunks, SemanticFocusConfig(cross_encoder=True)) == run(chunks, SemanticFocusConfig())


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
