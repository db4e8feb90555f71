#!/usr/bin/env python3
"""Measure the ranking of the real daemon on question sets over public repositories, compared with plain BM25
and ripgrep.

    python benchmarks/retrieval --sets DIR [DIR ...] --checkouts DIR [--data DIR] [--output FILE] ...

A set is a folder of NAME.json with `repos.tsv` in it or in its parent. Repositories are taken from the folder
of checkouts or cloned into it, and never written to.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # `python benchmarks/retrieval` puts the package's own folder on the path; its siblings are in the parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures
from engine.place import kept_or_temporary
from engine.ready import NotReadyError

from retrieval import ablation, plot, report
from retrieval.baselines import BM25_NAME, RIPGREP_NAME
from retrieval.checkouts import CheckoutError, checkout
from retrieval.measurement import MODES, measure, questions_of
from retrieval.results import results
from retrieval.sets import SetError, read_sets


def main() -> None:
    options = _arguments()
    try:
        record, questions = _run(options)
    except (SetError, CheckoutError, NotReadyError) as problem:
        sys.exit(str(problem))
    if not options.signals_alone:
        print(report.markdown(record))
    if options.output:
        _write(options.output, record, questions)


def _run(options: argparse.Namespace) -> tuple[Figures, list[Figures]]:
    """Return the results, and a record of every question."""
    questions = [question for question in read_sets(options.sets, options.only) if question.answerable]
    repositories = list(dict.fromkeys(question.repository for question in questions))
    checkouts = {repository.name: checkout(repository, options.checkouts) for repository in repositories}
    daemon = [] if options.signals_alone else [ablation.FULL, *ablation.families()]
    signals = [] if options.no_ablations else ablation.signals()
    with kept_or_temporary(options.data) as data:
        measured = measure(questions, checkouts, data, options.modes, [*daemon, *signals])
    systems = [*(variant.name for variant in daemon), BM25_NAME, RIPGREP_NAME] if daemon else []
    return results(measured, repositories, systems, signals), questions_of(measured) if daemon else []


def _write(output: Path, record: Figures, questions: list[Figures]) -> None:
    """Write the results and, if there are questions, the tables, the plot and a line for each beside them."""
    output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if not questions:
        return
    output.with_suffix(".md").write_text(report.markdown(record), encoding="utf-8")
    output.with_suffix(".svg").write_text(plot.svg(plot.points(record)), encoding="utf-8")
    lines = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    output.with_suffix(".questions.jsonl").write_text(lines, encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of question sets")
    parser.add_argument(
        "--checkouts",
        type=Path,
        required=True,
        help="folder of the repositories; missing ones are cloned into it",
    )
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument(
        "--no-ablations", action="store_true", help="skip the rows that remove one signal each"
    )
    parser.add_argument(
        "--signals-alone", action="store_true", help="only measure what each signal is worth, in this process"
    )
    parser.add_argument("--output", type=Path, help="write JSON here; tables, plot and questions beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
