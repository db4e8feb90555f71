"""Answers queries even if parts fail: by vectors, else by keywords, names, an earlier answer, or a message.

A query starts in the phase that the kill switch allows. If a phase fails, the next lower phase is tried. This
module times, logs and counts every search, and reports it to the kill switch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cairn import protocol
from cairn.engine.cached_answers import AnswerCache, CachedAnswer
from cairn.engine.methods import Method, Needs
from cairn.engine.request import CACHE, Attempt, Request
from cairn.errors import CairnError, InvalidRequestError, PartUnavailableError, QueryCancelledError
from cairn.operations.control import write_override
from cairn.operations.kill_switch import KEYWORDS, NAMES, OFF, VECTORS, KillSwitch, PhaseChange, wanted_phase
from cairn.operations.query_log import LoggedQuery
from cairn.operations.recent_queries import TimingMemory, read_recent
from cairn.settings.tree import Leg, Settings
from cairn.startup.figures import ProcessorTime, never_failing

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.folders import Folder

logger = logging.getLogger(__name__)

_LEGS: dict[int, frozenset[Leg]] = {
    VECTORS: frozenset(Leg),
    KEYWORDS: frozenset(Leg) - {Leg.MEANING},
    NAMES: frozenset({Leg.NAMES, Leg.KEYWORDS}),
}
_FALLBACKS = {KEYWORDS: "keywords", NAMES: "names"}

_MODEL_SECONDS = 1.0
"""How many seconds the result of a look for a model is used. A look takes 0.2 ms while no model is loaded."""
_TIMED_SEARCHES = 500
_RECENT_SECONDS = 5.0
"""How many seconds the figures from the query log are used. Reading the log takes up to 10 ms."""


class RetrievalOffError(CairnError):
    """Retrieval is switched off, and the method has no fallback answer."""


class Fallback:
    """The fallback chain of one engine. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        """Make the chain of `engine`. All folders have one phase, also for requests about one folder."""
        self.latency: deque[float] = deque(maxlen=_TIMED_SEARCHES)
        """Durations in ms of the latest searches that were not answered from the cache."""
        self.timings = TimingMemory()
        """The latest queries and phase changes of this process, without the query texts."""
        self.cache: AnswerCache[CachedAnswer] = AnswerCache()
        """The latest answers of searches and discoveries."""
        self.problem: str | None = None
        """Why a part of the latest search failed, such as the vectors; None if none did."""
        self._engine = engine
        self._made_switch: KillSwitch | None = None
        self._making_switch = threading.Lock()
        self._looked_for_model: tuple[float, int] | None = None
        """The time to look for a model again, and the highest phase that the last look found."""
        self._recent: dict[Path, tuple[float, protocol.RecentQueries]] = {}
        """For each folder, the time to read its log again, and the figures from the last read."""

    @property
    def switch(self) -> KillSwitch:
        """The kill switch. It is made on first use, and does not report a phase that was set before as a
        change."""
        if self._made_switch is None:
            with self._making_switch:
                self._made_switch = self._made_switch or KillSwitch(
                    lambda: self._engine.settings().retrieval,
                    on_change=self._changed,
                    override=self._by_hand,
                    most=self._most,
                )
        return self._made_switch

    def recent(self, folder: Folder) -> protocol.RecentQueries:
        """Return figures of the folder's latest queries, in all processes that have it open."""
        now, known = time.monotonic(), self._recent.get(folder.root)
        if known is None or now >= known[0]:
            known = self._recent[folder.root] = now + _RECENT_SECONDS, read_recent(folder.indexer.data)
        return known[1]

    def phases(self, settings: Settings) -> tuple[int, int]:
        """Return the phase to answer in, and the phase wanted by hand or by the folders' settings."""
        wanted = wanted_phase(settings.retrieval, self._by_hand(), self._most())
        return min(self.switch.phase(), wanted), wanted

    def answer(self, method: Method, request: Request, params: Any) -> Any:
        """Answer a method that uses retrieval, in the highest phase available.

        For a method that always answers, try the next lower phase if one fails, and count and log the result.
        For others, raise what the handler raises, and RetrievalOffError if retrieval is off.
        """
        spent = ProcessorTime()
        with spent.counted():
            answer, query, first = self._answer(method, request, params)
        if query is not None:
            with never_failing("Counting a query"):
                self._note(request, query, answer, first, 1000 * spent.seconds)
        return answer

    def _answer(self, method: Method, request: Request, params: Any) -> tuple[Any, LoggedQuery | None, int]:
        """Return the answer, the query to log or None, and the phase that was tried first."""
        from cairn.engine.open_workspace import OpenWorkspace  # Imported with the first query.

        began = time.perf_counter()
        first, wanted = self.phases(request.settings)
        always = method.needs is Needs.ANSWER
        if first == OFF and not always:
            raise RetrievalOffError(self._why_off(request.settings))
        lowered = self.switch.reason if OFF < first < wanted else ""
        tell, reason, error = request.tell, "", ""
        for phase in range(first, OFF, -1):
            settings = in_phase(request.settings, phase)
            workspace = OpenWorkspace(
                request.engine, request.folders, settings, request.cancelled, tell, request.lagging
            )
            try:
                found = method.handle()(workspace, params)
            except (InvalidRequestError, PartUnavailableError, QueryCancelledError):
                raise
            except Exception as problem:
                if not always:
                    raise
                reason, error = reason or _reason(problem, phase), error or type(problem).__name__
                tell = None  # A lower phase starts over, but reports no stage a second time.
            else:
                attempt = found if isinstance(found, Attempt) else Attempt(found)
                without_vectors = attempt.problem if attempt.without_vectors else None
                used = min(phase, KEYWORDS) if attempt.without_vectors else phase
                fallback = _FALLBACKS[used] if used < first else ""
                how = protocol.AnsweredIn(phase, wanted, fallback, reason or without_vectors or lowered)
                error = ""
                break
        else:
            reason = reason or self._why_off(request.settings)
            answer, fallback = method.fallback_answer()(request, params, reason)
            attempt, how = Attempt(answer, reason), protocol.AnsweredIn(OFF, wanted, fallback, reason)
        if always or isinstance(found, Attempt):
            self.problem = attempt.problem or reason or None
        if not hasattr(attempt.answer, "retrieval"):  # This is a single stage of discovery.
            return attempt.answer, None, first
        answer = evolve(attempt.answer, retrieval=how)
        if not always:
            return answer, None, first
        ms = 1000 * (time.perf_counter() - began)
        cached = attempt.cached and not how.fallback
        return answer, LoggedQuery(method.name, params.query, ms, cached, error), first

    def _note(
        self, request: Request, query: LoggedQuery, answer: Any, first_phase: int, spent_ms: float
    ) -> None:
        """Count and log an answered query, and report its processor time to the kill switch."""
        how, metrics = answer.retrieval, self._engine.metrics
        is_discovery = isinstance(answer, protocol.DiscoverAnswer)
        if is_discovery:
            # Only this stage searches. Its share of the processor time is about its share of the whole time.
            searching_ms = answer.metrics.stages.get("broad_discovery", query.ms)
            spent_ms *= searching_ms / max(query.ms, searching_ms, 0.001)
        if first_phase != OFF and not query.cached:
            self.switch.record(
                spent_ms, failed=how.phase == OFF, fell_back=bool(how.fallback), phase=first_phase
            )
        if is_discovery:
            metrics.discovery(answer, cached=query.cached)
        else:
            if not query.cached and not query.error and how.fallback != CACHE:
                self.latency.append(round(query.ms, 3))
            metrics.search(answer, cached=query.cached)
        self.timings.add(query, how)
        self._engine.context_memory.recent.note(query.text)
        for folder in request.folders:
            folder.log.add(query, answer)

    def _most(self) -> int:
        """Return the highest possible phase. Look for a model that makes vectors at most once a second."""
        now = time.monotonic()
        if self._looked_for_model is None or now >= self._looked_for_model[0]:
            most = VECTORS if self._engine.model_in_use()[0] else KEYWORDS
            self._looked_for_model = now + _MODEL_SECONDS, most
        return self._looked_for_model[1]

    def _by_hand(self) -> int | None:
        set_phases = (folder.override.read().phase for folder in self._engine.folders)
        return next((phase for phase in set_phases if phase is not None), None)

    def _changed(self, change: PhaseChange) -> None:
        with never_failing("Counting a change of the phase"):
            self._engine.metrics.phase_change(change.before, change.after)
            self.timings.add_step(change)
            for folder in self._engine.folders:
                folder.log.add_phase_change(change)
        self._engine.on_change()

    def _why_off(self, settings: Settings) -> str:
        if not settings.retrieval.enabled:
            return "Searching is switched off in the settings: `retrieval.enabled` is false."
        state = self.switch.state()
        if state.by_hand:
            return "Searching was switched off by hand; `cairn phase auto` switches it on."
        wait = f" It is tried again in {state.next_try_seconds:.0f} s." if state.next_try_seconds else ""
        return (
            f"Searching is switched off for now. {state.reason}{wait} `cairn phase 3` switches it on at once."
        )


def _reason(problem: Exception, phase: int) -> str:
    """Log why a phase failed, and return it as a sentence."""
    if isinstance(problem, CairnError):
        logger.warning("phase %d failed: %s", phase, problem)
        return str(problem)
    logger.error("phase %d failed", phase, exc_info=problem)
    return f"Searching failed ({type(problem).__name__}); the log says more."


def in_phase(settings: Settings, phase: int) -> Settings:
    legs = tuple(leg for leg in settings.search.legs if leg in _LEGS[phase])
    if legs == settings.search.legs:
        return settings
    return evolve(settings, search=evolve(settings.search, legs=legs))


def set_phase(request: Request, params: protocol.SetPhaseParams) -> protocol.PhaseState:
    """Answer `cairn/setPhase`, at once for all processes. Raise OverrideUnavailableError if that fails."""
    for folder in request.folders:
        write_override(folder.indexer.data, params.phase, by="cairn/setPhase")
    state = request.engine.fallback.switch.state()
    request.engine.on_change()
    return state
