#!/usr/bin/env python3
"""Measure how often a right discovery is called weak, and one about an absent topic is weak or refused.

    python benchmarks/answers/weakness.py --checkouts DIR [DIR ...] --data DIR [--questions FILE ...]
        [--output FILE]

Without `--questions`, these are the sets of `sets/topics`: 80 questions with the lines that answer them, and
40 about topics that the repository lacks. Only `tuned` was in sight when the threshold was chosen. Each
repository is a folder of `--checkouts` at the commit in `sets/topics/repos.tsv`. An answer is right if its
excerpts have a line that answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import run_conditions
from engine.opened import opened

from cairn import protocol
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.retrieval.verdict import WEAK, Action
from cairn.settings.tree import Settings

_TOPICS = Path(__file__).parent / "sets/topics"
_TOKENS = 1_500


def measure(folder: Path, data: Path, questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return for each question whether its answer is right, weak and refused."""
    rows = []
    with opened(folder, data, Host(Settings().embedding)) as engine:
        for each in questions:
            config = {"render": {"maxPromptTokens": _TOKENS}}
            params = protocol.DiscoverParams(each["question"], config=config)
            found = answer(engine.request(), "discover", params, as_json=False)
            shown = {
                (excerpt.path, line)
                for excerpt in found.excerpts
                for line in range(excerpt.range.start.line + 1, excerpt.range.end.line + 1)
            }
            rows.append(
                {
                    "id": each["id"],
                    "absent": each["absent"],
                    "right": any(line in shown for place in each["lines"] for line in _lines(place)),
                    "weak": found.verdict.message == WEAK,
                    "refused": found.verdict.action != Action.ANSWER,
                }
            )
    return rows


def _lines(place: str) -> list[tuple[str, int]]:
    path, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    return [(path, line) for line in range(int(first), int(last or first) + 1)]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    right = [row for row in rows if not row["absent"] and row["right"]]
    absent = [row for row in rows if row["absent"]]
    return {
        "answerable": len(rows) - len(absent),
        "right": len(right),
        "right_but_doubted": sum(row["weak"] or row["refused"] for row in right),
        "absent": len(absent),
        "absent_and_doubted": sum(row["weak"] or row["refused"] for row in absent),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkouts", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--questions", type=Path, nargs="+", default=[_TOPICS / "tuned.json", _TOPICS / "kept.json"]
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    record: dict[str, Any] = {"conditions": run_conditions(), "tokens": _TOKENS, "sets": {}}
    for file in options.questions:
        by_repository = defaultdict(list)
        for each in json.loads(file.read_text(encoding="utf-8")):
            by_repository[each["repo"]].append(each)
        rows = []
        for name, questions in by_repository.items():
            folder = next((place / name for place in options.checkouts if (place / name).exists()), None)
            if folder is None:
                sys.exit(f"no folder of --checkouts has {name}")
            rows += measure(folder, options.data, questions)
        record["sets"][file.stem] = {**summary(rows), "questions": rows}
        print(file.stem, json.dumps(summary(rows)))
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
