"""The pipeline of all nine stages."""

from __future__ import annotations

import attrs
import pytest
from tests.discovery.discovery_builders import FixedSearcher, chunk, collection

from cairn.discovery.pipeline import Discovery
from cairn.discovery.preparation import QueryTerms
from cairn.errors import QueryCancelledError
from cairn.index.store.deadline import ended_by
from cairn.protocol import Verdict
from cairn.protocol.discovery_messages import DiscoveryMetrics
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import DiscoveryConfig

STAGES = [
    "filter_collections",
    "score_collections",
    "expand_queries_baseline",
    "broad_discovery",
    "semantic_focus",
    "promote_readme",
    "compress_evidence",
    "build_answer_plan",
    "render_llm_prompt",
]
CHUNKS = [
    chunk(
        "# Vectorizer\n\nVectorizer is a vector database that is written in Rust.\n",
        0.6,
        "README.md",
        collection="vectorizer-docs",
    ),
    chunk(
        "The vectorizer supports keyword search and semantic search side by side.\n\n"
        "Each of its components runs in a thread of its own.",
        0.9,
        "docs/guide.md",
        index=3,
        collection="vectorizer-docs",
    ),
    chunk(
        'def search(self, query: str) -> list[Hit]:\n    """Find the passages that answer the query best."""',
        0.8,
        "src/search.py",
        collection="vectorizer-source",
        chunk_type="code",
        language="python",
        signature="def search(self, query: str) -> list[Hit]",
        comment="Find the passages that answer the query best.",
    ),
]
COLLECTIONS = [collection("vectorizer-docs"), collection("vectorizer-source"), collection("vectorizer-test")]


def run(query="What is vectorizer?", chunks=CHUNKS, **options):
    given = {
        "searcher": FixedSearcher(chunks),
        "collections": COLLECTIONS,
        "config": DiscoveryConfig(),
        "count_tokens": lambda text: len(text.split()),
    }
    return Discovery(query=query, **(given | options)).run()


def test_question_becomes_a_prompt_with_cited_evidence():
    response = run()
    heading = "### 📋 Definition\n\n1. Vectorizer is a vector database that is written in Rust. ["
    assert heading in response.prompt
    assert "README.md#L13-L13" in response.prompt
    assert response.bullets[0].citation == "README.md#L13-L13"
    assert [bullet.path for bullet in response.bullets] == ["README.md", "docs/guide.md", "docs/guide.md"]
    assert response.plan.total_bullets == 3
    assert response.chunks[0].metadata.file_path == "README.md"


def test_metrics_count_and_time_every_stage():
    metrics = run().metrics
    assert list(metrics.stages) == STAGES
    assert all(ms >= 0 for ms in metrics.stages.values())
    assert metrics.total_time_ms >= sum(metrics.stages.values())
    assert attrs.evolve(metrics, stages={}, total_time_ms=0) == DiscoveryMetrics(
        collections_searched=2,
        queries_generated=8,
        chunks_found=6,
        chunks_after_dedup=3,
        bullets_extracted=3,
        final_prompt_tokens=len(run().prompt.split()),
    )


def test_readme_that_is_not_an_answer_is_not_promoted():
    response = run(readme=Readme.AS_IT_IS)
    assert response.chunks[0].metadata.file_path == "docs/guide.md"
    assert all(found.score <= 1 for found in response.chunks)


def test_first_stage_gets_include_and_exclude():
    assert {b.path for b in run(include=["*-source"]).bullets} == {"src/search.py"}
    assert {b.path for b in run(exclude=["*-docs"]).bullets} == {"src/search.py"}


@pytest.mark.parametrize(
    ("about", "focused"),
    [((), "vectorizer-docs"), (("vectorizer-source",), "vectorizer-source")],
    ids=["by name", "by the package in question"],
)
def test_best_collection_is_searched_deeper(about, focused):
    searcher = FixedSearcher(CHUNKS, about=about)
    run(searcher=searcher, config=DiscoveryConfig(focus_top_n_collections=1))
    collections = [each for _, each, _ in searcher.searches]
    assert collections == [("vectorizer-docs", "vectorizer-source"), (focused,)]


def test_stages_are_reported_with_the_results_so_far():
    known, stages = {}, []

    def on_stage(name, now):
        known[name] = len(now.chunks), len(now.bullets), len(now.plan.sections), bool(now.prompt)
        stages.append(list(now.metrics.stages))

    response = run(on_stage=on_stage)
    assert list(known) == STAGES
    sections = len(response.plan.sections)
    assert known["expand_queries_baseline"] == (0, 0, 0, False)
    assert known["broad_discovery"] == (3, 0, 0, False)
    assert known["compress_evidence"] == (3, 3, 0, False)
    assert known["build_answer_plan"] == (3, 3, sections, False)
    assert known["render_llm_prompt"] == (3, 3, sections, True)
    assert stages == [STAGES[: i + 1] for i in range(9)]


@pytest.mark.parametrize("ended", range(len(STAGES)))
def test_cancelled_run_ends_within_a_stage(ended):
    reported = []
    with pytest.raises(QueryCancelledError), ended_by(lambda: len(reported) == ended):
        run(on_stage=lambda name, _: reported.append(name))
    assert reported == STAGES[:ended]


@pytest.mark.parametrize(("query", "collections"), [("", COLLECTIONS), ("what is vectorizer", [])])
def test_empty_query_or_no_collections_give_an_empty_answer(query, collections):
    response = run(query, collections=collections)
    assert (response.prompt, response.bullets, response.chunks) == ("", (), ())
    assert response.metrics.final_prompt_tokens == 0
    assert list(response.metrics.stages) == STAGES


def test_same_question_has_the_same_answer():
    first, second = run(), run(chunks=CHUNKS[::-1])
    for part in ("prompt", "bullets", "chunks"):
        assert getattr(first, part) == getattr(second, part)


def test_unclear_question_has_only_evidence_with_its_words():
    verdict = Verdict("clarify", "Do you mean search?", (), 0.0, ())
    response = run("vectorizer search", judge=lambda chunks: verdict, terms=QueryTerms.of("search"))
    assert response.bullets
    assert all("search" in bullet.text.lower() for bullet in response.bullets)
    assert len(response.bullets) < len(run("vectorizer search").bullets)
    assert "Do you mean search?" not in response.prompt  # the evidence leads; the verdict has the question


def test_prompt_without_evidence_asks_the_user_instead():
    response = run(judge=lambda chunks: Verdict("noMatch", "Which part should I explain?", (), 0.0, ()))
    assert (response.bullets, response.plan.sections) == ((), ())
    assert "Which part should I explain?" in response.prompt
    assert "is a vector database" not in response.prompt
