"""Variants of the ranking, each without one signal or with a further one.

A variant needs no other index: the weights are a setting, and `alpha` is part of the request. Variants of
single signals are ranked in this process, because there are many, and some signals are no longer in Cairn.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from engine.daemon import Daemon, settled
from engine.index_file import UnavailableError

from cairn.retrieval.signals import SIGNALS
from retrieval.tried_signals import TRIAL_WEIGHTS

FULL_NAME, NO_VECTORS_NAME, NO_HISTORY_NAME = "cairn", "cairn without vectors", "cairn without history"
_SETTLES_SECONDS = 600.0


@frozen
class Variant:
    """One way to rank."""

    name: str
    weights: Mapping[str, float] = field(factory=dict)
    """The weights by signal, instead of the signal's own."""
    alpha: float | None = None
    """The balance of the request: at 0 only keyword legs search, and signals of similarity do not count."""
    default: float | None = None
    """The signal's own weight, if the variant is about one; 0 for a signal of `tried_signals`."""

    @property
    def is_of_a_signal(self) -> bool:
        return self.default is not None


FULL = Variant(FULL_NAME)
IN_PROCESS = Variant("cairn, in process", default=0.0)
"""The ranking with which those without or with a signal are compared."""
NO_VECTORS = Variant(NO_VECTORS_NAME, alpha=0.0)


def families() -> list[Variant]:
    """Return the variants without vectors and without the history of a repository, which a user may lack."""
    return [NO_VECTORS, Variant(NO_HISTORY_NAME, {"commit subjects": 0.0})]


def signals() -> list[Variant]:
    """Return the ranking without each signal, and with each of those that were tried."""
    without = (Variant(f"without: {s.title}", {s.title: 0.0}, default=s.weight) for s in SIGNALS)
    tried = (Variant(f"with: {name}", {name: weight}, default=0.0) for name, weight in TRIAL_WEIGHTS.items())
    return [*without, *tried]


def configure(daemon: Daemon, variant: Variant) -> None:
    """Make the daemon rank this way, and wait for the comparison of the folder that the change starts.

    Raises UnavailableError if this version cannot.
    """
    daemon.configure({"search": {"weights": dict(variant.weights)}} if variant.weights else {})
    status = daemon.wait_until(settled, _SETTLES_SECONDS)
    if refused := [warning for warning in status["warnings"] if "weights" in warning]:
        raise UnavailableError(refused[0])
