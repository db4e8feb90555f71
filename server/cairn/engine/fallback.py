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
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cairn import protocol
from cairn.engine.kept_answers import Kept
from cairn.engine.methods import Asks, Method
from cairn.engine.request import CACHE, Attempt, Request
from cairn.errors import CairnError, InvalidRequestError, PartUnavailableError, QueryCancelledError
from cairn.index.indexing.folder_state import TAKING_IN
from cairn.index.indexing.indexer import Role
from cairn.operations.answer_cache import AnswerCache
from cairn.operations.at_once import AT_ONCE
from cairn.operations.kill_switch import KEYWORDS, NAMES, OFF, VECTORS, KillSwitch, PhaseChange, wanted_phase
from cairn.operations.other_programs import OtherPrograms
from cairn.operations.override import write_override
from cairn.operations.query_log import Question
from cairn.operations.timings import TimingMemory
from cairn.settings.tree import Leg, Settings

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.folders import Folder

logger = logging.getLogger(__name__)

_LEGS: dict[int, frozenset[Leg]] = {
    VECTORS: frozenset(Leg),
    KEYWORDS: frozenset(Leg) - {Leg.MEANING},
    NAMES: frozenset({Leg.NAMES, Leg.KEYWORDS}),
}
_STANDS_IN = {KEYWORDS: "keywords", NAMES: "names"}

_MODEL_SECONDS = 1.0
"""Looking for a model takes 0.2 ms while none is loaded."""
_TIMED_SEARCHES = 500
_RECENT_SECONDS = 5.0
"""The log of questions is read again after this long at the earliest, which takes up to 10 ms."""


class RetrievalOffError(CairnError):
    """Retrieval is switched off, and nothing can stand in for the answer."""


