#!/usr/bin/env python3
"""Compare the counts in code lenses with the answers of `cairn/references`, definition by definition.

    python benchmarks/lens_counts.py --checkouts DIR --data DIR NAME ... [--count 100] [--output FILE]

For each of the checkouts DIR/NAME, whose indexes are made in the folders of `--data`, definitions are drawn
from all files with lenses. A title must give the number of references with a confidence of at least 0.5: of
callers that are not in tests, and of tests. Without any, it must not give a number as if it were sure.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from engine.daemon import Daemon
from engine.figures import Figures, run_conditions
from engine.index_file import opened
from engine.ready import NotReadyError, indexed

_SURE = 0.5
_LIMIT = 1_000
_COUNT = re.compile(r"(?P<number>[\d,]+)\+? (?P<possible>possible )?(?:caller|use|test)s?")
_DIRECTIONS = {"callers": {"tests": False}, "tests": {}}


def main() -> None:
    options = _arguments()
    rng = random.Random(options.seed)
    try:
        rows = {
            name: measure(options.checkouts / name, options.data / name, options.count, rng)
            for name in options.names
        }
    except NotReadyError as problem:
        sys.exit(str(problem))
    record = {"conditions": {**run_conditions(), "seed": options.seed}, "checkouts": rows}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(workspace: Path, data: Path, count: int, rng: random.Random) -> Figures:
    """Return how many lenses of `count` drawn definitions were compared, and those that differ."""
    workspace = workspace.resolve()
    with indexed(workspace, data.resolve()) as (daemon, index):
        with opened(data.resolve()) as file:
            rows = file.rows("SELECT path FROM files WHERE symbols_id IS NOT NULL ORDER BY path")
        lenses = [each for (path,) in rows for each in _lenses(daemon, (workspace / str(path)).as_uri())]
        definitions = sorted({tuple(lens["data"][:3]) for lens in lenses})
        drawn = set(rng.sample(definitions, min(count, len(definitions))))
        compared, differing, kinds = 0, [], {"counts": 0, "possible": 0, "others": 0, "not_counted": 0}
        for lens in lenses:
            if tuple(lens["data"][:3]) in drawn and lens["data"][5] in _DIRECTIONS:
                title = daemon.request("codeLens/resolve", lens)["command"]["title"]
                problem, kind = _compared(daemon, lens, title)
                compared += 1
                kinds[kind] += 1
                differing += [problem] if problem else []
        return {
            "chunks": index["chunks"],
            "definitions": len(drawn),
            "lenses": compared,
            **kinds,
            "differing": differing,
        }


def _lenses(daemon: Daemon, uri: str) -> list[Any]:
    found: list[Any] = daemon.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [each for each in found if "command" not in each]


def _compared(daemon: Daemon, lens: Any, title: str) -> tuple[str, str]:
    """Return how a title differs from the references, "" if it does not, and the kind of title."""
    uri, name, _, below, character, section = lens["data"]
    position = {"line": lens["range"]["start"]["line"] + below, "character": character}
    place = {"textDocument": {"uri": uri}, "position": position, "limit": _LIMIT}
    answer = daemon.request("cairn/references", {**place, "direction": section, **_DIRECTIONS[section]})
    found = answer["references"]
    sure = sum(each["confidence"] >= _SURE for each in found)
    match = _COUNT.fullmatch(title)
    kind = "others" if match is None else "possible" if match["possible"] else "counts"
    shown = int(match["number"].replace(",", "")) if match is not None else 0
    wanted = {"counts": sure, "possible": 0 if sure else len(found), "others": sure}[kind]
    if title.endswith("not counted"):
        return "", "not_counted"
    is_equal = shown == wanted and not (kind != "counts" and sure)
    return "" if is_equal else f"{uri} {name}: {title!r}, {sure} sure of {len(found)}", kind


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="names of checkouts")
    parser.add_argument("--checkouts", type=Path, required=True, help="the folder of the checkouts")
    parser.add_argument("--data", type=Path, required=True, help="the folder for their indexes")
    parser.add_argument("--count", type=int, default=100, help="definitions drawn from each checkout")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
