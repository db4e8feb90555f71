"""Answers `cairn/discover`: the nine stages over the open folders' indexes."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from attrs import define, evolve

from cairn import protocol
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.pipeline import NO_PLAN, Discovery
from cairn.discovery.preparation import QueryTerms, days_since
from cairn.engine.completeness import index_state
from cairn.engine.methods import Tell
from cairn.engine.quoting import as_quote
from cairn.engine.request import CACHE, GENERIC, Attempt, Request
from cairn.engine.results import characters_of, milliseconds, search_results
from cairn.engine.scope import within
from cairn.engine.search import judged, nothing_judged
from cairn.errors import InvalidRequestError
from cairn.protocol import AnswerPlan, Bullet, Excerpt, ScoredChunk, SearchResult
from cairn.retrieval.intent import readme_of
from cairn.retrieval.place_choice import whole_chunks
from cairn.retrieval.query import MAX_QUERY_CHARS, Query
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import NOTHING_MATCHES
from cairn.schema.convert import unstructure
from cairn.settings.discovery import DiscoveryConfig
from cairn.settings.layers import overlay

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Scored = TypeVar("_Scored", Bullet, Excerpt)


def discover(request: Request, params: protocol.DiscoverParams) -> Attempt[protocol.DiscoverAnswer]:
    """Run all nine stages for `cairn/discover`. A complete answer is cached; reusing it reports no stages."""
    started = time.perf_counter()
    config = _discovery_config(request.settings.discovery, params)
    scope = within(params.filter.path, request.folders)
    places = scope.files
    count_tokens = request.token_counter(config.render.tokenizer)
    collections = request.collections(places)
    now = datetime.now(UTC)
    ages = tuple(days_since(ref.updated_at, now) for ref in collections)
    key = request.cache_key(_request_key(params), count_tokens, ages)
    if (cached := request.recall(key)) is not None:
        index = index_state(request, cached.excerpts)
        return Attempt(_cached_answer(cached, milliseconds(started), index), cached=True)
    query = request.understood(params.query)
    discovery = _Discovery(
        request, query, request.terms(query), request.searcher(places), (scope.note, _cut(params))
    )
    stages = Discovery(
        searcher=discovery.searcher,
        collections=collections,
        query=query.text
        if query.terms
        else "",  # Otherwise, variations of a query without terms would find something.
        config=config,
        count_tokens=count_tokens,
        include=params.include or None,
        exclude=params.exclude,
        terms=discovery.terms,
        readme=readme_of(query),
        judge=discovery.judge,
        folders=request.folder_uris,
        lines_now=request.lines_now,
        known=_known(request, params.shown),
    )
    if request.tell:
        stages.on_stage = discovery.listener(request.tell)
    stages.run()
    verdict = stages.verdict or nothing_judged(NOTHING_MATCHES)
    if quote := as_quote(request, params.query, verdict, places):
        return discover(request, evolve(params, query=quote))
    answer = protocol.DiscoverAnswer(
        answer_prompt=stages.prompt,
        plan=_rounded_plan(stages.plan),
        bullets=_rounded(stages.bullets),
        chunks=discovery.results(stages.chunks),
        verdict=verdict,
        metrics=stages.metrics,
        index=index_state(request, stages.excerpts),
        excerpts=_rounded(stages.excerpts),
        elsewhere=stages.elsewhere,
        repeated=stages.repeated,
        has_more=stages.has_more,
    )
    if discovery.searcher.whole:
        request.keep(key, answer, _characters(params, answer))
    without_vectors = discovery.searcher.without_vectors
    return Attempt(answer, "Vectors could not be compared." if without_vectors else None, without_vectors)


@define
class _Discovery:
    request: Request
    query: Query
    terms: QueryTerms
    searcher: IndexedSearcher
    remarks: tuple[str, ...]
    """Sentences on how the request was understood; some may be empty."""

    def results(self, chunks: Sequence[ScoredChunk]) -> tuple[SearchResult, ...]:
        rows = whole_chunks(self.request.readers, in_order(chunks, self.searcher.found))
        return search_results(self.request, rows, QueryWords(self.query, self.terms.shares))

    def judge(self, chunks: Sequence[ScoredChunk]) -> protocol.Verdict:
        found = in_order(chunks, self.searcher.found)
        remarks = *self.remarks, self.searcher.remark
        return judged(self.request, self.query, found, self.terms.shares, self.searcher.strength, *remarks)

    def listener(self, tell: Tell) -> Callable[[str, Discovery], None]:
        """Return a listener for the stages that reports which parts of the answer each stage changed."""
        last: tuple[Any, ...] = (), (), NO_PLAN, (), (), ""

        def on_stage(stage: str, now: Discovery) -> None:
            nonlocal last
            chunks, bullets, plan, excerpts, elsewhere, prompt = last
            last = now.chunks, now.bullets, now.plan, now.excerpts, now.elsewhere, now.prompt
            tell(
                protocol.DiscoverProgress(
                    stage=stage,
                    metrics=now.metrics,
                    chunks=self.results(now.chunks) if now.chunks != chunks else None,
                    bullets=_rounded(now.bullets) if now.bullets != bullets else None,
                    plan=_rounded_plan(now.plan) if now.plan != plan else None,
                    excerpts=_rounded(now.excerpts) if now.excerpts != excerpts else None,
                    elsewhere=now.elsewhere if now.elsewhere != elsewhere else None,
                    answer_prompt=now.prompt if now.prompt != prompt else None,
                )
            )

        return on_stage


def _known(request: Request, shown: Sequence[protocol.ShownPlace]) -> dict[str, set[int]]:
    """Return the numbers of the shown lines that their files have, by the URI of the file."""
    known: dict[str, set[int]] = {}
    for each in shown:
        count = len(request.lines_now(each.uri) or ())
        last = min(each.range.end.line, count)
        known.setdefault(each.uri, set()).update(range(each.range.start.line, last))
    return known


def in_order(chunks: Sequence[ScoredChunk], found: Mapping[str, Ranked]) -> list[Ranked]:
    """Return the passages of `chunks`, in the same order and with the same scores."""
    return [
        evolve(ranked, score=min(1.0, chunk.score)) for chunk in chunks if (ranked := found.get(chunk.doc_id))
    ]


def _rounded(scored: Sequence[_Scored]) -> tuple[_Scored, ...]:
    return tuple(evolve(each, score=round(each.score, 4)) for each in scored)


def _rounded_plan(plan: AnswerPlan) -> AnswerPlan:
    sections = (evolve(section, bullets=_rounded(section.bullets)) for section in plan.sections)
    return evolve(plan, sections=tuple(sections))


def _cut(params: protocol.DiscoverParams) -> str:
    length = len(params.query)
    if length <= MAX_QUERY_CHARS:
        return ""
    return f"Only the first {MAX_QUERY_CHARS:,} of {length:,} characters were used."


def _request_key(params: protocol.DiscoverParams) -> bytes:
    """Return the params as a hashable part of a cache key; their `config` is a dictionary."""
    return json.dumps(unstructure(params), sort_keys=True).encode()


def _cached_answer(
    cached: protocol.DiscoverAnswer, ms: float, index: protocol.IndexState
) -> protocol.DiscoverAnswer:
    """Return a cached answer with the time of its lookup, in ms, and the current state of the index."""
    metrics = evolve(cached.metrics, total_time_ms=ms, stages={"cached": ms})
    return evolve(cached, metrics=metrics, index=index)


def _characters(params: protocol.DiscoverParams, answer: protocol.DiscoverAnswer) -> int:
    texts = [params.query, answer.answer_prompt]
    texts += [bullet.text for bullet in answer.bullets]
    texts += [excerpt.text for excerpt in answer.excerpts]
    return sum(map(len, texts)) + characters_of(answer.chunks)


def fallback_answer(
    request: Request, params: protocol.DiscoverParams, message: str
) -> tuple[protocol.DiscoverAnswer, str]:
    """Return an earlier answer with unchanged files, or else `message`; and the kind, CACHE or GENERIC."""
    if (cached := request.latest_answer(_request_key(params))) is not None:
        return _cached_answer(cached, 0.0, evolve(cached.index, complete=False)), CACHE
    answer = protocol.DiscoverAnswer(
        answer_prompt=message,
        plan=NO_PLAN,
        bullets=(),
        chunks=(),
        verdict=nothing_judged(message),
        metrics=protocol.DiscoveryMetrics(),
        index=protocol.IndexState(0, False),
    )
    return answer, GENERIC


def _discovery_config(config: DiscoveryConfig, params: protocol.DiscoverParams) -> DiscoveryConfig:
    """Return the settings, overridden by those of the request. Raise InvalidRequestError for a bad field."""
    config = laid_over(config, params.config)
    if params.max_bullets is not None:
        config = evolve(config, max_bullets=params.max_bullets)
    if params.format is not None:
        config = evolve(config, render=evolve(config.render, format_style=params.format))
    return config


def laid_over(config: T, values: Mapping[str, Any]) -> T:
    """Return `config`, overridden by a request's `values`. Raise InvalidRequestError for a bad field."""
    config, problems = overlay(config, values, "config")
    if problems:
        field, _, problem = problems[0].partition(": ")
        raise InvalidRequestError(field, problem)
    if values and getattr(getattr(config, "focus", config), "cross_encoder", False):
        logger.warning("crossEncoder has no effect: no cross-encoder comes with Cairn")
    return config
