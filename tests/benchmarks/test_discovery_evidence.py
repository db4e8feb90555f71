"""The thresholds of the evidence verdict: what is said with them, and which are chosen."""

from __future__ import annotations

from discovery.evidence import Judged, Row, Thresholds, fit, row

from cairn.retrieval.verdict import Action

ANSWER, CLARIFY, NO_MATCH = Action.ANSWER, Action.CLARIFY, Action.NO_MATCH


def judged(similarity: float | None, answerable: bool = True) -> Judged:
    return Judged("set", answerable, ANSWER, similarity, far=NO_MATCH, near=CLARIFY, sure=ANSWER)


def test_what_is_said_depends_on_the_similarity() -> None:
    at = Thresholds(0.4, 0.6)
    similarities = (None, 0.0, 0.39, 0.4, 0.59, 0.6, 1.0)
    said = [judged(similarity).said(at) for similarity in similarities]
    assert said == [NO_MATCH, NO_MATCH, NO_MATCH, CLARIFY, CLARIFY, ANSWER, ANSWER]
    assert judged(0.0).said(None) is ANSWER


def test_the_shares_of_what_is_said_are_told() -> None:
    at = Thresholds(0.4, 0.6)
    assert row([judged(0.1), judged(0.5), judged(0.7), judged(0.8)], at) == Row(4, 0.5, 0.25, 0.25)


def test_the_fit_denies_others_as_far_as_no_answerable_question_is_denied() -> None:
    answerable = [judged(similarity) for similarity in (0.48, 0.55, 0.63, 0.7)]
    others = [judged(similarity, answerable=False) for similarity in (0.3, 0.41, 0.46, 0.49, 0.61)]
    at = fit([*answerable, *others])
    assert [each.said(at) for each in others] == [NO_MATCH, NO_MATCH, NO_MATCH, CLARIFY, CLARIFY]
    assert row(answerable, at).denied == 0
    # 0.61 is not answered, and as many answerable questions as then can be.
    assert [each.said(at) for each in answerable] == [CLARIFY, CLARIFY, ANSWER, ANSWER]


def test_one_denied_question_in_many_is_worth_more_that_are_told() -> None:
    answerable = [judged(0.3), *(judged(0.7) for _ in range(60))]
    others = [judged(0.45, answerable=False) for _ in range(5)]
    at = fit([*answerable, *others])
    assert {each.said(at) for each in others} == {NO_MATCH}
    assert row(answerable, at).denied < 0.02
