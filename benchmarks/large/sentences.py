#!/usr/bin/env python3
"""Make weakly labelled questions: doc comments of 300 definitions, to be asked of a copy of the tree without
these comments.

    python benchmarks/large/sentences.py --tree kernel=FOLDER --index kernel=DATA --output DEST [--count 300]
      [--seed 1]

It makes in DEST the copy (`kernel/tree`), its index (`kernel/data`) and the questions (`kernel/sets`), which
`in_process.py --sentences kernel=DEST/kernel` asks. The sentences are the trees' own text, so they are drawn
again and not committed. Unchanged files are hard links; the index is a copy of the tree's, so that a daemon
reads only the changed files.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.ready import indexed

from large.copies import linked_copy, take_index
from large.doc_sentences import DocSentence, drawn, encoded, questions_of, read_text, without
from large.in_process import tree_and_folder
from large.sets import KEPT, TUNED, write_set


def prepared(tree: str, folder: Path, index: Path | None, target: Path, count: int, seed: int) -> int:
    """Make copy, questions and index of one tree in `target`, and return the number of questions.

    Without `index` the copy is indexed from nothing.
    """
    sentences = drawn(tree, folder, count, seed)
    by_file: defaultdict[str, list[DocSentence]] = defaultdict(list)
    for each in sentences:
        by_file[each.path].append(each)
    changed = {path: encoded(without(read_text(folder / path), said)) for path, said in by_file.items()}
    linked_copy(folder, target / "tree" / folder.name, changed)
    questions = questions_of(tree, sentences)
    for half in (TUNED, KEPT):
        of_half = [each for each in questions if each.half == half]
        write_set(of_half, target / "sets" / half / f"{tree}-sentences.json")
    copy, data = target / "tree" / folder.name, target / "data"
    if index is not None:
        take_index(index, copy, data)
    with indexed(copy, data) as (_, figures):
        print(f"{tree}: {len(questions)} questions, index of {figures['files']} files")
    return len(questions)


def main() -> None:
    options = _arguments()
    indexes = dict(options.indexes)
    for tree, folder in options.trees:
        target = options.output / tree
        prepared(tree, folder.resolve(), indexes.get(tree), target, options.count, options.seed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named: dict[str, Any] = {"type": tree_and_folder, "action": "append", "default": []}
    parser.add_argument("--tree", dest="trees", metavar="TREE=FOLDER", **{**named, "required": True})
    parser.add_argument(
        "--index", dest="indexes", metavar="TREE=DATA", **named, help="an index of the tree, to copy"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
