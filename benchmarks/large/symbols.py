#!/usr/bin/env python3
"""Draw names that a tree defines exactly once, and write them as questions: `sets/HALF/TREE-symbols.json`.

    python benchmarks/large/symbols.py --tree kernel=FOLDER [--tree jdk=FOLDER] [--count 200] [--seed 1]
      [--sets DIR]

It needs Universal Ctags. Declarations, prototypes, members, parameters and local variables are not
definitions. Names with several definitions are left out, also if both are in one file under different
conditions.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import frozen

from large.in_process import tree_and_folder
from large.sampling import evenly, half_of
from large.sets import HALVES, SETS, Question, Target, write_set

_ASKED = {
    "kernel": ("struct", "union", "enum", "typedef", "function", "macro"),
    "jdk": ("class", "interface", "enum", "method"),
}
_KEYWORDS = frozenset({"struct", "union", "enum"})
"""Kinds that C writes before the name; these are asked both ways."""
_CTAGS = {
    "kernel": ("--languages=C,Asm", "--langmap=C:.c.h", "--kinds-C=defgstuv"),
    "jdk": ("--languages=Java", "--kinds-Java=acefgim"),
}
_LEAST_CHARS = 4
_WORD = re.compile("[a-z]+")
"""Plain words are left out: a query for `metal` does not mean the class of that name."""
_ANONYMOUS = "__anon"


@frozen
class Definition:
    """The place where a name is defined."""

    name: str
    kind: str
    """The kind in the terms of Universal Ctags."""
    path: str
    line: int
    """The line of the name, 1-based."""


def definitions(tree: str, folder: Path) -> Iterator[Definition]:
    """Return all definitions of the files below `folder`. Raises FileNotFoundError if ctags is missing."""
    command = ("ctags", "-R", *_CTAGS[tree], "--fields=NFnK", "--links=no")
    with subprocess.Popen(
        (*command, "--output-format=json", "--sort=no", "-f", "-", "."),
        cwd=folder,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as ctags:
        assert ctags.stdout is not None
        for line in ctags.stdout:
            tag = json.loads(line)
            if tag["_type"] == "tag" and "kind" in tag:
                yield Definition(tag["name"], tag["kind"], tag["path"].removeprefix("./"), tag["line"])
    if ctags.returncode:
        raise subprocess.CalledProcessError(ctags.returncode, command)


def defined_once(found: Iterable[Definition]) -> list[Definition]:
    """Return the definitions with a unique name in any case of letters, in the order of paths and lines,
    without short names and plain words.

    A constructor shares the name of its class, and does not count as a second definition.
    """
    by_name: defaultdict[str, list[Definition]] = defaultdict(list)
    for each in found:
        by_name[each.name.lower()].append(each)
    once = [
        each
        for name, same in by_name.items()
        for each in [same[0]]
        if len(name) >= _LEAST_CHARS
        and not _WORD.fullmatch(each.name)
        and not name.startswith(_ANONYMOUS)
        and all(
            (other.path, other.kind, other.name) == (each.path, "method", each.name) for other in same[1:]
        )
        and (len(same) == 1 or each.kind in {"class", "enum"})
    ]
    return sorted(once, key=lambda each: (each.path, each.line, each.name))


def sampled(tree: str, once: Iterable[Definition], count: int, seed: int) -> list[Definition]:
    """Draw `count` definitions, equally many of each asked kind and of the others, and within a kind evenly
    over the folders."""
    chance, wanted = random.Random(seed), _ASKED[tree]
    by_kind: defaultdict[str, list[Definition]] = defaultdict(list)
    for each in once:
        by_kind[each.kind].append(each)
    drawn: list[Definition] = []
    for number, kind in enumerate(wanted):
        share = (count - len(drawn)) // (len(wanted) - number)
        drawn += evenly(by_kind[kind], lambda each: each.path, share, chance)
    return drawn


def questions_of(tree: str, drawn: Iterable[Definition]) -> list[Question]:
    """Return the questions: the bare name, and for C's types also `struct NAME`."""
    questions = []
    for each in drawn:
        target = (Target(each.path, each.line, each.line),)
        half = half_of(each.path)
        questions.append(
            Question(f"{tree}-{half}-symbol-{each.name}", tree, half, each.name, "symbol", target)
        )
        if each.kind in _KEYWORDS and tree == "kernel":
            query = f"{each.kind} {each.name}"
            questions.append(Question(f"{tree}-{half}-type-{each.name}", tree, half, query, "type", target))
    return questions


def main() -> None:
    options = _arguments()
    for tree, folder in options.trees:
        once = defined_once(definitions(tree, folder))
        drawn = sampled(tree, once, options.count, options.seed)
        print(
            f"{tree}: {len(once)} names are defined once, {len(drawn)} drawn: "
            f"{Counter(d.kind for d in drawn)}"
        )
        questions = questions_of(tree, drawn)
        for half in HALVES:
            if of_half := [each for each in questions if each.half == half]:
                write_set(of_half, options.sets / half / f"{tree}-symbols.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tree", dest="trees", type=tree_and_folder, action="append", required=True, metavar="TREE=FOLDER"
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", type=Path, default=SETS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
