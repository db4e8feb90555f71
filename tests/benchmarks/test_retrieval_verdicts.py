"""What the verdict is measured and fitted by."""

from __future__ import annotations

import pytest
from retrieval.metrics import Span
from retrieval.sets import Question, Repository
from retrieval.verdicts import Judged, Thresholds, fit, row, table

QUAY = Repository("quay", "python", "https://example.org/quay", "abc", ".")


def judged(
    action: str = "answer",
    *,
    lead: float = 0.5,
    coverage: float = 0.5,
    right: bool = True,
    answerable: bool = True,
    leads: bool = True,
) -> Judged:
    relevant = (Span("a.py"),) if answerable else ()
    question = Question(QUAY, "berths", relevant, (), "", answerable)
    return Judged(question, action, lead, coverage, leads, right, right_in_3=right)


@pytest.mark.parametrize(
    ("said", "at", "action"),
    [
        (judged(), Thresholds(0.5, 0.5), "answer"),
        (judged(), Thresholds(0.5, 0.51), "clarify"),
        (judged(), Thresholds(0.51, 0.0), "noMatch"),
        (judged("clarify"), Thresholds(0.0, 0.0), "clarify"),
        (judged("noMatch"), Thresholds(0.0, 0.0), "noMatch"),
        (judged(leads=False), Thresholds(0.5, 0.9), "answer"),
    ],
)
def test_other_thresholds_need_no_other_question(said: Judged, at: Thresholds, action: str) -> None:
    assert said.action_at(at.coverage, at.lead) == action


def test_precision_is_of_answers_to_what_can_be_answered() -> None:
    said = [judged(), judged(right=False), judged("clarify", right=False), judged("noMatch")]
    figures = row(said, Thresholds(0.0, 0.0))
    assert (figures.answered, figures.clarified, figures.unmatched) == (0.5, 0.25, 0.25)
    assert figures.precision == 0.5
    assert row([judged(answerable=False, right=False)], Thresholds(0.0, 0.0)).precision is None


def test_the_fit_answers_most_within_the_limits() -> None:
    said = [
        *(judged(lead=lead / 10, right=lead >= 3) for lead in range(10)),
        *(judged(coverage=0.1, answerable=False, right=False) for _ in range(5)),
    ]
    chosen = fit(said)
    answerable, others = said[:10], said[10:]
    assert row(others, chosen).answered == 0
    # One wrong answer of eight is precise enough, two of nine are not.
    assert row(answerable, chosen).precision == pytest.approx(7 / 8)


def test_the_table_has_a_line_for_each_repository() -> None:
    shown = table(
        [judged(), judged(answerable=False, right=False, coverage=0.1)], Thresholds(0.3, 0.2), "set"
    )
    assert "| quay | 1 | 100% | 0% | 0% | 1.00 | 1.00 |" in shown
    assert "| quay, unanswerable | 1 | 0% | 0% | 100% |  |  |" in shown
