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
from cairn.discovery import Discovery
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.pipeline import NO_PLAN
from cairn.discovery.scoring import days_since
from cairn.discovery.terms import QueryTerms
from cairn.engine.completeness import index_state
from cairn.engine.kept_answers import characters_of, keep, key_of, latest, recall
from cairn.engine.open_workspace import OpenWorkspace
from cairn.engine.request import CACHE, GENERIC, Attempt, Request, Tell
from cairn.engine.results import milliseconds, search_results
from cairn.engine.scope import within
from cairn.engine.search import nothing_judged
from cairn.errors import InvalidRequestError
from cairn.protocol import AnswerPlan, Bullet, Excerpt, ScoredChunk, SearchResult
from cairn.retrieval.intent import readme_of
from cairn.retrieval.query import MAX_QUERY_CHARS, Query
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import NOTHING_MATCHES, judge
from cairn.schema.convert import unstructure
from cairn.settings.discovery import DiscoveryConfig
from cairn.settings.layers import overlay

logger = logging.getLogger(__name__)

T = TypeVar("T")


def discover(workspace: OpenWorkspace, params: protocol.DiscoverParams) -> Attempt[protocol.DiscoverAnswer]:
    """`cairn/discover`: all nine stages. An answer that nothing was missing from is kept, as `search` keeps its own.

    No stage is told of a kept answer: none runs. Raises QueryCancelledError soon after the request was cancelled.
    """
    started = time.perf_counter()
    config = _discovery_config(workspace.settings.discovery, params)
    places = within(params.filter.path, workspace.folders)
    count_tokens, collections = (
        workspace.token_counter(config.render.tokenizer),
        workspace.collections(places),
    )
    now = datetime.now(UTC)
    ages = tuple(days_since(ref.updated_at, now) for ref in collections)
    key = key_of(workspace, _asked(params), count_tokens, ages)
    if (kept := recall(workspace, key)) is not None:
        index = index_state(workspace.folders, (each.folder for each in kept.excerpts))
        return Attempt(_again(kept, milliseconds(started), index), cached=True)
    query = workspace.understood(params.query)
    asked = _Discovery(workspace, query, workspace.terms(query), workspace.searcher(places), _cut(params))
    stages = Discovery(
        searcher=asked.searcher,
        collections=collections,
        query=query.text if query.terms else "",  # variations of nothing would find something
        config=config,
        count_tokens=count_tokens,
        include=params.include or None,
        exclude=params.exclude,
        terms=asked.terms,
        readme=readme_of(query),
        judge=asked.judge,
        folders=workspace.folder_uris,
        lines_now=workspace.lines_now,
        check_cancelled=workspace.check_cancelled,
    )
    if workspace.tell:
        stages.on_stage = asked.listener(workspace.tell)
    stages.run()
    chunks = asked.results(stages.chunks)
    answer = protocol.DiscoverAnswer(
        answer_prompt=stages.prompt,
        plan=_rounded_plan(stages.plan),
        bullets=_rounded(stages.bullets),
        chunks=chunks,
        verdict=stages.verdict or nothing_judged(NOTHING_MATCHES),
        metrics=stages.metrics,
        index=index_state(workspace.folders, (each.folder for each in stages.excerpts)),
        excerpts=_rounded_excerpts(stages.excerpts),
    )
    if asked.searcher.whole:
        keep(workspace, key, answer, _characters(params, answer))
    without_vectors = asked.searcher.without_vectors
    return Attempt(answer, "Vectors could not be compared." if without_vectors else None, without_vectors)


