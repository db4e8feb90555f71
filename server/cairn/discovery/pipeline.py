"""All nine stages in a row: a question in, a prompt with evidence and citations out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from attrs import define, evolve, field

from cairn.discovery.broad import broad_discovery
from cairn.discovery.compression import compress_evidence
from cairn.discovery.expansion import expand_queries_baseline
from cairn.discovery.filtering import filter_collections
from cairn.discovery.focus import semantic_focus
from cairn.discovery.order import merge
from cairn.discovery.plan import build_answer_plan
from cairn.discovery.readme import promote_readme
from cairn.discovery.render import TokenCounter, render_llm_prompt
from cairn.discovery.scoring import score_collections
from cairn.discovery.searcher import Searcher
from cairn.discovery.terms import QueryTerms, content_words
from cairn.discovery.verification import LinesNow, verified
from cairn.protocol.evidence import AnswerPlan, Bullet, CollectionRef, DiscoveryMetrics, ScoredChunk
from cairn.protocol.search import Verdict
from cairn.retrieval.intent import Readme
from cairn.retrieval.verdict import Action
from cairn.settings.discovery import DiscoveryConfig

NO_PLAN = AnswerPlan((), 0, ())
Judge = Callable[[Sequence[ScoredChunk]], Verdict | None]
"""Looks at the chunks that were found, best first. Where its verdict is not to answer, the message is a question to be put
to whoever asked, before the answer or, where nothing matches, instead of one."""


@define(kw_only=True)
class Discovery:
    """A question on its way through the stages (S1, `cursor_discover`): what is asked, and what was found so far."""

    searcher: Searcher
    collections: Sequence[CollectionRef]
    query: str
    config: DiscoveryConfig
    count_tokens: TokenCounter
    """Measures the prompt."""
    include: Sequence[str] | None = None
    """Globs over collection names, as in `filter_collections`; so is `exclude`."""
    exclude: Sequence[str] | None = None
    terms: QueryTerms | None = None
    """What `compress_evidence` takes."""
    readme: Readme = Readme.FIRST
    """What `promote_readme` takes."""
    judge: Judge = lambda _: None
    lines_now: LinesNow | None = None
    """With this, evidence that does not stand in its file any more is left out."""
    check_cancelled: Callable[[], None] = lambda: None
    """Called before each stage and before each focused search; what it raises ends the run."""
    on_stage: Callable[[str, Discovery], None] = lambda *_: None
    """Hears the name of each stage when it is done, and looks at what is known by then."""

    metrics: DiscoveryMetrics = field(init=False, factory=DiscoveryMetrics)
    scored: Sequence[tuple[CollectionRef, float]] = field(init=False, default=())
    queries: Sequence[str] = field(init=False, default=())
    chunks: tuple[ScoredChunk, ...] = field(init=False, default=())
    verdict: Verdict | None = field(init=False, default=None)
    question: str = field(init=False, default="")
    """What to ask back."""
    bullets: tuple[Bullet, ...] = field(init=False, default=())
    plan: AnswerPlan = field(init=False, default=NO_PLAN)
    prompt: str = field(init=False, default="")

    def run(self) -> Discovery:
        """Go through all stages; what was found then is the answer."""
        # The prompt that is chosen was counted before.
        self.count_tokens = lru_cache(maxsize=None)(self.count_tokens)
        started = time.perf_counter()
        for stage in _STAGES:
            self.check_cancelled()
            began = time.perf_counter()
            counts = stage(self)
            ended = time.perf_counter()
            self.metrics = evolve(
                self.metrics,
                stages={**self.metrics.stages, stage.__name__: _milliseconds(began, ended)},
                total_time_ms=_milliseconds(started, ended),
                **counts,
            )
            self.on_stage(stage.__name__, self)
        return self

    # --- the stages; each returns what it adds to the metrics -------------------------------------------

    def filter_collections(self) -> Mapping[str, int]:
        self.collections = filter_collections(
            self.query, self.include, self.exclude, self.collections, self.config.filter
        )
        return {"collections_searched": len(self.collections)}

    def score_collections(self) -> Mapping[str, int]:
        self.scored = score_collections(content_words(self.query), self.collections, self.config.scoring)
        return {}

    def expand_queries_baseline(self) -> Mapping[str, int]:
        self.queries = expand_queries_baseline(self.query, self.config.expansion)
        return {"queries_generated": len(self.queries)}

    def broad_discovery(self) -> Mapping[str, int]:
        self.chunks = tuple(
            broad_discovery(
                self.searcher, self.queries, self.collections, self.config.broad_k, self.config.broad
            )
        )
        return {"chunks_found": len(self.chunks)}

    def semantic_focus(self) -> Mapping[str, int]:
        found = list(self.chunks)
        for collection, _ in self.scored[: self.config.focus_top_n_collections]:
            self.check_cancelled()
            found += semantic_focus(
                self.searcher, collection, self.queries, self.config.focus_k, self.config.focus
            )
        self.chunks = tuple(merge(found))
        return {"chunks_found": len(found), "chunks_after_dedup": len(self.chunks)}

    def promote_readme(self) -> Mapping[str, int]:
        self.verdict = verdict = self.judge(self.chunks)
        self.question = verdict.message if verdict and verdict.action != Action.ANSWER else ""
        self.chunks = tuple(promote_readme(self.chunks, self.config.readme, self.readme))
        return {}

    def compress_evidence(self) -> Mapping[str, int]:
        config, verdict = self.config, self.verdict
        bullets: list[Bullet] = []
        if verdict is None or verdict.action != Action.NO_MATCH:
            bullets = compress_evidence(
                self.chunks,
                config.max_bullets,
                config.max_per_doc,
                config.compression,
                self.query,
                self.terms,
            )
        if verdict and self.question and self.terms and len(verdict.candidates) <= 1:
            # What was found may be about something else; of two candidates, each is called what was asked for.
            bullets = [bullet for bullet in bullets if self.terms.coverage(bullet.text)]
        self.bullets = tuple(verified(bullets, self.lines_now) if self.lines_now else bullets)
        return {"bullets_extracted": len(self.bullets)}

    def build_answer_plan(self) -> Mapping[str, int]:
        self.plan = build_answer_plan(self.bullets, self.config.plan)
        return {}

    def render_llm_prompt(self) -> Mapping[str, int]:
        self.prompt = render_llm_prompt(
            self.plan, self.bullets, self.config.render, self.count_tokens, self.query, self.question
        )
        return {"final_prompt_tokens": self.count_tokens(self.prompt) if self.prompt else 0}


_STAGES: Sequence[Callable[[Discovery], Mapping[str, int]]] = (
    Discovery.filter_collections,
    Discovery.score_collections,
    Discovery.expand_queries_baseline,
    Discovery.broad_discovery,
    Discovery.semantic_focus,
    Discovery.promote_readme,
    Discovery.compress_evidence,
    Discovery.build_answer_plan,
    Discovery.render_llm_prompt,
)
"""In the order in which they run; the metrics name each by its function."""


def _milliseconds(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
