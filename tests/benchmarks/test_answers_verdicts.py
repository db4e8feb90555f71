"""Tests of the fit of the verdict's rule, and of the set of absent topics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from answers.verdicts import WANTED_ANSWERED, fit

SET = Path(__file__).parents[2] / "benchmarks/answers/sets/absent/questions.json"


def test_fit_separates_answerable_questions() -> None:
    random = np.random.default_rng(0)
    answerable = np.arange(400) % 2 == 0
    feature = np.where(answerable, 1.0, 0.0) + random.normal(0, 0.4, 400)
    rows = np.column_stack([feature, random.normal(0, 1, 400)])
    rule = fit(rows, answerable, np.ones(400), np.ones(400, np.bool_))
    assert rule.weights[0] > 10 * abs(rule.weights[1])
    is_answered = rule.odds(rows) >= rule.least
    assert WANTED_ANSWERED <= is_answered[answerable].mean() < WANTED_ANSWERED + 0.02
    assert is_answered[~answerable].mean() < 0.5


def test_the_least_odds_are_those_of_the_questions_that_must_be_answered() -> None:
    rows = np.linspace(0, 1, 100)[:, None]
    answerable, own = rows[:, 0] > 0.3, rows[:, 0] > 0.6
    rule = fit(rows, answerable, np.ones(100), own)
    assert (rule.odds(rows) >= rule.least)[own].mean() >= WANTED_ANSWERED
    assert not (rule.odds(rows) >= rule.least)[rows[:, 0] < 0.6].any()


def test_absent_set_covers_every_project_in_two_halves() -> None:
    items = json.loads(SET.read_text(encoding="utf-8"))
    assert len({item["repo"] for item in items}) == len(items) >= 8
    assert {item["half"] for item in items} == {"a", "b"}
    assert all(len(item["absent"]) == 7 and len(item["present"]) == 3 for item in items)
    questions = [question for item in items for question in (*item["absent"], *item["present"])]
    assert all(question.endswith("?") for question in questions)
