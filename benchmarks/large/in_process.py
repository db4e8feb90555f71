#!/usr/bin/env python3
"""Query an existing index in this process, without daemon, deadline or kill switch.

    python benchmarks/large/in_process.py --index kernel=DATA [--index jdk=DATA]
        [--sentences kernel=DEST/kernel ...] [--half tuned] [--kind how ...] [--settings JSON] [--no-vectors]
        [--output FILE.jsonl] [--compare FILE.jsonl]

`DATA` is the CAIRN_DATA_DIR that the tree was indexed into; it is only read. `sentences.py` made `DEST`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.index_file import UnavailableError

from cairn.errors import CairnError
from large.asking import answers_in_process, not_indexed, search_settings
from large.scoring import Answer, compared, grouped, markdown, write_lines
from large.sets import HALVES, SETS, TREES, TUNED, Question, SetError, read_sets


def main() -> None:
    options = _arguments()
    answers: list[Answer] = []
    absent: list[Question] = []
    try:
        settings = search_settings(options.settings)
        places = [(tree, data, options.sets) for tree, data in options.indexes]
        places += [(tree, made / "data", made / "sets") for tree, made in options.sentences]
        for tree, data, sets in places:
            selected = read_sets(tree, options.half or (TUNED,), options.kind or (), sets)
            answers += answers_in_process(data, selected, settings, vectors=options.vectors)
            absent += not_indexed(data, selected)
    except (SetError, UnavailableError, CairnError) as problem:
        sys.exit(str(problem))
    if not answers:
        sys.exit("nothing to ask: name an --index or --sentences")
    print(markdown(grouped(answers)))
    if absent:
        print(f"not in the index, so never found: {', '.join(each.query for each in absent)}")
    if options.compare:
        print(compared(answers, options.compare))
    if options.output:
        write_lines(answers, options.output)


def tree_and_folder(value: str) -> tuple[str, Path]:
    """Split `kernel=FOLDER`. Raises ValueError for another tree."""
    tree, _, folder = value.partition("=")
    if tree not in TREES or not folder:
        raise ValueError(f"expected TREE=FOLDER, where TREE is one of {', '.join(TREES)}")
    return tree, Path(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named: dict[str, Any] = {"type": tree_and_folder, "action": "append", "default": []}
    parser.add_argument("--index", dest="indexes", metavar="TREE=DATA", **named)
    parser.add_argument("--sentences", metavar="TREE=MADE", help="output of sentences.py for a tree", **named)
    parser.add_argument("--half", action="append", choices=HALVES, help="default: tuned; may be repeated")
    parser.add_argument("--kind", action="append", help="only questions of these kinds; may be repeated")
    parser.add_argument("--sets", type=Path, default=SETS)
    parser.add_argument("--settings", metavar="JSON", help="settings of `search` over the defaults")
    parser.add_argument("--no-vectors", dest="vectors", action="store_false", help="keywords alone")
    parser.add_argument("--output", type=Path, help="write a line of JSON for each question here")
    parser.add_argument("--compare", type=Path, help="earlier --output; show better and worse answers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
