"""All nine stages in a row: a question in, a prompt with evidence and citations out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from attrs import define, evolve, field, frozen

from cairn.discovery.broad import broad_discovery
from cairn.discovery.compression import compress_evidence
from cairn.discovery.expansion import expand_queries_baseline
from cairn.discovery.filtering import filter_collections
from cairn.discovery.focus import semantic_focus
from cairn.discovery.model import NOTHING_YET, DiscoveryResponse, Searcher
from cairn.discovery.order import merge
from cairn.discovery.plan import build_answer_plan
from cairn.discovery.readme import promote_readme
from cairn.discovery.render import TokenCounter, render_llm_prompt
from cairn.discovery.scoring import score_collections
from cairn.discovery.terms import QueryTerms, content_words
from cairn.discovery.verification import LinesNow, verified
from cairn.protocol.evidence import AnswerPlan, Bullet, CollectionRef, DiscoveryMetrics, ScoredChunk
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import DiscoveryConfig

StageListener = Callable[[str, DiscoveryResponse], None]
"""Receives the name of a stage that has ended and the response as far as it is known by then."""


@frozen
class AskBack:
    """A question to be put to whoever asked."""

    question: str
    instead: bool
    """Whether there is nothing to answer with; otherwise it comes before the answer."""
    unsure: bool = False
    """Whether what was found may be about something else: then only what holds a word of the question is evidence."""


Judge = Callable[[Sequence[ScoredChunk]], AskBack | None]
"""Looks at the chunks that were found, best first; may want a question asked, before the answer or instead of one."""


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
    ask_back: Judge = lambda _: None
    lines_now: LinesNow | None = None
    """With this, evidence that does not stand in its file any more is left out."""
    check_cancelled: Callable[[], None] = lambda: None
    """Called before each stage and before each focused search; what it raises ends the run."""
    on_stage: StageListener = lambda *_: None
    """Hears of each stage when it is done."""

    metrics: DiscoveryMetrics = field(init=False, default=NOTHING_YET.metrics)
    scored: Sequence[tuple[CollectionRef, float]] = field(init=False, default=())
    queries: Sequence[str] = field(init=False, default=())
    chunks: Sequence[ScoredChunk] = field(init=False, default=())
    asking: AskBack | None = field(init=False, default=None)
    bullets: Sequence[Bullet] = field(init=False, default=())
    plan: AnswerPlan = field(init=False, default=NOTHING_YET.plan)
    prompt: str = field(init=False, default="")

    def run(self) -> DiscoveryResponse:
        """The answer to the question, after all stages."""
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
            self.on_stage(stage.__name__, self.response())
        return self.response()

    def response(self) -> DiscoveryResponse:
        """The answer as far as it is known."""
        return DiscoveryResponse(
            self.prompt, self.plan, tuple(self.bullets), tuple(self.chunks), self.metrics
        )

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
        self.chunks = broad_discovery(
            self.searcher, self.queries, self.collections, self.config.broad_k, self.config.broad
        )
        return {"chunks_found": len(self.chunks)}

    def semantic_focus(self) -> Mapping[str, int]:
        found = list(self.chunks)
        for collection, _ in self.scored[: self.config.focus_top_n_collections]:
            self.check_cancelled()
            found += semantic_focus(
                self.searcher, collection, self.queries, self.config.focus_k, self.config.focus
            )
        self.chunks = merge(found)
        return {"chunks_found": len(found), "chunks_after_dedup": len(self.chunks)}

    def promote_readme(self) -> Mapping[str, int]:
        self.asking = self.ask_back(self.chunks)
        self.chunks = promote_readme(self.chunks, self.config.readme, self.readme)
        return {}

    def compress_evidence(self) -> Mapping[str, int]:
        config, asking = self.config, self.asking
        if not (asking and asking.instead):
            self.bullets = compress_evidence(
                self.chunks,
                config.max_bullets,
                config.max_per_doc,
                config.compression,
                self.query,
                self.terms,
            )
        if asking and asking.unsure and self.terms:
            self.bullets = [bullet for bullet in self.bullets if self.terms.coverage(bullet.text)]
        if self.lines_now:
            self.bullets = verified(self.bullets, self.lines_now)
        return {"bullets_extracted": len(self.bullets)}

    def build_answer_plan(self) -> Mapping[str, int]:
        self.plan = build_answer_plan(self.bullets, self.config.plan)
        return {}

    def render_llm_prompt(self) -> Mapping[str, int]:
        ask = self.asking.question if self.asking else ""
        self.prompt = render_llm_prompt(
            self.plan, self.bullets, self.config.render, self.count_tokens, self.query, ask
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
