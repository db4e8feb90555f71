#!/usr/bin/env python3
"""Measure whether `cairn/references` names what uses functions that no code calls by their name, or says what
kind of use it is: functions of routes, registries and templates, and functions that are values.

    python benchmarks/references/indirect.py --checkouts DIR [DIR ...] [--data DIR] [--output FILE]

Whole checkouts are indexed, and never written to.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import Daemon
from engine.figures import Figures, run_conditions
from engine.place import kept_or_temporary, make_data_folder
from engine.ready import indexed
from retrieval.checkouts import add_checkouts_option, checkout
from retrieval.results import commit
from retrieval.sets import Repository

SETS = Path(__file__).parent / "sets" / "indirect"
_NONE = {"public", "unused"}


def main() -> None:
    options = _arguments()
    record: Figures = {"conditions": {**run_conditions(), "commit": commit()}, "sets": {}}
    with kept_or_temporary(options.data) as data:
        for file in sorted(SETS.glob("*.json")):
            every: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for described in json.loads(file.read_text(encoding="utf-8")):
                for by, counts in _measured(described, options.checkouts, data).items():
                    every[by].update(counts)
            record["sets"][file.stem] = {by: dict(counts) for by, counts in sorted(every.items())}
            print(file.stem, record["sets"][file.stem])
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _measured(described: dict[str, Any], folders: list[Path], data: Path) -> dict[str, Counter[str]]:
    """Return, by the kind of use, how many functions there are, and how many answers name or say it."""
    name = described["repository"]
    folder = next((each for each in folders if (each / name).exists()), folders[0])
    tree = checkout(Repository(name, "", described["address"], described["revision"], "."), folder)
    if not (data / name).exists():
        make_data_folder(data / name)
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with indexed(tree, data / name) as (daemon, _):
        for function in described["functions"]:
            counts = found[function["by"]]
            counts["functions"] += 1
            counts.update(_judged(function, daemon))
    return found


def _judged(function: dict[str, Any], daemon: Daemon) -> list[str]:
    """Return whether the answer names the place of the use, says its kind, or says that there is none."""
    symbol = f"{function['path']}:{function['line']}"
    answer = daemon.request("cairn/references", {"symbol": symbol, "direction": "callers", "limit": 1_000})
    notes = answer.get("notes", [])
    shown = [each for each in [*answer["references"], *notes] if each["range"]]
    places = {f"{each['path']}:{each['range']['start']['line'] + 1}" for each in shown}
    texts = "\n".join(f"{each.get('text', '')} {each['line']} {each['path']}" for each in shown).lower()
    named = function["place"] in places
    said = any(words.lower() in texts for words in function["says"])
    is_none = bool(answer["definitions"]) and not answer["references"]
    is_none = is_none and all(each["kind"] in _NONE for each in notes)
    results = {"named": named, "named or said": named or said, "said none": is_none}
    return [result for result, holds in results.items() if holds]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, help="keep the indexes here for the next run")
    parser.add_argument("--output", type=Path, help="write JSON here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
