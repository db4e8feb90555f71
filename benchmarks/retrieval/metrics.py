"""Computes ranking metrics of one question, from its ranked results and the targets that answer it.

A target counts once, at the first result that covers it. Gains are binary. Relevant and secondary targets
weigh the same except for `mrr` and `critical_at_3`, which look only at relevant ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
from attrs import frozen

DEPTH = 10
"""The number of results that count."""


@frozen
class Span:
    """Lines of a file, 1-based and inclusive; the whole file if there are none."""

    path: str
    """The path relative to some folder, with `/`."""
    start_line: int | None = None
    end_line: int | None = None


@frozen
class Scores:
    """The metrics of one question, 0 to 1 each."""

    ndcg_at_10: float
    """NDCG, discounted by log2(1 + rank); the ideal has all targets first. A result that covers two targets
    counts for both, and the sum is cut at the ideal."""
    precision_at_3: float
    """Targets covered by the first three results, divided by 3. A second passage on a target adds nothing."""
    precision_at_10: float
    attainable_precision_at_3: float
    """Targets covered by the first three results, divided by 3, or by the number of targets if less."""
    attainable_precision_at_10: float
    recall_at_10: float
    """Share of the targets covered by the first ten results."""
    mrr: float
    """The value 1 / rank of the first of ten results that covers a relevant target; 0 if none does."""
    critical_at_3: float
    """The value 1 if the first three results cover a relevant target, else 0."""


METRICS = tuple(field.name for field in attrs.fields(Scores))


def covers(result: Span, target: Span) -> bool:
    """Return whether one path ends with the other, at a `/`, and the lines overlap where both have lines."""
    if not _is_suffix(result.path, target.path) and not _is_suffix(target.path, result.path):
        return False
    if target.start_line is None or result.start_line is None:
        return True
    return result.start_line <= _end(target) and target.start_line <= _end(result)


def rank_of(target: Span, results: Sequence[Span]) -> int | None:
    """Return the rank, from 1, of the first result that covers the target."""
    return next((rank for rank, result in enumerate(results, 1) if covers(result, target)), None)


def score(results: Sequence[Span], relevant: Sequence[Span], secondary: Sequence[Span] = ()) -> Scores:
    """Return the metrics of one question; only the first DEPTH results count.

    Raises ValueError if nothing is relevant: no ranking of such a question is better than another.
    """
    if not relevant:
        raise ValueError("a question needs a relevant target")
    shown = results[:DEPTH]
    critical = [rank for target in relevant if (rank := rank_of(target, shown))]
    ranks = critical + [rank for target in secondary if (rank := rank_of(target, shown))]
    targets = len(relevant) + len(secondary)
    first = min(critical, default=math.inf)
    ideal = _gain(range(1, min(targets, DEPTH) + 1))
    return Scores(
        ndcg_at_10=min(1.0, _gain(ranks) / ideal),
        precision_at_3=_covered(ranks, 3) / 3,
        precision_at_10=_covered(ranks, DEPTH) / DEPTH,
        attainable_precision_at_3=_covered(ranks, 3) / min(3, targets),
        attainable_precision_at_10=_covered(ranks, DEPTH) / min(DEPTH, targets),
        recall_at_10=len(ranks) / targets,
        mrr=1 / first,
        critical_at_3=float(first <= 3),
    )


def _covered(ranks: Sequence[int], among: int) -> int:
    """Return the number of targets covered by the first `among` results, at most one for each result."""
    return min(among, sum(rank <= among for rank in ranks))


def _gain(ranks: Sequence[int]) -> float:
    return sum(1 / math.log2(1 + rank) for rank in ranks)


def _is_suffix(path: str, of: str) -> bool:
    return path == of or of.endswith(f"/{path}")


def _end(span: Span) -> float:
    return math.inf if span.end_line is None else span.end_line
