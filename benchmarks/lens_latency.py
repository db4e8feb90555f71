#!/usr/bin/env python3
"""Measure the latency of code lenses in the real daemon over LSP, with everything indexed and warm.

    python benchmarks/lens_latency.py --workspace FOLDER DATA [--lines 2000] [--files 60] [--output FILE]

DATA has the folder's index, which is completed first. The files are those whose number of lines is nearest to
`--lines`. Each is opened, and its lenses are requested: for the first time, again once they are counted, and
just after a line was typed. Lenses are resolved one after another, for the first time. The mean processor
time of all threads depends less on what else runs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from engine.daemon import Daemon
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import IndexFile, opened
from engine.ready import NotReadyError, indexed

_WARM = 5
"""The number of files whose lenses are requested before the measurement."""
_WAIT_SECONDS = 0.25
"""How long VS Code waits at least after a file was opened or changed."""
_RESOLVED = 12
"""The number of lenses of each file that are resolved, about as many as a window shows."""


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    try:
        figures = measure(workspace, data, options.lines, options.files, random.Random(options.seed))
    except NotReadyError as problem:
        sys.exit(str(problem))
    record = {"conditions": {**run_conditions(), "seed": options.seed}, **figures}
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(workspace: Path, data: Path, lines: int, files: int, rng: random.Random) -> Figures:
    """Return all figures of one workspace."""
    with indexed(workspace, data) as (daemon, index):
        with opened(data) as file:
            every = _files(file, lines)[: files + _WARM]
        rng.shuffle(every)
        for path, _ in every[:_WARM]:
            _measured(daemon, workspace / path)
        chosen = every[_WARM:]
        rows = [_measured(daemon, workspace / path) for path, _ in chosen]
        return {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "lines": {"least": min(n for _, n in chosen), "most": max(n for _, n in chosen)},
            "lenses": {
                "least": min(row["lenses"] for row in rows),
                "most": max(row["lenses"] for row in rows),
            },
            "first_ms": milliseconds([row["first"] for row in rows]),
            "mean_processor_ms": {
                name: round(1000 * sum(row[f"{name}_cpu"] for row in rows) / len(rows), 1)
                for name in ("first", "again")
            },
            "resolve_ms": milliseconds([each for row in rows for each in row["resolve"]]),
            "again_ms": milliseconds([row["again"] for row in rows]),
            "after_typing_ms": milliseconds([row["typed"] for row in rows]),
            "empty_after_typing": sum(row["typed_lenses"] == 0 for row in rows),
        }


def _files(index: IndexFile, lines: int) -> list[tuple[str, int]]:
    """Return the files of code with lenses, and their numbers of lines, the nearest to `lines` first."""
    rows = index.rows(
        """SELECT f.path, max(c.end_line) n FROM chunks c JOIN files f ON f.id = c.file_id
           WHERE f.symbols_id IS NOT NULL AND f.kind = 'source' GROUP BY f.path
           ORDER BY abs(n - ?), f.path""",
        (lines,),
    )
    return [(str(path), int(number)) for path, number in rows]


def _measured(daemon: Daemon, path: Path) -> dict[str, Any]:
    """Open a file, request its lenses in each way, and close it. Times are in seconds."""
    uri = path.as_uri()
    text = path.read_text(encoding="utf-8", errors="replace")
    document = {"uri": uri, "languageId": "", "version": 1, "text": text}
    daemon.notify("textDocument/didOpen", {"textDocument": document})
    time.sleep(_WAIT_SECONDS)
    began = daemon.cpu()
    first, lenses = _ask(daemon, "textDocument/codeLens", {"textDocument": {"uri": uri}})
    first_cpu = daemon.cpu() - began
    waiting = [lens for lens in lenses if "command" not in lens][:_RESOLVED]
    resolve = [_ask(daemon, "codeLens/resolve", lens)[0] for lens in waiting]
    began = daemon.cpu()
    again, _ = _ask(daemon, "textDocument/codeLens", {"textDocument": {"uri": uri}})
    again_cpu = daemon.cpu() - began
    start = {"line": 0, "character": 0}
    change = {"range": {"start": start, "end": start}, "text": "\n"}
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    daemon.notify("textDocument/didChange", changed)
    typed, after = _ask(daemon, "textDocument/codeLens", {"textDocument": {"uri": uri}})
    time.sleep(_WAIT_SECONDS)
    daemon.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return {
        "lenses": len(lenses),
        "first": first,
        "resolve": resolve,
        "again": again,
        "first_cpu": first_cpu,
        "again_cpu": again_cpu,
        "typed": typed,
        "typed_lenses": len(after) if lenses else 1,
    }


def _ask(daemon: Daemon, method: str, params: Any) -> tuple[float, Any]:
    """Return the seconds to the answer, and the answer."""
    pending = daemon.send(method, params)
    answer = pending.result()
    return (pending.answered or 0.0) - pending.sent, answer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--lines", type=int, default=2_000, help="the number of lines of the files")
    parser.add_argument("--files", type=int, default=60, help="the number of files")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of files")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
