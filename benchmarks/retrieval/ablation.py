"""Variants of the ranking: every signal taken away, or tried, on its own.

A variant needs no other process and no other index: the weights are a setting, and `alpha` belongs to the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen
from engine.daemon import Daemon, settled
from engine.index_file import UnavailableError

from cairn.retrieval.signals import SIGNALS

FULL_NAME, NO_VECTORS_NAME, NO_HISTORY_NAME = "cairn", "cairn without vectors", "cairn without history"
_SETTLES_SECONDS = 600.0


@frozen
class Variant:
    """One way to rank."""

    name: str
    weights: Mapping[str, float] = field(factory=dict)
    """By signal, instead of the signal's own."""
    alpha: float | None = None
    """The question's own balance: at 0 keyword legs alone search, and signals of similarity do not count."""
    default: float | None = None
    """The signal's own weight, where the variant is about one."""


FULL = Variant(FULL_NAME)
NO_VECTORS = Variant(NO_VECTORS_NAME, alpha=0.0)


def families() -> list[Variant]:
    """What a user may be without: vectors, and the history of a repository."""
    of_history = {signal.name: 0.0 for signal in SIGNALS if getattr(signal, "needs_history", False)}
    return [NO_VECTORS, Variant(NO_HISTORY_NAME, of_history)]


def signals(known: Sequence[Any] = SIGNALS) -> list[Variant]:
    """For every signal that counts, the ranking without it; for every other, the ranking with its trial weight."""
    return [
        Variant(f"without: {signal.name}", {signal.name: 0.0}, default=signal.weight)
        if signal.weight
        else Variant(f"with: {signal.name}", {signal.name: trial_weight(signal)}, default=0.0)
        for signal in known
    ]


def trial_weight(signal: Any) -> float:
    """The weight that a signal without one is tried at."""
    return float(getattr(signal, "trial_weight", 1.0))


def configure(daemon: Daemon, variant: Variant) -> None:
    """Have the daemon rank so from the next question on, and wait for the look at the folder that this sets off.

    Raises UnavailableError where this version cannot.
    """
    if variant.name == NO_HISTORY_NAME and not variant.weights:
        raise UnavailableError("no signal needs history")
    daemon.configure({"search": {"weights": dict(variant.weights)}} if variant.weights else {})
    status = daemon.until(settled, _SETTLES_SECONDS)
    if refused := [warning for warning in status["warnings"] if "weights" in warning]:
        raise UnavailableError(refused[0])
