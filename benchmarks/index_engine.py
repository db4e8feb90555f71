#!/usr/bin/env python3
"""Measure the index engine: the real daemon on real trees, one row of the table of goals at a time.

    python benchmarks/index_engine.py ROW CORPORA [--corpus FOLDER] [--data DIR] [--output FILE] ...

CORPORA is the folder in which `corpus.py` made the corpora; each row has its own, and --corpus takes any
other folder instead. A row works on a copy. With --data the copy and its index are kept there and used again,
so that `prepare`, which makes all vectors, is done once for the rows that need them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from engine import changes, crashes, load, opening, resources
from engine.figures import NOT_AVAILABLE, Figures, Options, conditions, keep, show
from engine.index_file import UnavailableError


@frozen
class Row:
    """One row of the table of goals."""

    measure: Callable[[Options], Figures]
    """Returns the figures, and under `met` whether they reach the goal; None if they cannot say."""
    corpus: str
    goal: str


ROWS = {
    "cold": Row(opening.cold, "medium", "first keyword answer of a repository of 2,000 files < 2 s"),
    "static": Row(opening.static, "medium", "20,000 chunks searchable by static vectors < 20 s"),
    "reopen": Row(opening.reopen, "wide", "20,000 unchanged files ready < 1 s after the start"),
    "save": Row(changes.save, "large", "100,000 chunks: a save is found, p95 < 150 ms"),
    "switch": Row(
        changes.switch, "medium", "500 files by a branch and back < 3 s, no text embedded on the way back"
    ),
    "latency": Row(load.latency, "medium", "searches while indexing, p95 < 2 x idle"),
    "readers": Row(load.readers, "large", "no reader waits for a write longer than 50 ms"),
    "memory": Row(resources.memory, "large", "100,000 chunks: resident < 350 MB after indexing"),
    "idle": Row(resources.idle, "large", "idle CPU < 0.2 % of a core"),
    "size": Row(resources.size, "large", "index without vectors < 1.5 x indexed text"),
    "kill": Row(crashes.kill, "small", "200 kills: nothing corrupt, lost or doubled"),
}
PREPARE = Row(resources.prepare, "large", "all vectors made, in --data")


def main() -> None:
    options = _arguments()
    rows = ROWS if options.row == "all" else {options.row: ROWS.get(options.row, PREPARE)}
    missed = [name for name, row in rows.items() if not _run(name, row, options)]
    if missed:
        sys.exit(f"goal missed, or not measured: {', '.join(missed)}")


def _run(name: str, row: Row, arguments: argparse.Namespace) -> bool:
    options = Options(
        corpus=(arguments.corpus or arguments.corpora / row.corpus).resolve(),
        data=arguments.data,
        runs=arguments.runs,
        count=arguments.count,
        minutes=arguments.minutes,
        embedding=None if arguments.embedding is None else arguments.embedding == "on",
        seed=arguments.seed,
    )
    before = conditions(options)
    started = time.perf_counter()
    try:
        figures = row.measure(options)
    except UnavailableError as reason:
        figures = {NOT_AVAILABLE: str(reason), "met": None}
    met = figures.pop("met")
    took = round(time.perf_counter() - started, 1)
    entry = {"goal": row.goal, "met": met, "figures": figures, "took_s": took, "conditions": before}
    show(name, entry)
    if arguments.output:
        keep(arguments.output, name, entry)
    return met is True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("row", choices=(*ROWS, "prepare", "all"))
    parser.add_argument(
        "corpora", type=Path, nargs="?", default=Path(), help="folder in which corpus.py made the corpora"
    )
    parser.add_argument("--corpus", type=Path, help="another folder instead of the row's own corpus")
    parser.add_argument("--data", type=Path, help="keep the copy and its index here for the next run")
    parser.add_argument("--output", type=Path, help="write the row into this JSON file, beside others")
    parser.add_argument("--runs", type=int, help="number of runs or rounds; the median counts")
    parser.add_argument(
        "--count",
        "--kills",
        "--saves",
        "--queries",
        type=int,
        dest="count",
        help="number of kills, saves or queries",
    )
    parser.add_argument(
        "--minutes", "--idle-minutes", type=float, dest="minutes", help="minutes that `idle` waits"
    )
    parser.add_argument("--embedding", choices=("on", "off"), help="override the row's own choice")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    return parser.parse_args()


if __name__ == "__main__":
    main()
