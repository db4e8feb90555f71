#!/usr/bin/env python3
"""Measure the latency of searches in the real daemon over LSP, with everything indexed and warm, and while a
user types.

    python benchmarks/search_latency.py --workspace FOLDER DATA [--workspace FOLDER DATA ...]
      [--output FILE] ...

DATA has the folder's index, which is completed first. Queries are drawn from the index (names, commit
subjects, first sentences of comments), or are the lines of a file. Then the first of them are typed,
character by character, and each keystroke cancels the request before it. With `--reports` the queries are the
texts of issues of at least 5,000 characters, cut there, from any project, and nothing is typed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

from engine.daemon import Daemon
from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.palette import LONGEST, type_questions
from engine.ready import NotReadyError, indexed
from issues.sets import read_issues

_limits = itertools.count(10)
_SPACINGS_MS = (60, 20)
"""A fast typist, and a key that is held down."""
_REPORT = 5_000


def main() -> None:
    options = _arguments()
    rows = []
    for workspace, data in options.workspace:
        try:
            rows.append(measure(workspace.resolve(), data.resolve(), options))
        except NotReadyError as problem:
            sys.exit(str(problem))
    rows.sort(key=lambda row: row["chunks"])
    record = {"conditions": {**run_conditions(), "seed": options.seed}, "workspaces": rows}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(workspace: Path, data: Path, options: argparse.Namespace) -> Figures:
    """Return all figures of one workspace."""
    with indexed(workspace, data) as (daemon, index):
        questions = _questions(workspace, data, options)
        if not questions:
            sys.exit(f"there are no questions for {workspace}; give a file with --questions")
        _ask(daemon, questions)  # Each runs once unmeasured, to read the index from disk.
        plain = [seconds for _ in range(options.runs) for seconds in _ask(daemon, questions)]
        row: Figures = {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "questions": len(questions),
            "search_ms": milliseconds(plain),
        }
        if options.reports:
            return {**row, "characters": _REPORT}
        typed = questions[: options.typed]
        shown = [question[:LONGEST].rstrip() for question in typed]
        _ask(daemon, shown)
        alone = [seconds for _ in range(options.runs) for seconds in _ask(daemon, shown)]
        return {
            **row,
            "typed": len(typed),
            "typed_questions_asked_whole_ms": milliseconds(alone),
            **{
                f"typed_every_{spacing}_ms": type_questions(
                    daemon, typed, spacing / 1000, _uncached()
                ).figures()
                for spacing in _SPACINGS_MS
            },
        }


def _questions(workspace: Path, data: Path, options: argparse.Namespace) -> list[str]:
    if options.reports:
        texts = [issue.text[:_REPORT] for issue in read_issues(options.reports)]
        return [text for text in texts if len(text) == _REPORT][: options.count]
    if options.questions:
        lines = options.questions.read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    with opened(data) as index:
        return drawn_questions(workspace, index, options.count, random.Random(options.seed))


def _uncached() -> dict[str, Any]:
    """Return params that no earlier request had, since a cached answer takes almost no time."""
    return {"limit": next(_limits)}


def _ask(daemon: Daemon, questions: list[str]) -> list[float]:
    """Return the seconds from each query to its answer, one after the other."""
    took = []
    params = _uncached()
    for question in questions:
        pending = daemon.send("cairn/search", {**params, "query": question})
        pending.result()
        took.append((pending.answered or 0.0) - pending.sent)
    return took


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workspace", type=Path, nargs=2, action="append", required=True, metavar=("FOLDER", "DATA")
    )
    parser.add_argument("--questions", type=Path, help="a file with a question on each line")
    parser.add_argument(
        "--reports", type=Path, metavar="FILE", help="a set of issues for `benchmarks/issues`"
    )
    parser.add_argument("--count", type=int, default=90, help="questions to draw")
    parser.add_argument("--runs", type=int, default=3, help="number of runs of each question")
    parser.add_argument("--typed", type=int, default=60, help="number of queries to type")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
