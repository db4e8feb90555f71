"""How a question comes to an answer whatever fails: S2's fallback chain, from vectors over keywords and names to what was
answered before, and in the end a message.

    3 → 2 → 1 → cache → generic

A question begins in the phase that the kill switch allows; what fails falls through to the next. Every search is timed,
logged and counted here, and the kill switch hears of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from attrs import evolve, frozen

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.engine.host import Host
from cairn.errors import CairnError, InvalidRequestError, QueryCancelledError
from cairn.operations.answer_cache import AnswerCache
from cairn.operations.kill_switch import KillSwitch, PhaseChange
from cairn.operations.latency import LatencyWindow
from cairn.settings.tree import Leg, Settings

logger = logging.getLogger(__name__)

OFF, NAMES, KEYWORDS, VECTORS = range(4)
"""S2's phases."""
_LEGS: dict[int, frozenset[Leg]] = {
    VECTORS: frozenset(Leg),
    KEYWORDS: frozenset(Leg) - {Leg.MEANING},
    NAMES: frozenset({Leg.NAMES, Leg.KEYWORDS}),
}
_STANDS_IN = {KEYWORDS: "keywords", NAMES: "names"}
CACHE, GENERIC = "cache", "generic"

_MODEL_SECONDS = 1.0
"""Looking for a model takes 0.2 ms while none is loaded."""
_RECENT_SECONDS = 5.0
"""The log of questions is read again after this long at the earliest, which takes up to 10 ms."""

T = TypeVar("T")


class RetrievalOffError(CairnError):
    """Retrieval is switched off, and nothing can stand in for the answer."""


@frozen
class Attempt(Generic[T]):
    """An answer in some phase."""

    answer: T
    problem: str | None = None
    """Why a leg failed, if one did; the others answered."""
    without_vectors: bool = False
    """Whether that was the leg of meaning."""


@frozen
class Answered(Generic[T]):
    """What the chain came to."""

    answer: T
    retrieval: protocol.AnsweredIn
    began_in: int
    """The phase that was tried first; 0 where nothing was asked."""
    error: str = ""
    """The class of the first error, where every phase failed."""
    problem: str | None = None


