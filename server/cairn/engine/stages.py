"""Answers the methods for single stages of discovery.

`cairn/discover` runs the same stages with the same searcher. If a client calls the methods in order, each
with the results of the previous one, it gets the same evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import attrs
from attrs import evolve

from cairn import protocol
from cairn.discovery.compression import compress_evidence
from cairn.discovery.excerpts import verified
from cairn.discovery.indexed_searcher import merge
from cairn.discovery.pipeline import leading_plan
from cairn.discovery.preparation import (
    content_words,
    expand_queries_baseline,
    filter_collections,
    score_collections,
)
from cairn.discovery.render import build_answer_plan, render_llm_prompt
from cairn.discovery.searching import broad_discovery, promote_readme, semantic_focus
from cairn.engine.discover import laid_over
from cairn.engine.request import Request
from cairn.engine.scope import within
from cairn.errors import InvalidRequestError
from cairn.index.store.deadline import check_end
from cairn.protocol.discovery_messages import MAX_GLOBS, Bullet, CollectionRef
from cairn.protocol.stage_messages import MAX_BULLETS, MAX_CHUNKS
from cairn.retrieval.intent import Readme, readme_of
from cairn.retrieval.query import MAX_QUERY_CHARS
from cairn.schema.convert import camel_case

MAX_COMPARED = 1_000
"""The maximum number of chunks that all queries of a broad search together may request. All chunks are
compared with each other, which takes 0.2 s for 1,000 different chunks."""
MAX_RERANKED = 2_000
"""The maximum number of chunks that all queries of a focused search together may request."""
MAX_SETTING = 1_000_000
"""The largest number allowed in a `config`, because scores are products of such numbers."""

T = TypeVar("T")


def _question(request: Request, text: str) -> str:
    """Return the text as `cairn/discover` uses it: cut if it is too long, and "" if it has no terms."""
    query = request.understood(text)
    return query.text if query.terms else ""


def _collections(request: Request, given: Sequence[CollectionRef] | None) -> list[CollectionRef]:
    return request.collections() if given is None else _distinct(given)


def _distinct(given: Sequence[CollectionRef]) -> list[CollectionRef]:
    return list({each.name: _reference(each) for each in given}.values())


def filter_(request: Request, params: protocol.FilterCollectionsParams) -> protocol.CollectionsAnswer:
    refs = filter_collections(
        _question(request, params.query),
        params.include,
        params.exclude,
        _collections(request, params.collections),
        _config(request.settings.discovery.filter, params.config),
    )
    return protocol.CollectionsAnswer(tuple(refs))


def score(request: Request, params: protocol.ScoreCollectionsParams) -> protocol.CollectionsAnswer:
    terms = params.query_terms
    query, refs = _question(request, params.query), _collections(request, params.collections)
    scored = score_collections(
        content_words(query) if terms is None else terms,
        refs,
        _config(request.settings.discovery.scoring, params.config),
        package_relevance=request.searcher().package_relevance(query, [ref.name for ref in refs]),
    )
    return protocol.CollectionsAnswer(tuple(evolve(ref, score=score) for ref, score in scored))


def expand(request: Request, params: protocol.ExpandQueriesParams) -> protocol.QueriesAnswer:
    config = _config(request.settings.discovery.expansion, params.config)
    return protocol.QueriesAnswer(tuple(expand_queries_baseline(_question(request, params.query), config)))


def search_broadly(request: Request, params: protocol.BroadDiscoveryParams) -> protocol.ChunksAnswer:
    config = _config(request.settings.discovery.broad, params.config)
    queries = _queries(params.queries, config.k_per_query, "config.kPerQuery", MAX_COMPARED)
    places = within(params.filter.path, request.folders).files
    refs = request.collections(places) if params.collections is None else _distinct(params.collections)
    k = _given(params.k, request.settings.discovery.broad_k, MAX_CHUNKS)
    chunks = broad_discovery(request.searcher(places), queries, refs, k, config)
    check_end()
    return protocol.ChunksAnswer(tuple(chunks))


def focus(request: Request, params: protocol.SemanticFocusParams) -> protocol.ChunksAnswer:
    config = _config(request.settings.discovery.focus, params.config)
    k = _given(params.k, request.settings.discovery.focus_k, MAX_CHUNKS)
    queries = _queries(params.queries, 2 * k, "2 k", MAX_RERANKED)
    # With `everywhere`, scores compare a passage with those of all collections, as after a broad search.
    searcher = request.searcher(within(params.filter.path, request.folders).files, everywhere=True)
    chunks = semantic_focus(searcher, _reference(params.collection), queries, k, config)
    check_end()
    return protocol.ChunksAnswer(tuple(chunks))


def promote(request: Request, params: protocol.PromoteReadmeParams) -> protocol.ChunksAnswer:
    config = _config(request.settings.discovery.readme, params.config)
    place = Readme.FIRST if params.query is None else readme_of(request.understood(params.query))
    return protocol.ChunksAnswer(tuple(promote_readme(merge(params.hits), config, place)))


def compress(request: Request, params: protocol.CompressEvidenceParams) -> protocol.BulletsAnswer:
    bullets = compress_evidence(
        params.chunks,
        _given(params.max_bullets, request.settings.discovery.max_bullets, MAX_BULLETS),
        _given(params.max_per_doc, request.settings.discovery.max_per_doc, MAX_CHUNKS),
        _config(request.settings.discovery.compression, params.config),
        _question(request, params.query),
        request.terms(request.understood(params.query)),
    )
    here = verified([bullet for bullet in bullets if request.places_of(bullet.uri)], request.lines_now)
    # Only the client can verify passages of files outside the open folders.
    elsewhere = [evolve(bullet, uri="") for bullet in bullets if not request.places_of(bullet.uri)]
    kept = sorted([*here, *elsewhere], key=lambda bullet: -bullet.score)
    return protocol.BulletsAnswer(tuple(kept))


def plan(request: Request, params: protocol.BuildAnswerPlanParams) -> protocol.PlanAnswer:
    config = _config(request.settings.discovery.plan, params.config)
    return protocol.PlanAnswer(build_answer_plan(_bullets(params.bullets), config))


def render(request: Request, params: protocol.RenderPromptParams) -> protocol.PromptAnswer:
    sections = tuple(evolve(section, bullets=_bullets(section.bullets)) for section in params.plan.sections)
    config = _config(request.settings.discovery.render, params.config)
    count_tokens = request.token_counter(config.tokenizer)
    query = request.understood(params.query)
    prompt = render_llm_prompt(
        leading_plan(evolve(params.plan, sections=sections), readme_of(query), params.excerpts),
        _bullets(params.bullets),
        config,
        count_tokens,
        query.text if query.terms else "",
        excerpts=params.excerpts,
        elsewhere=params.elsewhere,
    )
    return protocol.PromptAnswer(prompt, count_tokens(prompt) if prompt else 0)


def _config(settings: T, values: Mapping[str, Any]) -> T:
    """Return a stage's settings, overridden by the request's. Raise InvalidRequestError for bad ones."""
    config = laid_over(settings, values)
    for name, value in attrs.asdict(config, recurse=False).items():  # type: ignore[arg-type]
        place = f"config.{camel_case(name)}"
        if isinstance(value, int | float) and not value <= MAX_SETTING:
            raise InvalidRequestError(place, f"expected {MAX_SETTING:,} at most, got {value}")
        if isinstance(value, tuple) and len(value) > MAX_GLOBS:
            raise InvalidRequestError(place, f"expected {MAX_GLOBS} at most, got {len(value):,}")
    return config


def _given(value: int | None, setting: int, most: int) -> int:
    """Return the request's number or, if it has none, the setting, limited to what the next stage accepts."""
    return min(setting, most) if value is None else value


def _queries(queries: Sequence[str], each: int, name: str, most: int) -> list[str]:
    """Cut the queries to the maximum length. Raise InvalidRequestError if they request too many chunks."""
    if len(queries) * each > most:
        raise InvalidRequestError(
            "queries",
            f"{len(queries):,} queries times {name} ({each:,}) are more than {most:,} chunks; ask for fewer",
        )
    return [query[:MAX_QUERY_CHARS] for query in queries]


def _reference(given: CollectionRef) -> CollectionRef:
    """Return the collection with its times in a uniform format, because the stages compare them."""
    created_at, updated_at = _moment(given.created_at), _moment(given.updated_at)
    return evolve(given, created_at=created_at, updated_at=updated_at, score=None)


def _moment(given: str | None) -> str | None:
    return datetime.fromisoformat(given).isoformat() if given else None


def _bullets(given: Sequence[Bullet]) -> tuple[Bullet, ...]:
    """Return the bullets, with citations of whole lines."""
    return tuple(bullet.citing(bullet.lines) for bullet in given)
