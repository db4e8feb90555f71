"""Compares the found calls with those that a language server knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from references.model import CallerSet, Sampled, Site

LEAST_CONFIDENCE = 0.5
"""The least confidence of an edge that counts as claimed."""


@frozen
class Found:
    """The calls found of one function, each with a confidence, and the time of the request."""

    sites: Mapping[Site, float]
    milliseconds: float
    says_none: bool = False
    """Whether the answer says that nothing refers to the function, and nothing else is known of it."""


@define
class Score:
    """Counts over the functions of a repository."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    right_at_any: int = 0
    """The same count as `right`, at any confidence."""
    called: int = 0
    """The functions with a caller."""
    said_none: int = 0
    """Those of them of which the answer says that nothing calls them."""
    milliseconds: list[float] = field(factory=list)
    bins: dict[float, list[int]] = field(factory=dict)
    """The number of edges, and of right ones, by confidence in steps of 0.1."""

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def recall_at_any(self) -> float:
        return self.right_at_any / max(1, self.right + self.missed)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    def add(self, truth: Sampled, found: Found, covered: frozenset[str]) -> tuple[list[Site], list[Site]]:
        """Count one function; return the missed and the wrong calls.

        Calls on the lines of the function's own head are left out: servers differ in whether a default value
        there calls it.
        """
        known = {site for site in truth.callers if site.path in covered}
        claimed = {
            site for site, sure in found.sites.items() if sure >= LEAST_CONFIDENCE and site.path in covered
        }
        missed, wrong = known - claimed, claimed - known
        self.right += len(known & claimed)
        self.wrong += len(wrong)
        self.missed += len(missed)
        self.called += bool(known)
        self.said_none += bool(known) and found.says_none
        self.right_at_any += len(known & found.sites.keys())
        self.milliseconds.append(found.milliseconds)
        for site, sure in found.sites.items():
            if site.path in covered:
                counts = self.bins.setdefault(round(sure, 1), [0, 0])
                counts[0] += 1
                counts[1] += site in known
        return sorted(missed, key=_place), sorted(wrong, key=_place)


def score(
    truth: CallerSet, answers: Sequence[Found]
) -> tuple[Score, list[tuple[Sampled, list[Site], list[Site]]]]:
    """Return the score of a set's functions, and the missed and wrong calls of each."""
    total, details = Score(), []
    covered = frozenset(truth.covered)
    for function, found in zip(truth.functions, answers, strict=True):
        details.append((function, *total.add(function, found, covered)))
    return total, details


def _place(site: Site) -> tuple[str, int]:
    return site.path, site.line
