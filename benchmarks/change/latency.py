#!/usr/bin/env python3
"""Measure the latency of `cairn/change` in the real daemon over LSP, for changes of 20 files.

    python benchmarks/change/latency.py --workspace FOLDER DATA [--count 60] [--output FILE]

DATA has the folder's index, which is completed first. Each change is a diff as text that is not applied: in
20 random files of the source, a line in the body of one to three functions is doubled; of every tenth file,
a function gets a parameter instead, and of every twentieth one, another name.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from difflib import unified_diff
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import Daemon
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import IndexFile, opened
from engine.ready import NotReadyError, indexed
from references.model import Sampled

from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import Definition
from change.edits import renamed_at, table_of, with_parameter

_FILES = 20
_WARM = 3
_SHORTEST, _LONGEST = 20, 5_000
"""The lines of a file that is changed. Longer ones are mostly generated."""


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    try:
        figures = measure(workspace, data, options.count, random.Random(options.seed))
    except NotReadyError as problem:
        sys.exit(str(problem))
    record = {"conditions": {**run_conditions(), "seed": options.seed}, **figures}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(workspace: Path, data: Path, count: int, rng: random.Random) -> Figures:
    """Return all figures of one workspace."""
    with indexed(workspace, data) as (daemon, index):
        with opened(data) as file:
            paths = _paths(file)
        for _ in range(_WARM):
            _ask(daemon, _change(workspace, paths, rng))
        took, steps, complete = list[float](), list[dict[str, float]](), 0
        for _ in range(count):
            seconds, answer = _ask(daemon, _change(workspace, paths, rng))
            took.append(seconds)
            steps.append(answer["timings"])
            complete += answer["complete"]
        return {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "change_ms": milliseconds(took),
            "step_p50_ms": {
                step: round(median(each[step] for each in steps if step in each), 1) for step in steps[-1]
            },
            "complete": round(complete / count, 3),
        }


def _paths(index: IndexFile) -> list[str]:
    sql = "SELECT path FROM files WHERE is_text AND kind = 'source' ORDER BY path"
    return [str(path) for (path,) in index.rows(sql)]


def _change(workspace: Path, paths: list[str], rng: random.Random) -> str:
    """Return a change of 20 files as a diff."""
    found: list[str] = []
    while len(found) < _FILES:
        path = rng.choice(paths)
        try:
            text = (workspace / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if _SHORTEST <= text.count("\n") <= _LONGEST:
            edited = _edited(path, text, len(found), rng)
            lines = text.split("\n"), (edited or text).split("\n")
            diff = list(unified_diff(*lines, f"a/{path}", f"b/{path}", lineterm=""))
            found += ["\n".join(diff)] if diff else []
    return "\n".join(found) + "\n"


def _edited(path: str, text: str, number: int, rng: random.Random) -> str | None:
    table = table_of(path, text)
    functions = [each for each in table.definitions if each.kind in CALLABLE] if table else []
    if not functions:
        return None
    chosen = rng.sample(functions, min(len(functions), rng.randint(1, 3)))
    sampled = Sampled(path, chosen[0].line, chosen[0].character, chosen[0].name, chosen[0].kind)
    if number % 20 == 10:
        return renamed_at(text, sampled, f"{chosen[0].name}_again")
    if number % 10 == 0:
        return with_parameter(path, text, sampled)
    return _doubled(text, chosen)


def _doubled(text: str, functions: list[Definition]) -> str:
    """Return the text with the middle line of each function twice."""
    lines = text.split("\n")
    for each in sorted(functions, key=lambda each: -each.start_line):
        middle = (each.line + each.end_line) // 2
        lines.insert(middle, lines[middle])
    return "\n".join(lines)


def _ask(daemon: Daemon, diff: str) -> tuple[float, Any]:
    """Return the seconds to the answer, and the answer."""
    pending = daemon.send("cairn/change", {"diff": diff})
    answer = pending.result()
    return (pending.answered or 0.0) - pending.sent, answer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", nargs=2, type=Path, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--count", type=int, default=60, help="how many changes to ask about")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
