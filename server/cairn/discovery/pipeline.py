"""Runs all nine stages, from a question to a prompt with evidence and citations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from attrs import define, evolve, field

from cairn.discovery.compression import compress_evidence
from cairn.discovery.excerpts import LinesNow, Quoter, verified
from cairn.discovery.further_places import PlaceNamer
from cairn.discovery.indexed_searcher import IndexedSearcher, merge
from cairn.discovery.layout import tokens_for_places
from cairn.discovery.preparation import (
    QueryTerms,
    content_words,
    expand_queries_baseline,
    filter_collections,
    score_collections,
)
from cairn.discovery.render import build_answer_plan, frame, render_llm_prompt
from cairn.discovery.searching import broad_discovery, promote_readme, semantic_focus
from cairn.embedding.shared import TokenCounter
from cairn.index.store.deadline import check_end
from cairn.protocol.discovery_messages import (
    AnswerPlan,
    Bullet,
    CollectionRef,
    DiscoveryMetrics,
    Excerpt,
    NamedPlace,
    ScoredChunk,
    ShownPlace,
)
from cairn.protocol.search_messages import Verdict
from cairn.retrieval.intent import Readme
from cairn.retrieval.verdict import WEAK, Action
from cairn.settings.discovery import DiscoveryConfig

NO_PLAN = AnswerPlan((), 0, ())
_NEAREST_SHARE = 0.25
"""The share of the prompt's budget for the nearest excerpts if nothing matches, in case that is wrong."""
_LEAST_COVERAGE = 0.5
"""The minimum share of the question that such excerpts must cover."""
CHANGED = "What was found has changed since it was indexed. Shall I look again?"
"""The question to the user if none of the evidence is in its files any more."""
Judge = Callable[[Sequence[ScoredChunk]], Verdict | None]
"""Judges the chunks that were found, best first. If the verdict is not `ANSWER`, its message is a question to
the user. The question comes before the answer or, if nothing matches, replaces it."""


