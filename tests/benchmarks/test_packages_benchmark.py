"""Tests of the figures about the package that a question is about."""

from __future__ import annotations

from pathlib import Path

from answers.facts import read_fact_sets
from answers.packages import PACKAGES_FILE, PackageAnswer, figures

SET = Path(__file__).parents[2] / "benchmarks" / "answers" / "sets" / "monorepo"


def answered(*paths: str) -> PackageAnswer:
    question = read_fact_sets([SET], ["tracing"], PACKAGES_FILE)[0]
    kinds = {"excerpts": paths, "bullets": paths[:1], "chunks": ()}
    return PackageAnswer(question, "tracing-appender", kinds, 0.5, 10.0)


def test_figures_count_pieces_of_the_package() -> None:
    inside, beside = "tracing-appender/src/lib.rs", "tracing-appender-other/lib.rs"
    found = figures([answered(inside, inside, beside), answered(beside, inside, beside, beside)])
    assert (found["questions"], found["facts"], found["median_ms"]) == (2, 0.5, 10.0)
    assert (found["excerpts: first"], found["excerpts: most of five"]) == (0.5, 0.5)
    assert found["excerpts: share"] == round((2 / 3 + 1 / 4) / 2, 4)
    assert (found["bullets: first"], found["chunks: first"], found["chunks: share"]) == (0.5, 0, 0)


def test_both_workspaces_have_questions_about_packages_of_theirs() -> None:
    questions = read_fact_sets([SET], (), PACKAGES_FILE)
    assert {question.repository.name for question in questions} == {"tracing", "changesets"}
    assert all(question.answerable for question in questions)
