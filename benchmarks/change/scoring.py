"""Compares the places that an answer shows with the uses that a language server knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from attrs import define, field
from engine.figures import Figures
from references.model import Site

LEAST_CONFIDENCE = 0.5
UNKNOWN_TO_SERVERS = frozenset({"override", "request"})
"""Kinds of dependents that are not among the references of a language server."""


def places(answer: Mapping[str, Any], about: Set[int], *, stale: bool = False) -> dict[Site, float]:
    """Return the dependents of some of the changed definitions with their confidence; with `stale`, only
    those that still use the old definition."""
    found: dict[Site, float] = {}
    for each in answer["dependents"]:
        is_wanted = each["isStale"] if stale else each["kind"] not in UNKNOWN_TO_SERVERS
        if is_wanted and about & {*each["about"]}:
            site = Site(each["path"], each["range"]["start"]["line"])
            found[site] = max(each["confidence"], found.get(site, 0.0))
    return found


@define
class Counts:
    """Counts of places by confidence, over several definitions."""

    definitions: int = 0
    complete: int = 0
    """The definitions of which all uses were found."""
    any_found: int = 0
    """Those of which at least one use was found."""
    right: int = 0
    wrong: int = 0
    missed: int = 0
    unfinished: int = 0
    """The answers that say that they are incomplete."""
    seconds: list[float] = field(factory=list)
    recalls: list[float] = field(factory=list)
    precisions: list[float] = field(factory=list)
    by_confidence: dict[float, list[int]] = field(factory=dict)
    """The numbers of places, and of right ones, by confidence in steps of 0.1."""

    def add(
        self, truth: Collection[Site], found: Mapping[Site, float], answer: Mapping[str, Any]
    ) -> tuple[set[Site], set[Site]]:
        """Count one definition; return the missed and the wrong places."""
        claimed = {site for site, sure in found.items() if sure >= LEAST_CONFIDENCE}
        right = claimed & set(truth)
        missed, wrong = set(truth) - right, claimed - right
        self.definitions += 1
        self.complete += not missed
        self.any_found += bool(right)
        self.right += len(right)
        self.wrong += len(wrong)
        self.missed += len(missed)
        self.seconds.append(answer["took"])
        self.unfinished += not answer["complete"]
        self.recalls.append(len(right) / max(1, len(truth)))
        if claimed:
            self.precisions.append(len(right) / len(claimed))
        for site, sure in found.items():
            counts = self.by_confidence.setdefault(round(sure, 1), [0, 0])
            counts[0] += 1
            counts[1] += site in truth
        return missed, wrong

    def merge(self, other: Counts) -> None:
        for name in ("definitions", "complete", "any_found", "right", "wrong", "missed", "unfinished"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.seconds += other.seconds
        self.recalls += other.recalls
        self.precisions += other.precisions
        for sure, counts in other.by_confidence.items():
            own = self.by_confidence.setdefault(sure, [0, 0])
            own[:] = [a + b for a, b in zip(own, counts, strict=True)]

    def figures(self) -> Figures:
        every = self.right + self.missed
        return {
            "definitions": self.definitions,
            "uses": every,
            "recall": _share(self.right, every),
            "precision": _share(self.right, self.right + self.wrong),
            "mean_recall": _share(sum(self.recalls), len(self.recalls)),
            "mean_precision": _share(sum(self.precisions), len(self.precisions)),
            "all_found": _share(self.complete, self.definitions),
            "any_found": _share(self.any_found, self.definitions),
            "at_least": {str(sure): self._at_least(sure, every) for sure in (0.0, 0.3, 0.5, 0.7, 0.9)},
            "unfinished": self.unfinished,
            "p50_ms": round(1_000 * sorted(self.seconds)[len(self.seconds) // 2]) if self.seconds else None,
        }

    def _at_least(self, least: float, every: int) -> Figures:
        counts = [each for sure, each in self.by_confidence.items() if sure >= least]
        shown, right = (sum(each[n] for each in counts) for n in (0, 1))
        return {"recall": _share(right, every), "precision": _share(right, shown)}


def total(counts: Iterable[Counts]) -> Counts:
    merged = Counts()
    for each in counts:
        merged.merge(each)
    return merged


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