@define(kw_only=True)
class Discovery:
    """A question on its way through the stages, with the results so far."""

    searcher: IndexedSearcher
    collections: Sequence[CollectionRef]
    query: str
    config: DiscoveryConfig
    count_tokens: TokenCounter
    """The function that counts the tokens of the prompt."""
    include: Sequence[str] | None = None
    """Globs over the names of collections to search; `exclude` has those of collections to leave out."""
    exclude: Sequence[str] | None = None
    terms: QueryTerms | None = None
    """The argument `terms` of `compress_evidence`."""
    readme: Readme = Readme.FIRST
    """The argument `place` of `promote_readme`."""
    judge: Judge = lambda _: None
    folders: Sequence[str] = ()
    """The URIs of the searched folders."""
    lines_now: LinesNow | None = None
    """Returns the current lines of a file. If given, evidence that is no longer in its file is left out."""
    known: Mapping[str, Set[int]] = field(factory=dict)
    """The numbers of the lines that the reader has already, counted from 0, by the URI of their file."""
    on_stage: Callable[[str, Discovery], None] = lambda *_: None
    """Called after each stage, with its name and the results so far."""

    metrics: DiscoveryMetrics = field(init=False, factory=DiscoveryMetrics)
    chunks: tuple[ScoredChunk, ...] = field(init=False, default=())
    verdict: Verdict | None = field(init=False, default=None)
    bullets: tuple[Bullet, ...] = field(init=False, default=())
    excerpts: tuple[Excerpt, ...] = field(init=False, default=())
    elsewhere: tuple[NamedPlace, ...] = field(init=False, default=())
    repeated: tuple[ShownPlace, ...] = field(init=False, default=())
    """The passages that were left out because the reader has them, best first."""
    has_more: bool = field(init=False, default=False)
    """Whether further excerpts did not fit into the prompt."""
    plan: AnswerPlan = field(init=False, default=NO_PLAN)
    prompt: str = field(init=False, default="")
    _started: float = field(init=False, factory=time.perf_counter)

    def run(self) -> Discovery:
        """Run all stages. Return self, which then has the results."""
        query, config = self.query, self.config
        # The tokens of the chosen prompt were counted before.
        count_tokens = lru_cache(maxsize=None)(self.count_tokens)
        with self._stage("filter_collections"):
            refs = filter_collections(query, self.include, self.exclude, self.collections, config.filter)
            self._count(collections_searched=len(refs))
        with self._stage("score_collections"):
            package_relevance = self.searcher.package_relevance(query, [ref.name for ref in refs])
            scored = score_collections(
                content_words(query), refs, config.scoring, package_relevance=package_relevance
            )
        with self._stage("expand_queries_baseline"):
            queries = expand_queries_baseline(query, config.expansion)
            self._count(queries_generated=len(queries))
        with self._stage("broad_discovery"):
            found = broad_discovery(self.searcher, queries, refs, config.broad_k, config.broad)
            self.chunks = tuple(found)
            self._count(chunks_found=len(found))
        with self._stage("semantic_focus"):
            for ref, _ in scored[: config.focus_top_n_collections]:
                check_end()
                found += semantic_focus(self.searcher, ref, queries, config.focus_k, config.focus)
            self.chunks = tuple(merge(found))
            self._count(chunks_found=len(found), chunks_after_dedup=len(self.chunks))
        with self._stage("promote_readme"):
            self.verdict = self.judge(self.chunks)
            self.chunks = tuple(promote_readme(self.chunks, config.readme, self.readme))
        with self._stage("compress_evidence"):
            evidence = self._evidence()
            self.bullets = tuple(verified(evidence, self.lines_now) if self.lines_now else evidence)
            budget = self._evidence_budget()
            for_places = tokens_for_places(budget)
            self._quote(budget - for_places)
            self.elsewhere = tuple(self._elsewhere(for_places))
            if evidence and self.verdict and not (self.bullets or self.excerpts or self.repeated):
                self.verdict = evolve(self.verdict, action=Action.NO_MATCH, message=CHANGED, candidates=())
            self._count(bullets_extracted=len(self.bullets))
        with self._stage("build_answer_plan"):
            self.plan = build_answer_plan(self.bullets, config.plan)
        with self._stage("render_llm_prompt"):
            plan = leading_plan(self.plan, self.readme, self.excerpts)
            self.prompt = render_llm_prompt(
                plan,
                self.bullets,
                config.render,
                count_tokens,
                query,
                self._question_instead,
                self.excerpts,
                self._warning,
                self.elsewhere,
            )
            self._count(final_prompt_tokens=count_tokens(self.prompt) if self.prompt else 0)
        return self

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Time a stage, and report its end to `on_stage`."""
        check_end()
        began = time.perf_counter()
        yield
        ended = time.perf_counter()
        stages = {**self.metrics.stages, name: _milliseconds(began, ended)}
        self.metrics = evolve(self.metrics, stages=stages, total_time_ms=_milliseconds(self._started, ended))
        self.on_stage(name, self)

    def _count(self, **counts: Any) -> None:
        self.metrics = evolve(self.metrics, **counts)

    @property
    def _question_back(self) -> str:
        """The question to the user; "" if the verdict is `ANSWER`."""
        verdict = self.verdict
        return verdict.message if verdict and verdict.action != Action.ANSWER else ""

    @property
    def _question_instead(self) -> str:
        """The question that replaces the answer in the prompt; "" if the prompt contains evidence."""
        refused = self.verdict and self.verdict.action == Action.NO_MATCH
        return self._question_back if refused or not (self.bullets or self.excerpts) else ""

    @property
    def _warning(self) -> str:
        """The warning in the prompt that the evidence may not be an answer."""
        return WEAK if self.verdict and self.verdict.message == WEAK else ""

    def _evidence(self) -> list[Bullet]:
        config, verdict = self.config, self.verdict
        if verdict and verdict.action == Action.NO_MATCH:
            return []
        bullets = compress_evidence(
            self.chunks, config.max_bullets, config.max_per_doc, config.compression, self.query, self.terms
        )
        if verdict and self._question_back and self.terms and len(verdict.candidates) <= 1:
            # The evidence may be about something else. If there are two candidates, each has the name in the
            # question.
            bullets = [bullet for bullet in bullets if self.terms.coverage(bullet.text)]
        return bullets

    def _evidence_budget(self) -> int:
        """Return how many tokens are left for excerpts and places; fewer if nothing matches."""
        config, verdict = self.config.render, self.verdict
        left = config.max_prompt_tokens - self.count_tokens(frame(config, self.query, self._warning))
        if verdict and verdict.action == Action.NO_MATCH:
            left = int(_NEAREST_SHARE * left) if verdict.coverage >= _LEAST_COVERAGE else 0
        return max(0, left)

    def _quote(self, budget: int) -> None:
        """Choose the excerpts, and note which passages the reader has already."""
        if self.lines_now is None or not budget:
            return
        outlines = self.searcher.outlines
        quoter = Quoter(
            self.folders, outlines, self.lines_now, self.count_tokens, self.config.render, self.known
        )
        self.excerpts = tuple(quoter.quote(self.searcher.passages(), budget))
        self.repeated, self.has_more = tuple(quoter.repeated), quoter.has_more

    def _elsewhere(self, budget: int) -> list[NamedPlace]:
        if self.lines_now is None or not (self.excerpts or self.repeated):
            return []
        namer = PlaceNamer(self.folders, self.searcher.readers, self.lines_now, self.count_tokens)
        return namer.name(self.searcher.elsewhere(self.excerpts, self.known), budget)


def leading_plan(plan: AnswerPlan, readme: Readme, excerpts: Sequence[Excerpt]) -> AnswerPlan:
    """Return the plan for the prompt. With excerpts, it is empty unless the question is what something is."""
    return plan if readme is Readme.FIRST or not excerpts else NO_PLAN


def _milliseconds(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
