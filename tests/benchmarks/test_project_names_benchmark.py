"""Tests of the figures about questions that name their project."""

from __future__ import annotations

import re

from answers.project_names import WORDINGS, Compared, summary, table
from retrieval.sets import Repository

FERRY = Repository("ferry", "go", "https://example.org/port/ferry", "0" * 40, ".")


def test_wordings_differ_only_by_the_name() -> None:
    for question in ("moor a ship at a berth", "how are ships moored?"):
        for put, without in WORDINGS.values():
            texts = put("ferry", question), without("ferry", question)
            named, other = (set(re.findall(r"[a-z]+", text)) for text in texts)
            assert "ferry" in named
            assert named - {"ferry", "in", "s"} == other - {"it", "in"}


def test_figures_compare_each_question_with_and_without_the_name() -> None:
    pairs = ((1.0, 0.5), (0.5, 0.5), (0.0, 1.0))
    compared = [Compared(FERRY, "in NAME, …", "search", "how", *pair) for pair in pairs]
    figures = summary(compared)["in NAME, …"]["search"]
    assert (figures["questions"], figures["better"], figures["worse"]) == (3, 1, 1)
    assert (figures["mean"], figures["change"]) == (0.6667, 0.1667)
    assert "0.667 (+0.167; halves +0.167; 1 better, 1 worse of 3)" in table(summary(compared))
