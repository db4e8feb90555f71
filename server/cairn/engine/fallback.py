"""Answers queries even if parts fail: by vectors, else by keywords, names, an earlier answer, or a message.

A query starts in the phase that the kill switch allows. If a phase fails, the next lower phase is tried. This
module times, logs and counts every search, and reports it to the kill switch.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from attrs import evolve

from cairn import protocol
from cairn.engine.methods import Method, Needs
from cairn.engine.request import Attempt, Request
from cairn.errors import CairnError, InvalidRequestError, PartUnavailableError, QueryCancelledError
from cairn.operations.kill_switch import KEYWORDS, NAMES, OFF, VECTORS
from cairn.operations.query_log import QueryLine
from cairn.settings.tree import Leg, Settings
from cairn.startup.figures import ProcessorTime, never_failing

logger = logging.getLogger(__name__)

_LEGS: dict[int, frozenset[Leg]] = {
    VECTORS: frozenset(Leg),
    KEYWORDS: frozenset(Leg) - {Leg.MEANING},
    NAMES: frozenset({Leg.NAMES, Leg.KEYWORDS}),
}
_FALLBACKS = {KEYWORDS: "keywords", NAMES: "names"}


class RetrievalOffError(CairnError):
    """Retrieval is switched off, and the method has no fallback answer."""


def answer_in_phases(method: Method, request: Request, params: Any) -> Any:
    """Answer a method that uses retrieval, in the highest phase available.

    For a method that always answers, try the next lower phase if one fails, and count and log the result.
    For others, raise what the handler raises, and RetrievalOffError if retrieval is off.
    """
    began, spent = time.perf_counter(), ProcessorTime()
    caller = request.caller
    first, wanted = caller.phases(request.settings)
    always = method.needs is Needs.ANSWER
    if first == OFF and not always:
        raise RetrievalOffError(_why_off(request))
    lowered = caller.switch.reason if OFF < first < wanted else ""
    tell, reason, error = request.tell, "", ""
    for phase in range(first, OFF, -1):
        attempted = evolve(request, settings=in_phase(request.settings, phase), tell=tell)
        try:
            with spent.counted():
                found = method.handle()(attempted, params)
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
        reason = reason or _why_off(request)
        answer, fallback = method.fallback_answer()(request, params, reason)
        attempt, how = Attempt(answer, reason), protocol.AnsweredIn(OFF, wanted, fallback, reason)
    if always or isinstance(found, Attempt):
        caller.problem = attempt.problem or reason or None
    if not hasattr(attempt.answer, "retrieval"):  # This is a single stage of discovery.
        return attempt.answer
    answer = evolve(attempt.answer, retrieval=how)
    if always:
        ms = 1000 * (time.perf_counter() - began)
        with never_failing("Counting a query"):
            cached = attempt.cached and not how.fallback
            line = QueryLine.of(method.name, answer, ms, cached=cached, error=error)
            _note(request, line, params.query, answer, first, 1000 * spent.seconds)
    return answer


def _note(
    request: Request, query: QueryLine, text: str, answer: Any, first_phase: int, spent_ms: float
) -> None:
    """Count and log an answered query, and report its processor time to the kill switch."""
    caller, metrics, how = request.caller, request.host.metrics, answer.retrieval
    is_discovery = isinstance(answer, protocol.DiscoverAnswer)
    if is_discovery:
        # Only this stage searches. Its share of the processor time is about its share of the whole time.
        searching_ms = answer.metrics.stages.get("broad_discovery", query.ms)
        spent_ms *= searching_ms / max(query.ms, searching_ms, 0.001)
    # The work of an exact search depends on the text alone, and not on the load.
    is_exact = getattr(answer, "occurrences", None) is not None
    if first_phase != OFF and not query.cached and not is_exact:
        caller.switch.record(
            spent_ms, failed=how.phase == OFF, fell_back=bool(how.fallback), phase=first_phase
        )
    if is_discovery:
        metrics.discovery(answer, cached=query.cached)
    else:
        metrics.search(answer, cached=query.cached)
        if not (query.cached or query.failed or is_exact):
            caller.latency.append(query.ms)
    caller.timings.questions.append(query)
    caller.queries.note(text)
    for folder in request.folders:
        folder.log.add(query, text, answer)


def _why_off(request: Request) -> str:
    if not request.settings.retrieval.enabled:
        return "Searching is switched off in the settings: `retrieval.enabled` is false."
    state = request.caller.switch.state()
    if state.by_hand:
        return "Searching was switched off by hand; `cairn phase auto` switches it on."
    wait = f" It is tried again in {state.next_try_seconds:.0f} s." if state.next_try_seconds else ""
    return f"Searching is switched off for now. {state.reason}{wait} `cairn phase 3` switches it on at once."


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
