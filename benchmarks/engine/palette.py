"""Questions typed into a palette: each keystroke asks anew and cancels what was asked before."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from engine.daemon import Daemon, Pending, RequestError
from engine.figures import Figures, milliseconds

LONGEST = 40
"""Characters of a question that are typed."""
_REQUEST_CANCELLED = -32800
_PATIENCE = 10.0


@frozen
class Typed:
    """What came of typing some questions. Times in seconds."""

    last: list[float] = field(factory=list)
    """From the last keystroke to its answer."""
    after: list[float] = field(factory=list)
    """The same question asked once more as soon as it was answered: what still runs would hold it up."""
    cancelled: list[float] = field(factory=list)
    """From `$/cancelRequest` to the answer RequestCancelled."""
    outcomes: Counter[str] = field(factory=Counter)
    """What came of the earlier keystrokes' requests."""

    def figures(self) -> Figures:
        """As they are kept."""
        return {
            "last_keystroke_to_answer_ms": milliseconds(self.last),
            "asked_again_at_once_ms": milliseconds(self.after),
            "cancel_to_answer_ms": milliseconds(self.cancelled),
            "earlier_keystrokes": dict(sorted(self.outcomes.items())),
        }


def type_questions(
    daemon: Daemon, questions: Sequence[str], spacing: float, params: Mapping[str, Any]
) -> Typed:
    """Type every question, a character each `spacing` seconds."""
    typed = Typed()
    for question in questions:
        _type(daemon, question[:LONGEST].rstrip(), spacing, params, typed)
    return typed


def _type(daemon: Daemon, question: str, spacing: float, params: Mapping[str, Any], typed: Typed) -> None:
    asked: list[tuple[Pending, float | None]] = []
    """Requests of the keystrokes before the latest, with the time at which they were cancelled, if they
    were."""
    began = time.perf_counter()
    current: Pending | None = None
    for place in range(1, len(question) + 1):
        time.sleep(max(0.0, began + (place - 1) * spacing - time.perf_counter()))
        if current is not None:
            asked.append((current, _cancel(current)))
        current = daemon.send("cairn/search", {**params, "query": question[:place]})
    if current is None:
        return
    current.result(_PATIENCE)
    finished = current.answered or 0.0
    typed.last.append(finished - current.sent)
    again = daemon.send("cairn/search", {**params, "query": question})
    again.result(_PATIENCE)
    typed.after.append((again.answered or 0.0) - again.sent)
    for pending, cancelled_at in asked:
        typed.outcomes[_outcome(pending, cancelled_at, finished, typed)] += 1


def _cancel(pending: Pending) -> float | None:
    """When it was cancelled; None where it was answered already."""
    if pending.answered is not None:
        return None
    pending.cancel()
    return time.perf_counter()


def _outcome(pending: Pending, cancelled_at: float | None, finished: float, typed: Typed) -> str:
    """`finished` is when the last keystroke's answer came; what is answered later was queued."""
    try:
        pending.result(_PATIENCE)
    except TimeoutError:
        return "never answered"
    except RequestError as error:
        if error.code != _REQUEST_CANCELLED:
            return f"error {error.code}"
        typed.cancelled.append((pending.answered or 0.0) - (cancelled_at or 0.0))
        return (
            "cancelled"
            if (pending.answered or 0.0) <= finished
            else "cancelled after the last answer"
        )
    if cancelled_at is None:
        return "answered before the next keystroke"
    return "answered while being cancelled"