@define
class _Discovery:
    """One question, as the stages judge and show what they found."""

    workspace: OpenWorkspace
    query: Query
    terms: QueryTerms
    searcher: IndexedSearcher
    cut: str
    """What to say of a question that was too long; "" of any other."""

    def results(self, chunks: Sequence[ScoredChunk]) -> tuple[SearchResult, ...]:
        return search_results(self.workspace, in_order(chunks, self.searcher.found), self.query)

    def judge(self, chunks: Sequence[ScoredChunk]) -> protocol.Verdict:
        """What to do with what was found."""
        found = in_order(chunks, self.searcher.found)
        settings = self.workspace.settings.search.verdict
        verdict = judge(self.query, found, settings, self.terms.shares, self.searcher.strength)
        return evolve(verdict, note=" ".join(filter(None, (verdict.note, self.cut))))

    def listener(self, tell: Tell) -> Callable[[str, Discovery], None]:
        """A listener to the stages that tells what each changed of the answer."""
        known: tuple[Any, ...] = (), (), NO_PLAN, (), ""

        def on_stage(stage: str, now: Discovery) -> None:
            nonlocal known
            chunks, bullets, plan, excerpts, prompt = known
            known = now.chunks, now.bullets, now.plan, now.excerpts, now.prompt
            tell(
                protocol.DiscoverProgress(
                    stage=stage,
                    metrics=now.metrics,
                    chunks=self.results(now.chunks) if now.chunks != chunks else None,
                    bullets=_rounded(now.bullets) if now.bullets != bullets else None,
                    plan=_rounded_plan(now.plan) if now.plan != plan else None,
                    excerpts=_rounded_excerpts(now.excerpts) if now.excerpts != excerpts else None,
                    answer_prompt=now.prompt if now.prompt != prompt else None,
                )
            )

        return on_stage


def in_order(chunks: Sequence[ScoredChunk], found: Mapping[str, Ranked]) -> list[Ranked]:
    """The passages behind `chunks`, in their order and with their scores."""
    return [
        evolve(ranked, score=min(1.0, chunk.score)) for chunk in chunks if (ranked := found.get(chunk.doc_id))
    ]


def _rounded(bullets: Sequence[Bullet]) -> tuple[Bullet, ...]:
    """The bullets with scores as they are shown."""
    return tuple(evolve(bullet, score=round(bullet.score, 4)) for bullet in bullets)


def _rounded_excerpts(excerpts: Sequence[Excerpt]) -> tuple[Excerpt, ...]:
    return tuple(evolve(excerpt, score=round(excerpt.score, 4)) for excerpt in excerpts)


def _rounded_plan(plan: AnswerPlan) -> AnswerPlan:
    sections = (evolve(section, bullets=_rounded(section.bullets)) for section in plan.sections)
    return evolve(plan, sections=tuple(sections))


def _cut(params: protocol.DiscoverParams) -> str:
    length = len(params.query)
    return (
        f"Only the first {MAX_QUERY_CHARS:,} of {length:,} characters were used."
        if length > MAX_QUERY_CHARS
        else ""
    )


def _asked(params: protocol.DiscoverParams) -> bytes:
    """The question as a part of a key: its `config` is a dictionary."""
    return json.dumps(unstructure(params), sort_keys=True).encode()


def _again(kept: protocol.DiscoverAnswer, ms: float, index: protocol.IndexState) -> protocol.DiscoverAnswer:
    """A kept answer, with how long it took to look it up instead of to find it."""
    metrics = evolve(kept.metrics, total_time_ms=ms, stages={"cached": ms})
    return evolve(kept, metrics=metrics, index=index)


def _characters(params: protocol.DiscoverParams, answer: protocol.DiscoverAnswer) -> int:
    texts = [params.query, answer.answer_prompt]
    texts += [bullet.text for bullet in answer.bullets]
    texts += [excerpt.text for excerpt in answer.excerpts]
    return sum(map(len, texts)) + characters_of(answer.chunks)


def stand_in(
    request: Request, params: protocol.DiscoverParams, message: str
) -> tuple[protocol.DiscoverAnswer, str]:
    """What answers where nothing can be searched, and what it is.

    That is the latest answer to the same question over the same folders, where what it quotes still stands in its files,
    marked as incomplete; or a message alone, which is what a language model is told, too.
    """
    if (kept := latest(request, _asked(params))) is not None:
        return _again(kept, 0.0, evolve(kept.index, complete=False)), CACHE
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
    """The settings with the request's own laid over them. Raises InvalidRequestError for a bad field."""
    config = laid_over(config, params.config)
    if params.max_bullets is not None:
        config = evolve(config, max_bullets=params.max_bullets)
    if params.format is not None:
        config = evolve(config, render=evolve(config.render, format_style=params.format))
    return config


def laid_over(config: T, values: Mapping[str, Any]) -> T:
    """A request's own `config` laid over the settings. Raises InvalidRequestError for a bad field."""
    config, problems = overlay(config, values, "config")
    if problems:
        field, _, problem = problems[0].partition(": ")
        raise InvalidRequestError(field, problem)
    if values and getattr(getattr(config, "focus", config), "cross_encoder", False):
        logger.warning("crossEncoder has no effect: no cross-encoder comes with Cairn")
    return config
