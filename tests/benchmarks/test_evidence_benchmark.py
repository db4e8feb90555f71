"""The measure of cited lines: which lines count, and what an answer shows and names of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence.__main__ import QUESTIONS, Question, Text, code_bases, counted, lines_of_place
from evidence.unpublished import replaced

from cairn import protocol
from cairn.protocol import DiscoverAnswer, DiscoveryMetrics, IndexState, Verdict, whole_lines
from cairn.protocol.discovery_messages import AnswerPlan


def answer(excerpts: list[tuple[int, int]], places: list[tuple[int, int]]) -> DiscoverAnswer:
    def excerpt(first: int, last: int) -> protocol.Excerpt:
        lines = whole_lines(first, last)
        return protocol.Excerpt("a.py", "file:///w/a.py", "file:///w", lines, "", "", "", "", "", "", 1.0)

    def place(first: int, last: int) -> protocol.NamedPlace:
        return protocol.NamedPlace(
            "a.py", "file:///w/a.py", "file:///w", whole_lines(first, last), "moor", ""
        )

    return DiscoverAnswer(
        "", AnswerPlan((), 0, ()), (), (), Verdict("answer", "", (), 1.0, ()), DiscoveryMetrics(),
        IndexState(1, True), tuple(excerpt(*each) for each in excerpts),
        tuple(place(*each) for each in places),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("excerpts", "places", "figures"),
    [
        ([], [], (0, 0, 0)),
        ([(0, 3)], [], (0.5, 0.5, 1.0)),
        ([(0, 6)], [], (1.0, 1.0, 0.8)),
        ([(0, 1)], [(1, 6)], (0.25, 1.0, 1.0)),
    ],
)
def test_shown_named_and_needed_lines_are_counted(
    tmp_path: Path,
    excerpts: list[tuple[int, int]],
    places: list[tuple[int, int]],
    figures: tuple[float, float, float],
) -> None:
    (tmp_path / "a.py").write_text("line one\nline two\n}\nline four\nline five\nother\n")
    question = Question("a-01", "a", "how", "?", frozenset(lines_of_place("a.py:1-5")))
    found = counted(question, 1_000, answer(excerpts, places), Text(tmp_path))
    assert (found.shown, found.named, found.needed) == figures


def test_each_half_has_other_code_bases() -> None:
    tuned, kept = (dict(code_bases(QUESTIONS, half)) for half in ("tuned", "kept"))
    assert not tuned.keys() & kept.keys()
    assert sum(map(len, tuned.values())) == sum(map(len, kept.values())) == 30
    assert len(dict(code_bases(QUESTIONS, ""))) == len(tuned) + len(kept)


def test_every_question_cites_lines_of_a_known_commit() -> None:
    for each in json.loads(QUESTIONS.read_text(encoding="utf-8")):
        assert len(each["commit"]) in (8, 40)
        for item in each["questions"]:
            assert item["answer"]
            assert all(any(True for _ in lines_of_place(place)) for place in item["lines"])


def test_words_are_replaced_in_every_spelling() -> None:
    text = "class JobQueue: JOB_ID, enqueue_job(jobs)"
    assert replaced(text) == "class ErrandLane: ERRAND_ID, admit_errand(errands)"
