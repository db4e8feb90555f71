#!/usr/bin/env python3
"""Search for words that only one file contains, and measure whether that file comes first.

    python benchmarks/retrieval/words.py CHECKOUT ... [--words 30] [--data DIR] [--output FILE]

The words are drawn from each kind of file. Plain words count as they are written, though their stems may
occur in many files: the query "Closes" may well mean code that closes something.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures, run_conditions
from engine.index_file import opened
from engine.place import kept_or_temporary
from engine.ready import indexed

_WORD = re.compile(r"[A-Za-z_]\w{5,40}")
_LIMIT = 10
_FEWEST = 10
"""A kind of file with fewer such words is left out."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument(
        "--words", type=int, default=30, help="number of words of each kind of file in each checkout"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    places: defaultdict[str, list[int]] = defaultdict(list)
    by_checkout: dict[str, Figures] = {}
    with kept_or_temporary(options.data) as data:
        for checkout in options.checkouts:
            found = places_of_words(checkout.resolve(), data / checkout.name, options.words, options.seed)
            by_checkout[checkout.name] = {kind: _shares(of_kind) for kind, of_kind in found.items()}
            for kind, of_kind in found.items():
                places[kind] += of_kind
    every = {kind: _shares(of_kind) for kind, of_kind in sorted(places.items())}
    result = {"conditions": run_conditions(), "all": every, "by_checkout": by_checkout}
    print(json.dumps(every, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def places_of_words(checkout: Path, data: Path, count: int, seed: int) -> dict[str, list[int]]:
    """Return, by kind of file, the ranks of the files of `count` words, from 1; 0 if beyond the tenth."""
    chance = random.Random(seed)
    with indexed(checkout, data) as (daemon, _):
        with opened(data) as index:
            kinds = dict(index.rows("SELECT path, kind FROM files WHERE is_text"))
        places: dict[str, list[int]] = {}
        for kind, words in sorted(_words_of_one_file(checkout, kinds).items()):
            if len(words) < _FEWEST:
                continue
            places[kind] = []
            for word in chance.sample(sorted(words), min(count, len(words))):
                results = daemon.search(word, limit=_LIMIT, context=0)["results"]
                paths = [result["path"] for result in results]
                places[kind].append(paths.index(words[word]) + 1 if words[word] in paths else 0)
    return places


def _words_of_one_file(checkout: Path, kinds: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, by kind of file, the words that only one file contains, with its path."""
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for path in kinds:
        for word in set(_WORD.findall((checkout / path).read_text(encoding="utf-8", errors="ignore"))):
            holding[word].append(path)
    words: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for word, paths in holding.items():
        if len(paths) == 1:
            words[kinds[paths[0]]][word] = paths[0]
    return words


def _shares(places: Sequence[int]) -> Figures:
    """Return the number of words, and the shares whose file is the first, and among the first ten."""
    count = len(places)
    first, found = sum(place == 1 for place in places), sum(place > 0 for place in places)
    return {"words": count, "first": round(first / count, 3), "among_ten": round(found / count, 3)}


if __name__ == "__main__":
    main()
