"""Sends questions to a complete index: in this process, or to a real daemon over LSP."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.daemon import Daemon
from engine.index_file import index_path, opened
from retrieval.tried_signals import tried_signals

from cairn.embedding.packaged import load_packaged
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.signals import SIGNALS
from cairn.schema.convert import structure
from cairn.settings.tree import SearchSettings
from large.scoring import SHOWN, Answer, Result
from large.sets import Question

_DEEP = 100
"""The number of results to look at, so that a right one below the counted ones is visible."""
_NO_DEADLINE_MS = 600_000.0
_EVERY = 50
"""The number of questions between two lines of progress."""


def search_settings(changed: str | None) -> SearchSettings:
    """Return `search` settings from JSON (`{"weights": {"name": 1}, "candidates": 400}`) over the defaults,
    without a deadline.

    Raises InvalidRequestError for unknown settings.
    """
    changes: dict[str, Any] = json.loads(changed) if changed else {}
    return structure({"legDeadlineMs": _NO_DEADLINE_MS, **changes}, SearchSettings)


def answers_in_process(
    data: Path, questions: Iterable[Question], settings: SearchSettings, *, vectors: bool = True
) -> Iterator[Answer]:
    """Yield answers from the one index in the data folder `data`, with the daemon's query, legs and signals,
    without a kill switch.

    `settings.weights` may name tried signals. Times are of the ranking and the SHOWN results alone.
    """
    reader = SqliteReader(index_path(data).parent)
    meaning = Meaning(load_packaged()) if vectors else None
    signals = (*SIGNALS, *tried_signals(reader)) if settings.weights else SIGNALS
    vocabulary = IndexVocabulary([reader])
    alpha = None if vectors else 0.0
    rank([reader], [understand("a first question", alpha, vocabulary, settings)], meaning, settings)
    for number, question in enumerate(questions, 1):
        began = time.perf_counter()
        query = understand(question.query, alpha, vocabulary, settings)
        ranking = rank([reader], [query], meaning, settings, signals=signals)
        found = ranking.results(SHOWN, settings.diversity)
        ms = (time.perf_counter() - began) * 1000
        deep = ranking.results(_DEEP, settings.diversity)
        shown = {(each.stored.path, each.stored.chunk.position) for each in found}
        found += [each for each in deep if (each.stored.path, each.stored.chunk.position) not in shown]
        results = (
            Result(each.stored.path, each.stored.chunk.start_line + 1, each.stored.chunk.end_line)
            for each in found
        )
        yield Answer(question, tuple(results), ms)
        if number % _EVERY == 0:
            print(f"{number} questions", file=sys.stderr, flush=True)


def answers_of_daemon(
    daemon: Daemon, questions: Iterable[Question], phases: Counter[str]
) -> Iterator[Answer]:
    """Yield answers over LSP, with the daemon's own deadlines and kill switch.

    Each question is sent twice with different params, so that the timed answer is computed, but read from
    memory. `kept` counts the phases, fallbacks and broken-off legs of both answers.
    """
    for number, question in enumerate(questions, 1):
        _note(daemon.search(question.query, limit=SHOWN + 1, context=0), phases)
        began = time.perf_counter()
        found = daemon.search(question.query, limit=SHOWN, context=0)
        ms = (time.perf_counter() - began) * 1000
        _note(found, phases)
        yield Answer(question, tuple(_result(each) for each in found["results"]), ms)
        if number % _EVERY == 0:
            print(f"{number} questions", file=sys.stderr, flush=True)


def _note(answer: dict[str, Any], phases: Counter[str]) -> None:
    phases[f"phase {answer['retrieval']['phase']}"] += 1
    phases.update(f"broken off: {leg}" for leg in answer["brokenOff"])


def not_indexed(data: Path, questions: Iterable[Question]) -> list[Question]:
    """Return the questions without a relevant file in the index, which no ranking can answer."""
    with opened(data) as index:
        paths = set(index.text_paths())
    return [each for each in questions if not any(target.path in paths for target in each.relevant)]


def _result(result: dict[str, Any]) -> Result:
    """Convert a result from LSP, which counts lines from 0 and excludes the end."""
    lines = result["range"]
    return Result(result["path"], lines["start"]["line"] + 1, lines["end"]["line"])
