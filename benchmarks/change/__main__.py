#!/usr/bin/env python3
"""Measure whether the code of a commit leads to the tests, and its largest file to the other files, that the
commit changed as well, compared with file names, common commits and BM25.

    python benchmarks/change --clones DIR --data DIR [--half dev|kept] [--only OWNER/NAME ...]
        [--signals FILE] [--output FILE]

`DIR` of `--clones` has a clone of each repository as `owner+name/repo`, with its whole history. An index for
each commit's parent is made and kept in `--data`: 3 to 30 s and 3 to 50 MB each. `--signals` writes the
value of each signal of each file, from which weights can be chosen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures, percentile, run_conditions
from retrieval.results import commit

from change.indexes import Indexes
from change.measurement import COMPANIONS, TESTS, Measurement, Outcome
from change.report import figures, grouped, markdown
from change.sets import HALVES, read_set


def main() -> None:
    options = _arguments()
    indexes = Indexes(options.clones.resolve(), options.data.resolve())
    measurement = Measurement(indexes, options.clones.resolve())
    halves: dict[str, list[Outcome]] = {}
    for half in options.half or HALVES:
        outcomes = halves[half] = []
        for number, (project, revision) in enumerate(indexes.make_all(read_set(half, options.only)), 1):
            outcomes += measurement.outcomes(project, revision)
            if number % 50 == 0:
                print(f"{half}: {number} commits", file=sys.stderr, flush=True)
    print(markdown({half: figures(outcomes) for half, outcomes in halves.items()}))
    every = [outcome for outcomes in halves.values() for outcome in outcomes]
    if options.signals:
        options.signals.write_text("".join(f"{json.dumps(_row(each))}\n" for each in every), encoding="utf-8")
    if options.output:
        record = figures_of(halves)
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def figures_of(halves: Mapping[str, Sequence[Outcome]]) -> Figures:
    """Return all figures, with their conditions."""
    every = [outcome for outcomes in halves.values() for outcome in outcomes]
    times = {task: [each.ms for each in every if each.task == task] for task in (TESTS, COMPANIONS)}
    return {
        "conditions": {**run_conditions(), "commit": commit()},
        "halves": {half: figures(outcomes) for half, outcomes in halves.items()},
        "languages": {
            half: grouped(outcomes, lambda each: each.project.language) for half, outcomes in halves.items()
        },
        "repositories": {
            half: grouped(outcomes, lambda each: each.project.repository) for half, outcomes in halves.items()
        },
        "ms": {
            task: {f"p{percent}": round(percentile(values, percent), 1) for percent in (50, 95)}
            for task, values in times.items()
            if values
        },
    }


def _row(outcome: Outcome) -> dict[str, object]:
    return {
        "repository": outcome.project.repository,
        "commit": outcome.commit,
        "task": outcome.task,
        "wanted": sorted(outcome.wanted),
        "signals": outcome.signals,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, required=True, help="a folder with a clone of each repository")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--half", nargs="+", choices=HALVES, help="one half; both by default")
    parser.add_argument("--only", nargs="+", default=(), metavar="OWNER/NAME", help="only these repositories")
    parser.add_argument("--signals", type=Path, metavar="FILE", help="write the signals of all candidates")
    parser.add_argument("--output", type=Path, help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