class Fallback:
    """The chain of one engine. Methods may be called from several threads at once."""

    def __init__(self, engine: Engine) -> None:
        """`engine` is the whole one, whose phase counts also where a request is about one of its folders."""
        self.latency: deque[float] = deque(maxlen=_TIMED_SEARCHES)
        """Milliseconds of the latest searches that were not answered from the cache."""
        self.timings = TimingMemory()
        """The latest questions and phase changes of this process, without what was asked."""
        self.cache: AnswerCache[Kept] = AnswerCache()
        """The latest answers of searches and discoveries."""
        self.problem: str | None = None
        """Why a leg of the latest search failed, if one did."""
        self._engine = engine
        self._made_switch: KillSwitch | None = None
        self._making_switch = threading.Lock()
        self._others = OtherPrograms()
        self._looked_for_model: tuple[float, int] | None = None
        self._recent: dict[Path, tuple[float, protocol.RecentQueries]] = {}
        """By folder, with when to read it again."""

    @property
    def switch(self) -> KillSwitch:
        """The phase of this process. Made for the first question, when the folders are there: what was set by hand before is no change."""
        if self._made_switch is None:
            with self._making_switch:
                self._made_switch = self._made_switch or KillSwitch(
                    lambda: self._engine.settings().retrieval,
                    on_change=self._changed,
                    override=self._by_hand,
                    most=self._most,
                    others=self._others.share,
                )
        return self._made_switch

    def recent(self, folder: Folder) -> protocol.RecentQueries:
        """What the latest questions were like, in all processes that have the folder open."""
        from cairn.operations.recent_queries import read_recent  # with the first status

        now, known = time.monotonic(), self._recent.get(folder.root)
        if known is None or now >= known[0]:
            known = self._recent[folder.root] = now + _RECENT_SECONDS, read_recent(folder.indexer.data)
        return known[1]

    def phases(self, settings: Settings) -> tuple[int, int]:
        """The phase to answer in now, and the one that is wanted, under the settings of the folders asked about."""
        wanted = wanted_phase(settings.retrieval, self._by_hand(), self._most())
        return min(self.switch.phase(), wanted), wanted

    def ask(self, method: Method, request: Request, params: Any) -> Any:
        """The answer of a method that asks retrieval, in the highest phase that there is.

        Where the method always answers, a phase that fails falls through to the next, and what it came to is counted and
        logged. Raises what the handler raises otherwise, and RetrievalOffError where retrieval is switched off.
        """
        content = _content(request)
        with AT_ONCE.counted() as sharing:
            answer, asked, first = self._answered(method, request, params)
        if asked is not None:
            changed = content != _content(request) or any(map(_takes_in, request.folders))
            self._note(request, asked, answer, first, sharing.mean, while_indexing=changed)
        return answer

    def _answered(self, method: Method, request: Request, params: Any) -> tuple[Any, Question | None, int]:
        """The answer, what is noted of the question, if anything is, and the phase that was tried first."""
        from cairn.engine.open_workspace import OpenWorkspace  # with the first question

        began = time.perf_counter()
        first, wanted = self.phases(request.settings)
        always = method.asks is Asks.ANSWER
        if first == OFF and not always:
            raise RetrievalOffError(self._why_off(request.settings))
        lowered = self.switch.reason if OFF < first < wanted else ""
        tell, reason, error = request.tell, "", ""
        for phase in range(first, OFF, -1):
            settings = in_phase(request.settings, phase)
            workspace = OpenWorkspace(request.engine, request.folders, settings, request.cancelled, tell)
            try:
                found = method.handle()(workspace, params)
            except (InvalidRequestError, PartUnavailableError, QueryCancelledError):
                raise
            except Exception as problem:
                if not always:
                    raise
                reason, error = reason or _reason(problem, phase), error or type(problem).__name__
                tell = None  # the stages are told once, though a lower phase begins anew
            else:
                attempt = found if isinstance(found, Attempt) else Attempt(found)
                without_vectors = attempt.problem if attempt.without_vectors else None
                used = min(phase, KEYWORDS) if attempt.without_vectors else phase
                fallback = _STANDS_IN[used] if used < first else ""
                how = protocol.AnsweredIn(phase, wanted, fallback, reason or without_vectors or lowered)
                error = ""
                break
        else:
            reason = reason or self._why_off(request.settings)
            answer, fallback = method.stand_in()(request, params, reason)
            attempt, how = Attempt(answer, reason), protocol.AnsweredIn(OFF, wanted, fallback, reason)
        if always or isinstance(found, Attempt):
            self.problem = attempt.problem or reason or None
        if not hasattr(attempt.answer, "retrieval"):  # a single stage, which looks nothing up by itself
            return attempt.answer, None, first
        answer = evolve(attempt.answer, retrieval=how)
        if not always:
            return answer, None, first
        ms = 1000 * (time.perf_counter() - began)
        cached = attempt.cached and not how.fallback
        return answer, Question(method.name, params.query, ms, cached, error), first

    def _note(
        self,
        request: Request,
        asked: Question,
        answer: Any,
        began_in: int,
        at_once: float,
        *,
        while_indexing: bool,
    ) -> None:
        """Count and log a question that has its answer, and tell the kill switch.

        `began_in` is the phase that was tried first, `while_indexing` whether files were taken in meanwhile. A phase is not slow
        because several questions are asked at once: of the time, the question's share counts, where `at_once` shared the process.
        """
        how, metrics, judged_ms = answer.retrieval, self._engine.metrics, asked.ms
        if isinstance(answer, protocol.DiscoverAnswer):
            judged_ms = answer.metrics.stages.get("broad_discovery", judged_ms)  # the stage that searches
            metrics.discovery(answer, cached=asked.cached)
        else:
            if not asked.cached and not asked.error and how.fallback != CACHE:
                self.latency.append(round(asked.ms, 3))
            metrics.search(answer, cached=asked.cached)
        if began_in != OFF and not asked.cached:
            self._others.look()
            self.switch.record(
                judged_ms / at_once,
                failed=how.phase == OFF,
                fell_back=bool(how.fallback),
                phase=began_in,
                while_indexing=while_indexing,
            )
        self.timings.add(asked, how.phase)
        self._engine.context_memory.recent.note(asked.query)
        for folder in request.folders:
            folder.log.add(asked, answer)

    def _most(self) -> int:
        """The highest phase that there can be; whether there is a model to make vectors with is looked up once a second."""
        now = time.monotonic()
        if self._looked_for_model is None or now >= self._looked_for_model[0]:
            most = VECTORS if self._engine.model_in_use()[0] else KEYWORDS
            self._looked_for_model = now + _MODEL_SECONDS, most
        return self._looked_for_model[1]

    def _by_hand(self) -> int | None:
        """The phase that somebody set, in whichever folder."""
        set_phases = (folder.override.read().phase for folder in self._engine.folders)
        return next((phase for phase in set_phases if phase is not None), None)

    def _changed(self, change: PhaseChange) -> None:
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


def _content(request: Request) -> list[int]:
    """A number for each folder that is asked about, which rises with every change of its files."""
    return [folder.reader.facts().content for folder in request.folders]


def _takes_in(folder: Folder) -> bool:
    """Whether this process is taking files in, or is about to."""
    indexer = folder.indexer
    has_changes = indexer.role is Role.WRITER and not indexer.queue.is_done
    return has_changes or indexer.progress.activity in TAKING_IN


def _reason(problem: Exception, phase: int) -> str:
    """Why a phase failed, for people; it is logged."""
    if isinstance(problem, CairnError):
        logger.warning("phase %d failed: %s", phase, problem)
        return str(problem)
    logger.error("phase %d failed", phase, exc_info=problem)
    return f"Searching failed ({type(problem).__name__}); the log says more."


def in_phase(settings: Settings, phase: int) -> Settings:
    """The settings with the legs that take part in the phase."""
    taking_part = tuple(leg for leg in settings.search.legs if leg in _LEGS[phase])
    if taking_part == settings.search.legs:
        return settings
    return evolve(settings, search=evolve(settings.search, legs=taking_part))


def set_phase(request: Request, params: protocol.SetPhaseParams) -> protocol.PhaseState:
    """`cairn/setPhase`: at once, in every process that has one of the folders open, until it is taken back.

    Raises OverrideUnavailableError where that cannot be written down.
    """
    for folder in request.folders:
        write_override(folder.indexer.data, params.phase, by="cairn/setPhase")
    state = request.engine.fallback.switch.state()
    request.engine.on_change()
    return state
