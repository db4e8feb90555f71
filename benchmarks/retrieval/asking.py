"""Sends questions to one daemon, and scores its results."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen
from engine.daemon import Daemon

from retrieval.ablation import Variant
from retrieval.metrics import DEPTH, Scores, Span, score
from retrieval.sets import Question


@frozen
class Answer:
    """The answer of one system to one question."""

    question: Question
    results: tuple[Span, ...]
    scores: Scores
    ms: float
    """The time from the question to the answer; of a daemon over LSP."""


def answer(question: Question, results: Sequence[Span], ms: float) -> Answer:
    """Score the results."""
    return Answer(question, tuple(results), score(results, question.relevant, question.secondary), ms)


def ask(daemon: Daemon, questions: Iterable[Question], variant: Variant, limit: int = DEPTH) -> list[Answer]:
    """Return the daemon's answers, `limit` results each, with the ranking of `variant`."""
    # Each variant has its own settings, so no answer comes from the cache.
    params: dict[str, Any] = {"limit": limit, "context": 0}
    if variant.alpha is not None:
        params["alpha"] = variant.alpha
    answers = []
    for question in questions:
        began = time.perf_counter()
        found = daemon.search(question.query, **params)
        ms = (time.perf_counter() - began) * 1000
        answers.append(answer(question, [span(result) for result in found["results"][:DEPTH]], ms))
    return answers


def span(result: dict[str, Any]) -> Span:
    """Convert a result from LSP, which counts lines from 0 and excludes the end."""
    lines = result["range"]
    return Span(result["path"], lines["start"]["line"] + 1, lines["end"]["line"])
