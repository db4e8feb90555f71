"""Earlier choices make files preferred for similar queries, the more the newer they are."""

from __future__ import annotations

import math

import pytest
from attrs import evolve
from tests.retrieval.ranking_builders import MadeUpFile, candidates, file

from cairn.protocol.status_messages import FeedbackAction
from cairn.retrieval.feedback_values import DAY_S, HALF_LIFE_DAYS, Choice, Learned, learn
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Scores, SignalInputs, score_files
from cairn.retrieval.signals import SIGNALS, weighted

TODAY = 20_000
NAME = "chosen for similar questions"


def choice(
    query: str, path: str = "a.py", action: FeedbackAction = FeedbackAction.OPEN, day: int = TODAY
) -> Choice:
    return Choice(frozenset(query.split()), path, action, day * DAY_S)


def learned(*choices: Choice, today: int = TODAY) -> Learned:
    return learn(choices, 1, today)


def value(known: Learned, query: str, path: str = "a.py") -> float:
    return known.values(frozenset(query.split()), {}).get(path, 0.0)


@pytest.mark.parametrize("action", FeedbackAction)
def test_repeated_actions_approach_1_or_minus_1(action: FeedbackAction) -> None:
    values = [value(learned(*[choice("moor", action=action)] * n), "moor") for n in (1, 2, 5, 4_000)]
    sign = -1 if action is FeedbackAction.NOT_HELPFUL else 1
    strengths = [sign * each for each in values]
    assert 0.3 < strengths[0] < 1
    assert strengths == sorted(strengths)
    assert strengths[2] < strengths[3] <= 1


def test_opposite_actions_cancel_out() -> None:
    actions = (FeedbackAction.HELPFUL, FeedbackAction.NOT_HELPFUL)
    known = learned(*(choice("moor", action=action) for action in actions))
    assert known.values({"moor"}, {}) == {}


def test_a_choice_loses_strength_with_age() -> None:
    half, whole, future = (
        value(learned(choice("moor", action=FeedbackAction.HELPFUL, day=day)), "moor")
        for day in (TODAY - int(HALF_LIFE_DAYS), TODAY, TODAY + 900)
    )
    assert half == pytest.approx(1 - math.exp(-0.5))
    assert future == whole == pytest.approx(1 - math.exp(-1))


def test_a_choice_counts_more_for_more_similar_queries() -> None:
    known = learned(choice("moor ship berth"))
    queries = ["moor ship berth", "moor ship berth tide", "moor ship", "moor", "tide", ""]
    values = [value(known, query) for query in queries]
    assert values[0] > values[1] > values[2] > values[3] == values[4] == values[5] == 0


def test_a_common_rare_word_counts_more() -> None:
    known = learned(choice("mizzen get", "a.py"), choice("value get", "b.py"))
    values = known.values({"mizzen", "get", "value"}, {"mizzen": 5.0, "get": 1.0, "value": 1.0})
    assert values["a.py"] > 0
    assert "b.py" not in values


def test_choices_of_similar_queries_add_up() -> None:
    one, other = choice("moor ship"), choice("moor ship rope")
    assert value(learned(one, other), "moor ship") > value(learned(one), "moor ship")


def test_choices_for_other_queries_do_not_count() -> None:
    assert learned(choice("crane lift")).values({"moor", "ship"}, {}) == {}


# --- the signal ------------------------------------------------------------------------------------


def scored(known: Learned | None, *files: MadeUpFile, query: str = "moor ship", **weights: float) -> Scores:
    found = candidates(files)
    inputs = SignalInputs(understand(query), found, learned={0: known} if known else {})
    return score_files(inputs, weighted(weights))


FIRST, SECOND, FAR = file("a.py", keyword=3.0), file("b.py", keyword=2.8), file("c.py", keyword=0.2)


def test_a_chosen_file_passes_a_near_equal_with_a_reason() -> None:
    known = learned(choice("moor ship", "b.py"))
    before, after = scored(None, FIRST, SECOND), scored(known, FIRST, SECOND)
    assert before.totals[0] > before.totals[1]
    assert after.totals[0] < after.totals[1]
    assert after.totals.max() <= 1
    assert [str(r) for r in after.reasons(1) if r.signal == NAME] == [f"{NAME}: 0.39 × 1 = +0.39"]
    assert [r for r in after.reasons(0) if r.signal == NAME] == []


def test_an_unhelpful_file_falls_behind_a_near_equal() -> None:
    known = learned(choice("moor ship", "a.py", FeedbackAction.NOT_HELPFUL))
    before, after = scored(None, FIRST, SECOND), scored(known, FIRST, SECOND)
    assert after.totals[0] < after.totals[1]
    assert after.totals[1] == before.totals[1]  # other files are unchanged
    assert [r.value for r in after.reasons(0) if r.signal == NAME] == [pytest.approx(-(1 - math.exp(-1)))]


def test_no_choice_outweighs_a_clearly_better_file() -> None:
    everything = [choice("moor ship", "c.py", FeedbackAction.HELPFUL)] * 4_000
    totals = scored(learned(*everything), FIRST, FAR).totals
    assert totals[0] > totals[1]


@pytest.mark.parametrize("known", [None, learned(choice("crane lift", "b.py"))], ids=["none", "another"])
def test_scores_stay_without_choices_for_similar_queries(known: Learned | None) -> None:
    without = score_files(
        SignalInputs(understand("moor ship"), candidates([FIRST, SECOND])),
        [signal for signal in SIGNALS if signal.title != NAME],
    )
    now = scored(known, FIRST, SECOND)
    assert now.totals.tobytes() == without.totals.tobytes()
    assert now.reasons(1) == without.reasons(1)


def test_a_weight_of_0_disables_the_signal() -> None:
    known = learned(choice("moor ship", "b.py"))
    off = scored(known, FIRST, SECOND, **{NAME: 0.0})
    assert off.totals.tobytes() == scored(None, FIRST, SECOND).totals.tobytes()


def test_choices_of_one_folder_do_not_count_in_another() -> None:
    known = learned(choice("moor ship", "b.py"))
    elsewhere = evolve(SECOND, file=SECOND.file._replace(folder=1))
    assert not [r for r in scored(known, FIRST, elsewhere).reasons(1) if r.signal == NAME]
