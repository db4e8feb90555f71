#!/usr/bin/env python3
"""Measure whether a question to all repositories of a store at once finds the right one first.

    python benchmarks/team/across.py --store URL --sets SETS [--reader NAME] [--output FILE]

Each question of the sets is about one repository, which the store has by that name; it is sent to all
repositories that the reader may see.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from retrieval.sets import read_sets

from cairn.engine.runner import answer
from cairn.engine.stored import StoredEngine
from cairn.index.postgres.transactions import Store


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--reader", default="me")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    engine = StoredEngine(Store([options.store]))
    with engine.asked(options.reader, "") as every:
        present = {folder.label for folder in every.folders}
    first, among, ms, wrong = Counter[str](), Counter[str](), [], []
    questions = [each for each in read_sets([options.sets], ()) if each.repository.name in present]
    for question in questions:
        began = time.perf_counter()
        with engine.asked(options.reader, "") as asked:
            found = answer(asked, "search", {"query": question.query, "limit": 10})
        ms.append(1000 * (time.perf_counter() - began))
        named = [each["folder"].rpartition("/")[2] for each in found["results"]]
        right = question.repository.name
        first[right] += named[:1] == [right]
        among[right] += right in named[:3]
        if named[:1] != [right]:
            wrong.append((right, question.query, named[:3]))
    result = {
        "repositories": len(present),
        "questions": len(questions),
        "first": first.total() / len(questions),
        "among three": among.total() / len(questions),
        "ms median": statistics.median(ms),
        "ms p95": statistics.quantiles(ms, n=20)[-1],
    }
    for right, query, named in wrong:
        print(f"  {right}: {query!r} found {named}")
    print(json.dumps(result, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n")
    engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
