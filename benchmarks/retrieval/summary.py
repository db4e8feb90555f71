"""Averages many answers of one system, by repository, language, category and half."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.figures import percentile

from retrieval.asking import Answer
from retrieval.metrics import METRICS

GROUPS: Mapping[str, Callable[[Answer], str]] = {
    "repository": lambda answer: answer.question.repository.name,
    "language": lambda answer: answer.question.repository.language,
    "category": lambda answer: answer.question.category,
    "half_of_questions": lambda answer: answer.question.half_of_questions,
    "half_of_repositories": lambda answer: answer.question.half_of_repositories,
}


def summary(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the metrics' means over questions, repositories and groups of questions, and latency in ms."""
    by = {name: _grouped(answers, key) for name, key in GROUPS.items()}
    per_repository = [means(part) for part in by["repository"].values()]
    took = [answer.ms for answer in answers]
    return {
        "questions": len(answers),
        "mean_of_questions": means(answers),
        "mean_of_repositories": {
            name: round(statistics.fmean(part[name] for part in per_repository), 4) for name in METRICS
        },
        "ms": {"p50": round(percentile(took, 50), 1), "p95": round(percentile(took, 95), 1)},
        **{
            f"by_{name}": {
                value: {"questions": len(part), **means(part)} for value, part in sorted(groups.items())
            }
            for name, groups in by.items()
        },
    }


def means(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the mean of every metric over at least one answer."""
    return {
        name: round(statistics.fmean(getattr(answer.scores, name) for answer in answers), 4)
        for name in METRICS
    }


def ndcg(answers: Sequence[Answer]) -> float:
    """Return the mean NDCG@10, unrounded."""
    return statistics.fmean(answer.scores.ndcg_at_10 for answer in answers)


def _grouped(answers: Sequence[Answer], key: Callable[[Answer], str]) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[key(answer)].append(answer)
    return groups
