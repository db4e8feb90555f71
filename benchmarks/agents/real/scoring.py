"""Computes what the agents of each arm spent, and how good their answers are."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from engine.figures import Figures

from agents.real.runs import MAX_CITATIONS, MAX_LINES, Answer, Call, Lines, Question, Run

COSTS = ("calls", "bytes", "seconds")
BASE = "grep"
"""The arm that the others are compared with."""
_NEAR = 3
"""A citation finds reference lines that are at most so many lines away, as experts draw the same place
differently."""

Judged = Mapping[str, Mapping[str, float]]
"""The correctness by run and question: 0, 0.5 or 1."""
_Pair = tuple[Run, Question, Answer | None]


def finds(citations: Iterable[Lines], wanted: Lines) -> bool:
    """Whether the citations overlap the wanted lines, or nearly do. Only the citations that the task sheet
    allows count."""
    for cited in tuple(citations)[:MAX_CITATIONS]:
        last = min(cited.last, cited.first + MAX_LINES - 1)
        if cited.path == wanted.path and cited.first - _NEAR <= wanted.last and wanted.first <= last + _NEAR:
            return True
    return False


def cited_share(question: Question, answer: Answer | None) -> float:
    """Return the share of the reference ranges that an answer cites."""
    citations = answer.citations if answer else ()
    return sum(finds(citations, each) for each in question.lines) / len(question.lines)


def spent(calls: Sequence[Call]) -> Figures:
    """Return the costs of calls."""
    total = sum(call.seconds for call in calls)
    return {"calls": len(calls), "bytes": sum(call.bytes for call in calls), "seconds": round(total, 2)}


def run_figures(run: Run, judged: Judged | None) -> Figures:
    """Return the figures of one run."""
    return {
        "arm": run.arm,
        "set": run.set,
        **spent(run.calls),
        "refused": sum(call.is_refused for call in run.calls),
        **_quality(_pairs([run]), judged),
        "repositories": {
            name: {"questions": count, **spent([call for call in run.calls if call.repository == name])}
            for name, count in _repositories([run]).items()
        },
    }


def arm_figures(runs: Sequence[Run], base: Sequence[Run], judged: Judged | None) -> Figures:
    """Return the figures of the runs of one arm, and ratios to the runs of the base."""
    totals = [spent(run.calls) for run in runs]
    calls = [call for run in runs for call in run.calls]
    return {
        "runs": len(runs),
        **{
            cost: {
                "sum": round(sum(total[cost] for total in totals), 2),
                "median": round(statistics.median(total[cost] for total in totals), 2),
                **_ratios(runs, base, cost),
            }
            for cost in COSTS
        },
        "refused": sum(call.is_refused for call in calls),
        **_quality(_pairs(runs), judged),
        "kinds": {
            kind: _quality([pair for pair in _pairs(runs) if pair[1].kind == kind], judged)
            for kind in sorted({question.kind for run in runs for question in run.questions})
        },
        "repositories": {
            name: {"questions": count, **spent([call for call in calls if call.repository == name])}
            for name, count in _repositories(runs).items()
        },
        "commands": dict(Counter(call.name for call in calls if not call.is_refused).most_common()),
    }


def _pairs(runs: Iterable[Run]) -> list[_Pair]:
    return [(run, question, run.answers.get(question.id)) for run in runs for question in run.questions]


def _quality(pairs: Sequence[_Pair], judged: Judged | None) -> Figures:
    """Return how good answers are. A missing answer counts as wrong."""
    present = [(question, answer) for _, question, answer in pairs if not question.is_absent]
    absent = [answer for _, question, answer in pairs if question.is_absent]
    grades = [
        judged[run.name][question.id] if answer else 0.0
        for run, question, answer in pairs
        if judged is not None
    ]
    return {
        "questions": len(pairs),
        "answered": sum(answer is not None for *_, answer in pairs),
        "cited": _mean([cited_share(question, answer) for question, answer in present]),
        "given_up": sum(answer is not None and not answer.found for _, answer in present),
        "absent": len(absent),
        "absent_recognized": sum(answer is not None and not answer.found for answer in absent),
        "malformed": sum(answer.malformed for *_, answer in pairs if answer),
        "correct": _mean(grades),
    }


def _ratios(runs: Sequence[Run], base: Sequence[Run], cost: str) -> Figures:
    """Return the costs of a question, and their median over the runs, divided by those of the base. Only the
    sets that both answered count."""
    sets = {run.set for run in runs} & {run.set for run in base}

    def of_a_question(those: Sequence[Run]) -> tuple[float, float]:
        totals = [(float(spent(run.calls)[cost]), len(run.questions)) for run in those if run.set in sets]
        return (
            sum(total for total, _ in totals) / sum(count for _, count in totals),
            statistics.median(total / count for total, count in totals),
        )

    if not sets:
        return {"ratio": None, "ratio_of_medians": None}
    names = ("ratio", "ratio_of_medians")
    each = zip(names, of_a_question(runs), of_a_question(base), strict=True)
    return {name: round(mine / theirs, 3) if theirs else None for name, mine, theirs in each}


def _repositories(runs: Iterable[Run]) -> dict[str, int]:
    """Return the number of questions of the runs by repository."""
    return dict(sorted(Counter(question.repository for run in runs for question in run.questions).items()))


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 4) if values else None
