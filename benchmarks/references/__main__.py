#!/usr/bin/env python3
"""Measure recall and precision of `cairn/references` against the calls that a language server knows, compared
with `rg -w`.

    python benchmarks/references --sets DIR [DIR ...] --checkouts DIR [DIR ...] [--data DIR] [--output FILE]

A set is a file that `truth.py` made. Whole checkouts are indexed, and never written to.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # `python benchmarks/references` puts the package's own folder on the path; its siblings are in the
    # parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import DaemonDiedError
from engine.figures import Figures, percentile, run_conditions
from engine.index_file import UnavailableError
from engine.markdown import table
from engine.place import kept_or_temporary, make_data_folder
from engine.ready import NotReadyError, indexed
from retrieval.checkouts import CheckoutError, add_checkouts_option, checkout
from retrieval.results import commit
from retrieval.sets import Repository

from references.measurement import CAIRN, RIPGREP, ask_cairn, ask_ripgrep
from references.model import CallerSet, Sampled, Site, read_sets
from references.scoring import LEAST_CONFIDENCE, Found, Score, score


def main() -> None:
    options = _arguments()
    record: Figures = {
        "conditions": {**run_conditions(), "commit": commit(), "least_confidence": LEAST_CONFIDENCE},
        "sets": {},
    }
    try:
        with kept_or_temporary(options.data) as data:
            for folder in options.sets:
                figures = {}
                for truth in read_sets([folder]):
                    if not options.only or truth.repository in options.only:
                        tree = _tree(truth, options.checkouts)
                        figures[truth.repository] = measured(
                            truth, tree, data / truth.repository, options.show
                        )
                record["sets"][folder.resolve().name] = figures
    except (CheckoutError, NotReadyError, DaemonDiedError, UnavailableError) as problem:
        sys.exit(str(problem))
    print(markdown(record))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        options.output.with_suffix(".md").write_text(markdown(record), encoding="utf-8")


def _tree(truth: CallerSet, checkouts: list[Path]) -> Path:
    repository = Repository(truth.repository, truth.language, truth.address, truth.revision, ".")
    folder = next((each for each in checkouts if (each / truth.repository).exists()), checkouts[0])
    return checkout(repository, folder)


def measured(truth: CallerSet, tree: Path, data: Path, show: int = 0) -> Figures:
    """Return the figures of one repository, and print missed and wrong calls of `show` functions."""
    if not data.exists():
        make_data_folder(data)
    with indexed(tree, data) as (daemon, index):
        ask_cairn(truth, daemon)  # The tables of files are read once.
        found = ask_cairn(truth, daemon)
    if show:
        _show(truth, found, tree, show)
    return {
        "language": truth.language,
        "server": truth.server,
        "server_s": truth.seconds,
        "revision": truth.revision,
        "functions": len(truth.functions),
        "called": sum(bool(each.callers) for each in truth.functions),
        "calls": sum(len(each.callers) for each in truth.functions),
        "index": index,
        CAIRN: _figures(score(truth, found)[0]),
        RIPGREP: _figures(score(truth, ask_ripgrep(truth, tree))[0]),
    }


def _figures(given: Score) -> Figures:
    times = given.milliseconds or [0.0]
    return {
        "recall": round(given.recall, 4),
        "recall_at_any_confidence": round(given.recall_at_any, 4),
        "precision": round(given.precision, 4),
        "right": given.right,
        "wrong": given.wrong,
        "missed": given.missed,
        "called": given.called,
        "said_none": given.said_none,
        "p50_ms": round(percentile(times, 50), 1),
        "p95_ms": round(percentile(times, 95), 1),
        "by_confidence": {str(sure): counts for sure, counts in sorted(given.bins.items())},
    }


def _show(truth: CallerSet, found: list[Found], tree: Path, most: int) -> None:
    details = sorted(score(truth, found)[1], key=lambda each: -len(each[1]) - len(each[2]))
    for function, missed, wrong in details[:most]:
        print(f"{function.path}:{function.line + 1} {function.name}: {len(function.callers)} calls")
        _show_sites("missed", missed, tree, function)
        _show_sites("wrong", wrong, tree, function)


def _show_sites(what: str, sites: list[Site], tree: Path, function: Sampled) -> None:
    for site in sites[:5]:
        lines = (tree / site.path).read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"  {what} {site.path}:{site.line + 1} {lines[site.line].strip()[:100]}")


def markdown(record: Figures) -> str:
    """Return the results as tables."""
    given = record["conditions"]
    columns = "repository language server functions calls recall precision".split()
    head = [*columns, "said none", "p50 · p95 ms", "rg recall", "rg precision", "rg p50 ms"]
    parts = [
        f"# Callers\n\n{given['date']}, {given['machine']}, Cairn at {given['commit']}; load "
        f"{given['load']}. References of confidence {given['least_confidence']} and more are counted."
    ]
    for name, repositories in record["sets"].items():
        rows = [
            [
                repository, each["language"], each["server"], f"{each['functions']}", f"{each['calls']}",
                f"{each[CAIRN]['recall']:.3f}", f"{each[CAIRN]['precision']:.3f}",
                f"{each[CAIRN]['said_none']} of {each[CAIRN]['called']}",
                f"{each[CAIRN]['p50_ms']} · {each[CAIRN]['p95_ms']}",
                f"{each[RIPGREP]['recall']:.3f}", f"{each[RIPGREP]['precision']:.3f}",
                f"{each[RIPGREP]['p50_ms']}",
            ]
            for repository, each in repositories.items()
        ]  # fmt: skip
        parts += [f"## {name}", table(head, rows)]
    return "\n\n".join(parts) + "\n"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of sets")
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument(
        "--show", type=int, default=0, help="number of functions to print with missed or wrong calls"
    )
    parser.add_argument("--output", type=Path, help="write JSON here, and tables beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
