"""Computes figures of the retrieved texts: shares of facts, refusals, correct citations, tokens and times."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from engine.figures import Figures, percentile

from answers.asking import Retrieved
from answers.facts import BUDGETS, MAIN_BUDGET
from cairn.retrieval.verdict import Action


def summary(retrieved: Sequence[Retrieved]) -> Figures:
    """Return the figures of one system; shares of facts are means over the answerable questions."""
    answerable = [each for each in retrieved if each.question.answerable]
    others = [each for each in retrieved if not each.question.answerable]
    cited = sum(len(each.cited) for each in retrieved)
    took = [each.ms for each in retrieved]
    return {
        "questions": {"answerable": len(answerable), "unanswerable": len(others)},
        "facts": {str(budget): mean_share(answerable, budget) for budget in BUDGETS},
        "vital_facts": {str(budget): mean_share(answerable, budget, vital=True) for budget in BUDGETS},
        "facts_by_set": _by(answerable, lambda each: each.question.set),
        "facts_by_kind": _by(answerable, lambda each: each.question.kind),
        "facts_by_repository": _by(answerable, lambda each: each.question.repository.name),
        "actions": {"answerable": _actions(answerable), "unanswerable": _actions(others)},
        "answered": _share(each.action == Action.ANSWER for each in answerable if each.action),
        "answerable_refused": _share(each.refused for each in answerable if each.action),
        "refused": _share(each.refused for each in others if each.action),
        "cited": cited,
        "standing": round(sum(each.standing for each in retrieved) / cited, 4) if cited else None,
        "tokens": {
            str(budget): round(statistics.fmean(each.tokens(budget) for each in retrieved))
            for budget in BUDGETS
        },
        "ms": {"p50": round(percentile(took, 50), 1), "p95": round(percentile(took, 95), 1)},
        "answers_in_a_lower_phase": sum(each.phases_lost for each in retrieved),
    }


def mean_share(retrieved: Iterable[Retrieved], budget: int, *, vital: bool = False) -> float | None:
    """Return the mean share of the facts that are found, over the questions with facts; None without such."""
    shares = [share for each in retrieved if (share := each.share(budget, vital=vital)) is not None]
    return round(statistics.fmean(shares), 4) if shares else None


def by_question(retrieved: Sequence[Retrieved]) -> list[Figures]:
    """Return one record a question: for each fact the least budget at which it is found, None for never."""
    return [
        {
            "id": each.question.id,
            "kind": each.question.kind,
            "action": each.action,
            "facts": {str(budget): each.share(budget) for budget in BUDGETS},
            "found_from": {fact.place: each.needed(fact) for fact in each.question.facts},
            "tokens": round(each.tokens(MAIN_BUDGET)),
            "ms": round(each.ms, 1),
        }
        for each in retrieved
    ]


def _by(retrieved: Iterable[Retrieved], key: Callable[[Retrieved], str]) -> Figures:
    groups: dict[str, list[Retrieved]] = defaultdict(list)
    for each in retrieved:
        groups[key(each)].append(each)
    return {
        name: {"questions": len(group), "facts": mean_share(group, MAIN_BUDGET)}
        for name, group in sorted(groups.items())
    }


def _actions(retrieved: Iterable[Retrieved]) -> dict[str, int]:
    return dict(sorted(Counter(each.action for each in retrieved if each.action).items()))


def _share(truths: Iterable[bool]) -> float | None:
    known = list(truths)
    return round(sum(known) / len(known), 4) if known else None
