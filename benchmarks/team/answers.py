#!/usr/bin/env python3
"""Measure whether a team's store gives the same prompts as the index file, and the facts in them.

    python benchmarks/team/answers.py --store URL --facts SETS --clones CHECKOUTS [--reader NAME]
      [--output FILE]

Each repository of the sets is in the store under its name, indexed at the commit of its checkout
CHECKOUTS/NAME, which is indexed here as well. Both get every question.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from answers.facts import MAIN_BUDGET, FactQuestion, found, read_fact_sets

from cairn.engine.engine import Engine
from cairn.engine.request import Request
from cairn.engine.runner import answer
from cairn.engine.stored import StoredEngine
from cairn.index.postgres.transactions import Store


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--reader", default="me")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    stored = StoredEngine(Store([options.store]))
    with stored.asked(options.reader, "") as every:
        present = {folder.label for folder in every.folders}
    questions = [each for each in read_fact_sets([options.facts]) if each.repository.name in present]
    rows = []
    for name in sorted({each.repository.name for each in questions}):
        here = Engine({"index": {"watch": False}})
        here.add_folder(options.clones / name)
        while not here.progress().complete:
            time.sleep(0.1)
        for question in (each for each in questions if each.repository.name == name):
            with stored.asked(options.reader, name) as there:
                rows.append(_compared(question, here.request(), there))
            print(json.dumps(rows[-1]), flush=True)
        here.stop()
    stored.stop()
    with_facts = [row for row in rows if row["facts"]]
    result = {
        "questions": len(rows),
        "prompts equal": statistics.mean(row["equal"] for row in rows),
        "facts file": sum(row["file"] for row in with_facts) / sum(row["facts"] for row in with_facts),
        "facts store": sum(row["store"] for row in with_facts) / sum(row["facts"] for row in with_facts),
    }
    print(json.dumps(result, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n")
    return 0


def _compared(question: FactQuestion, here: Request, there: Request) -> dict[str, object]:
    params = {"query": question.text}
    file, store = (answer(asked, "discover", params)["answerPrompt"] for asked in (here, there))
    return {
        "question": question.id,
        "equal": file == store,
        "facts": len(question.facts),
        "file": sum(found(question.facts, file, MAIN_BUDGET)),
        "store": sum(found(question.facts, store, MAIN_BUDGET)),
    }


if __name__ == "__main__":
    sys.exit(main())
