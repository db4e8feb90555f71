"""What choices say of files: by how alike questions are, by age, and never more than 1."""

from __future__ import annotations

import math

import pytest
from attrs import evolve
from tests.retrieval.ranking_builders import MadeUpFile, candidates, file

from cairn.protocol.feedback import FeedbackAction
from cairn.retrieval.learned import DAY_S, HALF_LIFE_DAYS, Choice, Learned, learn
from cairn.retrieval.query import understand
from cairn.retrieval.scores import Scores, SignalInputs, score_files
from cairn.retrieval.signals import SIGNALS, weighted

TODAY = 20_000
NAME = "chosen for such questions"


def choice(
    question: str, path: str = "a.py", action: FeedbackAction = FeedbackAction.OPEN, day: int = TODAY
) -> Choice:
    return Choice(frozenset(question.split()), path, action, day * DAY_S)


def learned(*choices: Choice, today: int = TODAY) -> Learned:
    return learn(choices, 1, today)


def value(known: Learned, question: str, path: str = "a.py", **telling: float) -> float:
    return known.values(frozenset(question.split()), telling).get(path, 0.0)


@pytest.mark.parametrize(
    ("action", "sign"),
    [
        (FeedbackAction.OPEN, 1),
        (FeedbackAction.COPY, 1),
        (FeedbackAction.HELPFUL, 1),
        (FeedbackAction.NOT_HELPFUL, -1),
    ],
)
def test_each_action_speaks_for_a_file_or_against_it(action: FeedbackAction, sign: int) -> None:
    said = value(learned(choice("moor ship", action=action)), "moor ship")
    assert math.copysign(1, said) == sign
    assert 0.3 < abs(said) < 1


@pytest.mark.parametrize("action", list(FeedbackAction))
def test_however_often_something_is_done_it_says_no_more_than_1(action: FeedbackAction) -> None:
    said = [abs(value(learned(*[choice("moor", action=action)] * n), "moor")) for n in (1, 2, 5, 4_000)]
    assert said == sorted(said)
    assert said[2] < said[3] <= 1


def test_what_is_said_for_and_against_is_weighed_up() -> None:
    known = learned(
        choice("moor", action=FeedbackAction.HELPFUL), choice("moor", action=FeedbackAction.NOT_HELPFUL)
    )
    assert known.values({"moor"}, {}) == {}


def test_a_choice_says_half_after_the_half_life_and_never_more_than_today() -> None:
    half = learned(
        *[choice("moor", action=FeedbackAction.HELPFUL, day=TODAY - int(HALF_LIFE_DAYS))],
    )
    assert value(half, "moor") == pytest.approx(1 - math.exp(-0.5))
    whole = learned(choice("moor", action=FeedbackAction.HELPFUL))
    future = learned(choice("moor", action=FeedbackAction.HELPFUL, day=TODAY + 900))
    assert value(future, "moor") == value(whole, "moor") == pytest.approx(1 - math.exp(-1))


def test_the_more_alike_the_questions_the_more_it_says() -> None:
    known = learned(choice("moor ship berth"))
    asked = ["moor ship berth", "moor ship berth tide", "moor ship", "moor", "tide", ""]
    said = [value(known, question) for question in asked]
    assert said[0] > said[1] > said[2] > said[3] == said[4] == said[5] == 0


def test_a_rare_word_in_common_says_more_than_a_frequent_one() -> None:
    known = learned(choice("mizzen get", "a.py"), choice("value get", "b.py"))
    said = known.values({"mizzen", "get", "value"}, {"mizzen": 5.0, "get": 1.0, "value": 1.0})
    assert said["a.py"] > 0
    assert "b.py" not in said


def test_choices_of_like_questions_add_up() -> None:
    one, both = (
        learned(*choices)
        for choices in ([choice("moor ship")], [choice("moor ship"), choice("moor ship rope")])
    )
    assert value(both, "moor ship") > value(one, "moor ship")


def test_what_was_chosen_for_other_questions_says_nothing() -> None:
    assert learned(choice("crane lift")).values({"moor", "ship"}, {}) == {}


# --- the signal ------------------------------------------------------------------------------------


def scored(known: Learned | None, *files: MadeUpFile, query: str = "moor ship", **weights: float) -> Scores:
    found = candidates(files)
    asked = SignalInputs(understand(query), found, learned={0: known} if known else {})
    return score_files(asked, weighted(weights))


FIRST, SECOND, FAR = file("a.py", keyword=3.0), file("b.py", keyword=2.8), file("c.py", keyword=0.2)


def test_it_puts_a_near_equal_first_and_says_why() -> None:
    known = learned(choice("moor ship", "b.py"))
    before, after = scored(None, FIRST, SECOND), scored(known, FIRST, SECOND)
    assert before.totals[0] > before.totals[1]
    assert after.totals[0] < after.totals[1]
    assert after.totals.max() <= 1
    assert [str(r) for r in after.reasons(1) if r.signal == NAME] == [f"{NAME}: 0.39 × 1 = +0.39"]
    assert [r for r in after.reasons(0) if r.signal == NAME] == []


def test_what_is_not_helpful_steps_behind_a_near_equal() -> None:
    known = learned(choice("moor ship", "a.py", FeedbackAction.NOT_HELPFUL))
    before, after = scored(None, FIRST, SECOND), scored(known, FIRST, SECOND)
    assert after.totals[0] < after.totals[1]
    assert after.totals[1] == before.totals[1]  # nobody else gains or loses
    assert [r.value for r in after.reasons(0) if r.signal == NAME] == [pytest.approx(-(1 - math.exp(-1)))]


def test_the_most_that_can_be_said_lifts_nothing_over_a_clearly_better_file() -> None:
    everything = [choice("moor ship", "c.py", FeedbackAction.HELPFUL)] * 4_000
    totals = scored(learned(*everything), FIRST, FAR).totals
    assert totals[0] > totals[1]


@pytest.mark.parametrize("known", [None, learned(choice("crane lift", "b.py"))], ids=["none", "another"])
def test_without_choices_for_such_questions_nothing_changes(known: Learned | None) -> None:
    without = score_files(
        SignalInputs(understand("moor ship"), candidates([FIRST, SECOND])),
        [signal for signal in SIGNALS if signal.name != NAME],
    )
    now = scored(known, FIRST, SECOND)
    assert now.totals.tobytes() == without.totals.tobytes()
    assert now.reasons(1) == without.reasons(1)


def test_it_can_be_switched_off_by_its_weight() -> None:
    known = learned(choice("moor ship", "b.py"))
    off = scored(known, FIRST, SECOND, **{NAME: 0.0})
    assert off.totals.tobytes() == scored(None, FIRST, SECOND).totals.tobytes()


def test_choices_of_one_folder_say_nothing_of_another() -> None:
    known = learned(choice("moor ship", "b.py"))
    elsewhere = evolve(SECOND, file=evolve(SECOND.file, folder=1))
    assert not [r for r in scored(known, FIRST, elsewhere).reasons(1) if r.signal == NAME]
