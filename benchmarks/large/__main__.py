#!/usr/bin/env python3
"""Measure how well a real daemon searches the Linux kernel and the JDK, over LSP, with its own deadlines and
kill switch.

    python benchmarks/large --tree kernel=FOLDER [--tree jdk=FOLDER] --data DATA
      [--sentences kernel=DEST/kernel ...] [--output FILE]

`DATA/TREE` is the index of each tree; a missing one is made, which takes half an hour for the kernel.
`sentences.py` made `DEST`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    # `python benchmarks/large` puts the package's own folder on the path; its siblings are in the parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import DaemonDiedError
from engine.figures import Figures, run_conditions
from engine.index_file import UnavailableError
from engine.ready import NotReadyError, indexed
from retrieval.results import commit

from large.asking import answers_of_daemon, not_indexed
from large.in_process import tree_and_folder
from large.scoring import Answer, grouped, markdown, write_lines
from large.sets import HALVES, KEPT, TUNED, Question, SetError, read_sets


def main() -> None:
    options = _arguments()
    answers: list[Answer] = []
    trees: dict[str, Figures] = {}
    try:
        for tree, folder in options.trees:
            selected = read_sets(tree, options.half or HALVES, options.kind or ())
            trees[tree] = _ask(folder.resolve(), options.data.resolve() / tree, selected, answers)
        for tree, made in options.sentences:
            selected = read_sets(tree, (TUNED, KEPT), folder=made / "sets")
            (copy,) = (made / "tree").iterdir()
            trees[f"{tree}, sentences"] = _ask(copy.resolve(), made.resolve() / "data", selected, answers)
    except (SetError, NotReadyError, DaemonDiedError, UnavailableError) as problem:
        sys.exit(str(problem))
    groups = grouped(answers)
    print(markdown(groups))
    if options.output:
        phases = {"conditions": {**run_conditions(), "commit": commit()}, "trees": trees, "figures": groups}
        options.output.write_text(json.dumps(phases, indent=2) + "\n", encoding="utf-8")
        options.output.with_suffix(".md").write_text(markdown(groups) + "\n", encoding="utf-8")
        write_lines(answers, options.output.with_suffix(".questions.jsonl"))


def _ask(folder: Path, data: Path, selected: Sequence[Question], answers: list[Answer]) -> Figures:
    """Add the answers about one tree, and return figures of its index and of its answers."""
    phases: Counter[str] = Counter()
    with indexed(folder, data) as (daemon, figures):
        answers += answers_of_daemon(daemon, selected, phases)
        status = daemon.status()
        return {
            **figures,
            "rss_mb": round(daemon.process.memory_info().rss / 1e6, 1),
            "not_indexed": [each.id for each in not_indexed(data, selected)],
            "answered": dict(sorted(phases.items())),
            "phase": status["retrieval"]["state"]["phase"],
            "reason": status["retrieval"]["state"]["reason"],
        }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named: dict[str, Any] = {"type": tree_and_folder, "action": "append", "default": []}
    parser.add_argument("--tree", dest="trees", metavar="TREE=FOLDER", **named)
    parser.add_argument("--data", type=Path, help="indexes, a folder for each tree")
    parser.add_argument("--sentences", metavar="TREE=MADE", **named, help="output of sentences.py for a tree")
    parser.add_argument("--half", action="append", choices=HALVES, help="default: all; may be repeated")
    parser.add_argument("--kind", action="append", help="only questions of these kinds; may be repeated")
    parser.add_argument(
        "--output", type=Path, help="write JSON here; the table and a line for each question beside it"
    )
    options = parser.parse_args()
    if options.trees and not options.data:
        parser.error("--tree needs --data")
    if not options.trees and not options.sentences:
        parser.error("name a --tree or --sentences")
    return options


if __name__ == "__main__":
    main()
