"""All nine stages in a row: a question in, a prompt with evidence and citations out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import attrs
from attrs import define, field, frozen

from cairn.discovery.broad import broad_discovery
from cairn.discovery.compression import compress_evidence
from cairn.discovery.expansion import expand_queries_baseline
from cairn.discovery.filtering import filter_collections
from cairn.discovery.focus import semantic_focus
from cairn.discovery.model import (
    AnswerPlan,
    Bullet,
    CollectionRef,
    DiscoveryMetrics,
    DiscoveryResponse,
    ScoredChunk,
    Searcher,
)
from cairn.discovery.order import merge
from cairn.discovery.plan import build_answer_plan
from cairn.discovery.readme import promote_readme
from cairn.discovery.render import TokenCounter, render_llm_prompt
from cairn.discovery.scoring import score_collections
from cairn.discovery.terms import QueryTerms, content_words
from cairn.discovery.verification import LinesNow, verified
from cairn.retrieval.intent import Readme
from cairn.settings.tree import DiscoveryConfig

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


def discover(
    searcher: Searcher,
    collections: Sequence[CollectionRef],
    query: str,
    config: DiscoveryConfig,
    *,
    count_tokens: TokenCounter,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    terms: QueryTerms | None = None,
    readme: Readme = Readme.FIRST,
    ask_back: Callable[[Sequence[ScoredChunk]], AskBack | None] | None = None,
    lines_now: LinesNow | None = None,
    check_cancelled: Callable[[], None] | None = None,
    on_stage: StageListener | None = None,
) -> DiscoveryResponse:
    """Answer `query` from `collections` (S1, `cursor_discover`).

    `include` and `exclude` are globs over collection names, as in `filter_collections`. `count_tokens`
    measures the prompt. `terms` are what `compress_evidence` takes, `readme` what `promote_readme` does. `ask_back` sees
    the chunks that were found, best first, and may want a question asked, before the answer or instead of one. With
    `lines_now`, evidence that does not stand in its file any more is left out. `check_cancelled` is called before each
    stage and before each focused search; what it raises ends the run. `on_stage` hears of each stage when it is done.

    The metrics count: collections that were searched, queries, chunks found (broad and focused
    together), chunks left after each is kept once, bullets, tokens of the prompt; and milliseconds, in
    all and by stage.
    """
    run = _Run(check_cancelled, on_stage)
    count = lru_cache(maxsize=None)(count_tokens)  # the prompt that is chosen was counted before

    with run.stage("filter_collections"):
        filtered = filter_collections(query, include, exclude, collections, config.filter)
        run.measure(collections_searched=len(filtered))

    with run.stage("score_collections"):
        scored = score_collections(content_words(query), filtered, config.scoring)

    with run.stage("expand_queries_baseline"):
        queries = expand_queries_baseline(query, config.expansion)
        run.measure(queries_generated=len(queries))

    with run.stage("broad_discovery"):
        broad = broad_discovery(searcher, queries, filtered, config.broad_k, config.broad)
        run.measure(chunks_found=len(broad))
        run.update(chunks=tuple(broad))

    with run.stage("semantic_focus"):
        focused: list[ScoredChunk] = []
        for collection, _ in scored[: config.focus_top_n_collections]:
            run.check_cancelled()
            focused.extend(semantic_focus(searcher, collection, queries, config.focus_k, config.focus))
        chunks = merge([*broad, *focused])
        run.measure(chunks_found=len(broad) + len(focused), chunks_after_dedup=len(chunks))
        run.update(chunks=tuple(chunks))

    with run.stage("promote_readme"):
        asking = ask_back(chunks) if ask_back else None
        chunks = promote_readme(chunks, config.readme, readme)
        run.update(chunks=tuple(chunks))

    with run.stage("compress_evidence"):
        bullets: list[Bullet] = []
        if not (asking and asking.instead):
            bullets = compress_evidence(
                chunks, config.max_bullets, config.max_per_doc, config.compression, query, terms
            )
        if asking and asking.unsure and terms:
            bullets = [bullet for bullet in bullets if terms.coverage(bullet.text)]
        if lines_now:
            bullets = verified(bullets, lines_now)
        run.measure(bullets_extracted=len(bullets))
        run.update(bullets=tuple(bullets))

    with run.stage("build_answer_plan"):
        plan = build_answer_plan(bullets, config.plan)
        run.update(plan=plan)

    with run.stage("render_llm_prompt"):
        prompt = render_llm_prompt(
            plan, bullets, config.render, count, query, asking.question if asking else ""
        )
        run.measure(final_prompt_tokens=count(prompt) if prompt else 0)
        run.update(answer_prompt=prompt)

    return run.response


def _nothing_yet() -> DiscoveryResponse:
    return DiscoveryResponse("", AnswerPlan(), (), (), DiscoveryMetrics())


@define
class _Run:
    """The response as it grows, its clock, and those who watch it."""

    _cancelled: Callable[[], None] | None
    _listener: StageListener | None
    response: DiscoveryResponse = field(factory=_nothing_yet)
    _started: float = field(factory=time.perf_counter)

    def check_cancelled(self) -> None:
        if self._cancelled:
            self._cancelled()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside under `name`, and tell the listener afterwards."""
        self.check_cancelled()
        began = time.perf_counter()
        yield
        ended = time.perf_counter()
        stages = {**self.response.metrics.stages, name: (ended - began) * 1000}
        total = (ended - self._started) * 1000
        self.update(metrics=attrs.evolve(self.response.metrics, stages=stages, total_time_ms=total))
        if self._listener:
            self._listener(name, self.response)

    def measure(self, **counts: Any) -> None:
        """Set the named counts of the metrics."""
        self.update(metrics=attrs.evolve(self.response.metrics, **counts))

    def update(self, **parts: Any) -> None:
        """Set the named parts of the response."""
        self.response = attrs.evolve(self.response, **parts)
