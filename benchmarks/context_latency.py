#!/usr/bin/env python3
"""Measure the latency of `cairn/context` in the real daemon over LSP, with everything indexed and warm.

    python benchmarks/context_latency.py --workspace FOLDER DATA [--count 300] [--output FILE]

DATA has the folder's index, which is completed first. The cursor jumps to lines all over the workspace, moves
from line to line in a chunk, is where a word is typed before each request, and jumps with a question about
the place.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

from engine.daemon import Daemon
from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import IndexFile, opened
from engine.ready import NotReadyError, indexed

_WARM = 30
"""The number of places requested before the measurement."""
_STEPS = 5
"""The number of lines that the cursor moves down in each of some chunks."""


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
            chunks = _chunks(file)
            questions = drawn_questions(workspace, file, count, rng)
        for path, first, last in rng.sample(chunks, min(_WARM, len(chunks))):
            _ask(daemon, workspace / path, rng.randrange(first, last))
        places = [rng.choice(chunks) for _ in range(count)]
        jumps = [_ask(daemon, workspace / p, rng.randrange(first, last)) for p, first, last in places]
        return {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "jump_ms": milliseconds(jumps),
            "move_in_a_chunk_ms": milliseconds(_moves(daemon, workspace, places)),
            "after_typing_ms": milliseconds(_typing(daemon, workspace, places[: count // 5])),
            "jump_with_a_query_ms": milliseconds(
                [
                    _ask(daemon, workspace / path, first, query=question)
                    for (path, first, _), question in zip(places, questions, strict=False)
                ]
            ),
        }


def _chunks(index: IndexFile) -> list[tuple[str, int, int]]:
    """Return path and lines of every chunk."""
    rows = index.rows(
        "SELECT f.path, c.start_line, c.end_line FROM chunks c JOIN files f ON f.id = c.file_id ORDER BY c.id"
    )
    return [(str(path), int(first), int(last)) for path, first, last in rows if last > first]


def _moves(daemon: Daemon, workspace: Path, places: list[tuple[str, int, int]]) -> list[float]:
    took = []
    for path, first, last in places:
        _ask(daemon, workspace / path, first)
        took += [
            _ask(daemon, workspace / path, line) for line in range(first + 1, min(last, first + 1 + _STEPS))
        ]
    return took


def _typing(daemon: Daemon, workspace: Path, places: list[tuple[str, int, int]]) -> list[float]:
    """Type a word into the line of the cursor just before each request."""
    took = []
    for number, (path, first, _) in enumerate(places):
        uri = (workspace / path).as_uri()
        lines = (workspace / path).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        document = {"uri": uri, "languageId": "", "version": 1, "text": "".join(lines)}
        daemon.notify("textDocument/didOpen", {"textDocument": document})
        _ask(daemon, workspace / path, first)
        start = {"line": first, "character": 0}
        change = {"range": {"start": start, "end": start}, "text": f"typed{number} "}
        changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
        daemon.notify("textDocument/didChange", changed)
        took.append(_ask(daemon, workspace / path, first))
        daemon.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return took


def _ask(daemon: Daemon, path: Path, line: int, **params: Any) -> float:
    """Return the seconds to the answer."""
    place = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": 0}}
    pending = daemon.send("cairn/context", {**place, **params})
    pending.result()
    return (pending.answered or 0.0) - pending.sent


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--count", type=int, default=300, help="places to jump to")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
