#!/usr/bin/env python3
"""Measure how long searches and discoveries work on after they were cancelled at a random moment, in process.

    python benchmarks/cancellation.py --workspace FOLDER DATA [--count 150] [--output FILE]

DATA has the folder's index. The moment is drawn from the time that the median request takes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve
from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened as opened_file
from engine.opened import opened

from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.errors import QueryCancelledError
from cairn.settings.tree import EmbeddingSettings
from cairn.startup.interpreter import tune_for_answers

_WHOLE = 20
"""The number of requests that are answered before, of which the median time is taken."""


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    chance = random.Random(options.seed)
    tune_for_answers()
    with opened(workspace, data, Host(EmbeddingSettings())) as engine:
        with opened_file(data) as index:
            figures: Figures = {"workspace": workspace.name, "chunks": engine.request().vocabulary.chunks()}
            queries = drawn_questions(workspace, index, options.count + _WHOLE, chance)
        figures |= {name: _measured(engine, name, queries, chance) for name in ("search", "discover")}
    record = {"conditions": {**run_conditions(), "seed": options.seed}, **figures}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _measured(engine: Engine, name: str, queries: Sequence[str], chance: random.Random) -> Figures:
    whole = [_took(engine, name, query, threading.Event()) for query in queries[:_WHOLE]]
    longest = statistics.median(whole)
    late, answered = [], 0
    for query in queries[_WHOLE:]:
        cancelled, cancelled_at = threading.Event(), [0.0]

        def cancel(cancelled: threading.Event = cancelled, cancelled_at: list[float] = cancelled_at) -> None:
            cancelled_at[0] = time.perf_counter()
            cancelled.set()

        timer = threading.Timer(chance.uniform(0, longest), cancel)
        timer.start()
        _took(engine, name, query, cancelled)
        ended = time.perf_counter()
        timer.cancel()
        timer.join()
        if cancelled_at[0] and cancelled_at[0] < ended:
            late.append(ended - cancelled_at[0])
        else:
            answered += 1
    return {"whole_ms": milliseconds(whole), "after_cancel_ms": milliseconds(late), "answered": answered}


def _took(engine: Engine, name: str, query: str, cancelled: threading.Event) -> float:
    began = time.perf_counter()
    request = evolve(engine.request(), cancelled=cancelled.is_set)
    with contextlib.suppress(QueryCancelledError):
        answer(request, name, {"query": query})
    return time.perf_counter() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--count", type=int, default=150, help="the number of cancelled requests of a kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