class Answering:
    """Of one engine. Methods may be called from several threads at once."""

    def __init__(
        self,
        host: Host,
        folders: Callable[[], Sequence[Folder]],
        settings: Callable[[], Settings],
        has_vectors: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        """`folders` and `settings` are the engine's own, which stay it even where a question is about one folder;
        `has_vectors` says whether there is a model to make them with; `on_change` is called when the phase has changed."""
        self.latency = LatencyWindow()
        self.cache: AnswerCache[protocol.SearchAnswer] = AnswerCache()
        self.problem: str | None = None
        """Why a leg of the latest search failed, if one did."""
        self._metrics = host.metrics
        self._folders = folders
        self._settings = settings
        self._has_vectors = has_vectors
        self._on_change = on_change
        self._made_switch: KillSwitch | None = None
        self._making_switch = threading.Lock()
        self._looked_for_model: tuple[float, int] | None = None
        self._recent: dict[Path, tuple[float, protocol.RecentQueries]] = {}
        """By folder, with when to read it again."""

    @property
    def _switch(self) -> KillSwitch:
        """Made for the first question, when the folders are there: what was set by hand before is no change."""
        if self._made_switch is None:
            with self._making_switch:
                self._made_switch = self._made_switch or KillSwitch(
                    lambda: self._settings().retrieval,
                    on_change=self._changed,
                    override=self._by_hand,
                    most=self._most,
                )
        return self._made_switch

    def state(self) -> protocol.PhaseState:
        """The phase of this process, and what it is judged by."""
        return self._switch.state()

    def recent(self, folder: Folder) -> protocol.RecentQueries:
        """What the latest questions were like, in all processes that have the folder open."""
        from cairn.operations.recent_queries import read_recent  # with the first status

        now, known = time.monotonic(), self._recent.get(folder.root)
        if known is None or now >= known[0]:
            known = self._recent[folder.root] = now + _RECENT_SECONDS, read_recent(folder.indexer.data)
        return known[1]

    def phases(self, settings: Settings) -> tuple[int, int]:
        """The phase to answer in now, and the one that is wanted, under the settings of the folders asked about."""
        if not settings.retrieval.enabled:
            return OFF, OFF
        by_hand = self._by_hand()
        wanted = min(self._most(), settings.retrieval.phase if by_hand is None else by_hand)
        return min(self._switch.phase(), wanted), wanted

    def on(self, settings: Settings) -> tuple[Settings, protocol.AnsweredIn]:
        """The settings of the phase that an answer is made in where nothing could stand in for it.

        Raises RetrievalOffError where retrieval is switched off.
        """
        phase, wanted = self.phases(settings)
        if phase == OFF:
            raise RetrievalOffError(self._why_off(settings))
        reason = self._switch.reason if phase < wanted else ""
        return in_phase(settings, phase), protocol.AnsweredIn(phase, wanted, reason=reason)

    def through_phases(
        self,
        settings: Settings,
        *,
        ask: Callable[[Settings], Attempt[T]],
        kept: Callable[[], T | None],
        generic: Callable[[str], T],
    ) -> Answered[T]:
        """The first answer of S2's chain.

        `ask` answers under settings whose legs are those of a phase; `kept` has an answer from before, whatever has changed
        since; `generic` makes one of a message. Raises InvalidRequestError and QueryCancelledError as `ask` does.
        """
        phase, wanted = self.phases(settings)
        lowered = self._switch.reason if OFF < phase < wanted else ""
        reason = error = ""
        for lower in range(phase, OFF, -1):
            try:
                attempt = ask(in_phase(settings, lower))
            except (InvalidRequestError, QueryCancelledError):
                raise
            except CairnError as problem:
                logger.warning("phase %d failed: %s", lower, problem)
                reason, error = reason or str(problem), error or type(problem).__name__
            except Exception as problem:
                logger.exception("phase %d failed", lower)
                reason = reason or f"Searching failed ({type(problem).__name__}); the log says more."
                error = error or type(problem).__name__
            else:
                fallback = _STANDS_IN.get(lower, "") if lower < phase else ""
                if attempt.without_vectors and not fallback:
                    fallback, reason = _STANDS_IN[KEYWORDS], attempt.problem or ""
                return Answered(
                    attempt.answer,
                    protocol.AnsweredIn(lower, wanted, fallback, reason or lowered),
                    began_in=phase,
                    problem=attempt.problem or (reason or None),
                )
        reason = reason or self._why_off(settings)
        answer = kept()
        fallback = GENERIC if answer is None else CACHE
        in_none = protocol.AnsweredIn(OFF, wanted, fallback, reason)
        return Answered(generic(reason) if answer is None else answer, in_none, phase, error, reason)

    def note_search(
        self, folders: Sequence[Folder], query: str, answered: Answered[protocol.SearchAnswer], ms: float
    ) -> None:
        """Count and log a search that took `ms` until its answer was there."""
        from cairn.operations.query_log import record_of

        answer, how = answered.answer, answered.retrieval
        self.problem = answered.problem
        cached = "cached" in answer.timings and not how.fallback
        if not cached and not answered.error and how.fallback != CACHE:
            self.latency.add(ms)
        self._metrics.search(
            action=answer.verdict.action,
            cached=cached,
            keyword_match=any(result.matched_terms for result in answer.results),
            fallback=how.fallback,
            broken_off=answer.broken_off,
        )
        if not cached:
            self._judge(answered, ms)
        record = record_of(
            answer,
            method="search",
            query=query,
            ms=ms,
            phase=how.phase,
            wanted=how.wanted,
            fallback=how.fallback,
        )
        record = evolve(record, error=answered.error, cached=cached)
        for folder in folders:
            folder.log.add(record)

    def note_discovery(
        self, folders: Sequence[Folder], query: str, answered: Answered[protocol.DiscoverAnswer], ms: float
    ) -> None:
        """Count and log a discovery; its searching stage alone is what the kill switch's percentile is about."""
        from cairn.operations.query_log import LoggedResult, QueryRecord

        answer, how = answered.answer, answered.retrieval
        self.problem = answered.problem
        metrics = answer.metrics
        self._metrics.discovery(
            collections_searched=metrics.collections_searched,
            queries_generated=metrics.queries_generated,
            chunks_found=metrics.chunks_found,
            bullets_extracted=metrics.bullets_extracted,
        )
        if how.fallback:
            self._metrics.fallback(how.fallback)
        self._judge(answered, metrics.stages.get("broad_discovery", ms))
        record = QueryRecord(
            method="discover",
            ms=ms,
            phase=how.phase,
            wanted=how.wanted,
            query=query,
            results=tuple(LoggedResult(c.path, c.score, c.matched_terms) for c in answer.chunks),
            action=answer.verdict.action,
            confidence=answer.verdict.confidence,
            fallback=how.fallback,
            error=answered.error,
            complete=answer.index.complete,
        )
        for folder in folders:
            folder.log.add(record)

    def _judge(self, answered: Answered[T], ms: float) -> None:
        if answered.began_in != OFF:
            how = answered.retrieval
            self._switch.record(
                ms, failed=how.phase == OFF, fell_back=bool(how.fallback), phase=answered.began_in
            )

    def _most(self) -> int:
        """The highest phase that there can be; whether there is a model to make vectors with is looked up once a second."""
        now = time.monotonic()
        if self._looked_for_model is None or now >= self._looked_for_model[0]:
            most = VECTORS if self._has_vectors() else KEYWORDS
            self._looked_for_model = now + _MODEL_SECONDS, most
        return self._looked_for_model[1]

    def _by_hand(self) -> int | None:
        """The phase that somebody set, in whichever folder."""
        set_phases = (folder.override.phase() for folder in self._folders())
        return next((phase for phase in set_phases if phase is not None), None)

    def _changed(self, change: PhaseChange) -> None:
        self._metrics.phase_change(change.before, change.after)
        for folder in self._folders():
            folder.log.add_phase_change(change)
        self._on_change()

    def _why_off(self, settings: Settings) -> str:
        if not settings.retrieval.enabled:
            return "Searching is switched off in the settings: `retrieval.enabled` is false."
        state = self._switch.state()
        if state.by_hand:
            return "Searching was switched off by hand; `cairn phase auto` switches it on."
        wait = f" It is tried again in {state.next_try_seconds:.0f} s." if state.next_try_seconds else ""
        return (
            f"Searching is switched off for now. {state.reason}{wait} `cairn phase 3` switches it on at once."
        )


def in_phase(settings: Settings, phase: int) -> Settings:
    """The settings with the legs that take part in the phase."""
    taking_part = tuple(leg for leg in settings.search.legs if leg in _LEGS[phase])
    if taking_part == settings.search.legs:
        return settings
    return evolve(settings, search=evolve(settings.search, legs=taking_part))
