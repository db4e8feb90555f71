#!/usr/bin/env python3
"""Measure the time and the processor time to index checkouts and to answer queries: Cairn, an earlier version
of it, semble with the same token vectors, and a loop of ripgrep, in one run.

    python benchmarks/speed CHECKOUT ... [--kept CHECKOUT DATA] [--earlier FOLDER] [--semble PYTHON]
      [--runs 3] [--queries 30] [--workers 0] [--output FILE.json]

Each checkout is indexed by each system in turns, a process of its own from its start to its end, into an
empty data folder. Then the real daemon answers over LSP, and the systems take turns, kind by kind. Processor
time is that of all processes of a system, divided by the queries, so that other programs hardly count. The
index of a `--kept` checkout, in DATA, exists already and is not measured. FOLDER is a checkout of another
version of this project. PYTHON has semble 0.7.0, attrs, cattrs and platformdirs.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # `python benchmarks/speed` puts the package's own folder on the path; its siblings are in the parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures, percentile, run_conditions
from engine.index_file import UnavailableError

from speed import plot
from speed.queries import Kind, queries_of
from speed.systems import RIPGREP, SEMBLE, Cairn, Spent, ask_ripgrep, ask_semble, index_semble

_UNMEASURED = 5
"""The number of queries of each kind that a new process answers before those that count."""


def main() -> None:
    options = _arguments()
    places = [(checkout.resolve(), None) for checkout in options.checkouts]
    places += [(Path(checkout).resolve(), Path(data).resolve()) for checkout, data in options.kept]
    rows = []
    for checkout, data in places:
        with tempfile.TemporaryDirectory(prefix="cairn-speed-") as folder:
            rows.append(_measured(checkout, data, Path(folder), options))
        print(json.dumps(rows[-1], indent=2), flush=True)
        rows.sort(key=lambda row: row["chunks"])
        if options.output:
            _write(options.output, rows, options)


def _write(output: Path, rows: Sequence[Figures], options: argparse.Namespace) -> None:
    """Write what is known so far."""
    record = {"conditions": {**run_conditions(), **_conditions(options)}, "checkouts": rows}
    output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    output.with_suffix(".svg").write_text(plot.svg(rows), encoding="utf-8")


def _measured(checkout: Path, kept: Path | None, folder: Path, options: argparse.Namespace) -> Figures:
    """Return the figures of one checkout."""
    versions = [Cairn("Cairn", None, folder / "now")]
    if options.earlier:
        versions.append(Cairn("Cairn, earlier", options.earlier.resolve(), folder / "earlier"))
    row: Figures = {"checkout": checkout.name}
    if kept:
        for version in versions:
            version.data = kept
    else:
        row["index"] = _indexed(checkout, versions, folder, options)
    row |= versions[0].size_of(checkout)
    count = options.queries + _UNMEASURED
    asked = queries_of(checkout, versions[0].data, count, random.Random(options.seed))
    row["queries"] = {kind: len(queries) - _UNMEASURED for kind, queries in asked.items()}
    spent: dict[str, dict[str, list[list[Spent]]]] = {}
    for version in versions:
        with version.opened(checkout) as memory:
            row.setdefault("memory_mb", {})[version.name] = memory
    for run in range(options.runs):
        for version in versions[:: 1 if run % 2 else -1]:
            with version.opened(checkout):
                for kind, queries in asked.items():
                    version.ask(kind, queries[:_UNMEASURED])
                    taken = version.ask(kind, queries[_UNMEASURED:])
                    spent.setdefault(kind, {}).setdefault(version.name, []).append(taken)
    for kind in (Kind.QUESTION, Kind.WORDS):
        try:
            spent[kind][RIPGREP] = [ask_ripgrep(checkout, versions[0].data, asked[kind][_UNMEASURED:])]
        except UnavailableError as problem:
            print(f"{RIPGREP}: {problem}", file=sys.stderr)
        if options.semble:
            spent[kind][SEMBLE] = [ask_semble(checkout, options.semble, folder, asked[kind])[_UNMEASURED:]]
    row["asked"] = {
        kind: {system: _figures(runs) for system, runs in of_kind.items()} for kind, of_kind in spent.items()
    }
    return row


def _indexed(
    checkout: Path, versions: Sequence[Cairn], folder: Path, options: argparse.Namespace
) -> Mapping[str, Mapping[str, float]]:
    """Index the checkout by each system in turns, and return the medians. The last index of each stays."""
    runs: dict[str, list[Spent]] = {}
    for run in range(options.runs + 1):
        for version in versions:
            taken = version.index(checkout, options.workers)
            if run:  # The first run unpacks grammars and compiles modules.
                runs.setdefault(version.name, []).append(taken)
        if options.semble and run:
            runs.setdefault(SEMBLE, []).append(index_semble(checkout, options.semble, folder))
    return {
        system: {
            "seconds": round(statistics.median(each.seconds for each in taken), 2),
            "cpu": round(statistics.median(each.cpu for each in taken), 2),
        }
        for system, taken in runs.items()
    }


def _figures(runs: Sequence[Sequence[Spent]]) -> Mapping[str, float]:
    """Return milliseconds: the processor time of a query, the median of the runs, and percentiles of all."""
    seconds = [each.seconds for run in runs for each in run]
    cpu = [1000 * sum(each.cpu for each in run) / len(run) for run in runs]
    return {
        "cpu_ms": round(statistics.median(cpu), 1),
        "p50_ms": round(1000 * percentile(seconds, 50), 1),
        "p95_ms": round(1000 * percentile(seconds, 95), 1),
    }


def _conditions(options: argparse.Namespace) -> Figures:
    return {"runs": options.runs, "seed": options.seed, "workers": options.workers}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="CHECKOUT")
    parser.add_argument("--kept", nargs=2, action="append", default=[], metavar=("CHECKOUT", "DATA"))
    parser.add_argument("--earlier", type=Path, metavar="FOLDER")
    parser.add_argument("--semble", type=Path, metavar="PYTHON", help="an interpreter with semble")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=30, help="the number of queries of each kind")
    parser.add_argument("--workers", type=int, default=0, help="worker processes; 0 is the automatic number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not options.checkouts and not options.kept:
        parser.error("name a checkout")
    return options


if __name__ == "__main__":
    main()
