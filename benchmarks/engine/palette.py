"""Types queries into a palette: each keystroke sends a new request and cancels the previous one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from engine.daemon import Daemon, Pending, RequestError
from engine.figures import Figures, milliseconds

LONGEST = 40
"""The number of characters of a query that are typed."""
_REQUEST_CANCELLED = -32800
_PATIENCE = 10.0


@frozen
class Typed:
    """The results of typing some queries. Times are in seconds."""

    last: list[float] = field(factory=list)
    """The times from the last keystroke to its answer."""
    after: list[float] = field(factory=list)
    """The times of the same query sent again once answered; requests that still run would delay it."""
    cancelled: list[float] = field(factory=list)
    """The times from `$/cancelRequest` to the answer RequestCancelled."""
    outcomes: Counter[str] = field(factory=Counter)
    """The outcomes of the earlier keystrokes' requests."""

    def figures(self) -> Figures:
        """Return the entry of the results file."""
        return {
            "last_keystroke_to_answer_ms": milliseconds(self.last),
            "asked_again_at_once_ms": milliseconds(self.after),
            "cancel_to_answer_ms": milliseconds(self.cancelled),
            "earlier_keystrokes": dict(sorted(self.outcomes.items())),
        }


def type_questions(
    daemon: Daemon, questions: Sequence[str], spacing: float, params: Mapping[str, Any]
) -> Typed:
    """Type every query, a character each `spacing` seconds."""
    typed = Typed()
    for question in questions:
        _type(daemon, question[:LONGEST].rstrip(), spacing, params, typed)
    return typed


def _type(daemon: Daemon, question: str, spacing: float, params: Mapping[str, Any], typed: Typed) -> None:
    earlier: list[tuple[Pending, float | None]] = []
    """Requests of the earlier keystrokes, with the time of their cancellation, if any."""
    began = time.perf_counter()
    current: Pending | None = None
    for place in range(1, len(question) + 1):
        time.sleep(max(0.0, began + (place - 1) * spacing - time.perf_counter()))
        if current is not None:
            earlier.append((current, _cancel(current)))
        current = daemon.send("cairn/search", {**params, "query": question[:place]})
    if current is None:
        return
    current.result(_PATIENCE)
    finished = current.answered or 0.0
    typed.last.append(finished - current.sent)
    again = daemon.send("cairn/search", {**params, "query": question})
    again.result(_PATIENCE)
    typed.after.append((again.answered or 0.0) - again.sent)
    for pending, cancelled_at in earlier:
        typed.outcomes[_outcome(pending, cancelled_at, finished, typed)] += 1


def _cancel(pending: Pending) -> float | None:
    """Cancel a request and return the time; None if it was answered already."""
    if pending.answered is not None:
        return None
    pending.cancel()
    return time.perf_counter()


def _outcome(pending: Pending, cancelled_at: float | None, finished: float, typed: Typed) -> str:
    """Return the outcome of a request. Answers after `finished`, the last keystroke's answer, were queued."""
    try:
        pending.result(_PATIENCE)
    except TimeoutError:
        return "never answered"
    except RequestError as error:
        if error.code != _REQUEST_CANCELLED:
            return f"error {error.code}"
        typed.cancelled.append((pending.answered or 0.0) - (cancelled_at or 0.0))
        return "cancelled" if (pending.answered or 0.0) <= finished else "cancelled after the last answer"
    if cancelled_at is None:
        return "answered before the next keystroke"
    return "answered while being cancelled"
