#!/usr/bin/env python3
"""Measure the latency of VS Code's search palette, from a keystroke to the frame that shows the rows.

    python benchmarks/palette_latency.py --workspace FOLDER DATA [--output FILE]

It uses a real workbench (code-server and a headless Chromium), with the packaged extension and the real
daemon, so the time includes debounce, request, answer, extension host and drawing. DATA has the folder's
index, which is completed first. It needs the output of `scripts/test-editor package`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from engine.drawn import drawn_questions
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.ready import NotReadyError, indexed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import editor_tools  # noqa: E402
import system_packages  # noqa: E402

LONGEST = 25
"""The number of characters of a query that are typed."""
_SPACINGS_MS = (250, 120, 60)
"""A slow typist, each of whose keystrokes shows its rows before the next one; an average and a fast typist,
whose last keystroke counts."""
_WARMING_UP = 5
"""The number of queries that are typed before the measurement, which read the index from disk."""


def main() -> None:
    options = _arguments()
    workspace, data = (path.resolve() for path in options.workspace)
    browser = system_packages.browser()
    if not browser:
        sys.exit("neither Chromium nor Chrome is installed")
    try:
        with indexed(workspace, data) as (_, index):
            pass
    except NotReadyError as problem:
        sys.exit(str(problem))
    questions = _questions(workspace, data, options)
    before = run_conditions()
    figures = _measure(workspace, data, questions, browser)
    record = {
        "conditions": {**before, "seed": options.seed, "code_server": editor_tools.CODE_SERVER_VERSION},
        "workspace": workspace.name,
        "files": index["files"],
        "chunks": index["chunks"],
        **figures,
    }
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _measure(workspace: Path, data: Path, questions: list[str], browser: str) -> Figures:
    # No query is typed twice, since a cached answer takes almost no time.
    rounds = [{"spacing": 100, "questions": questions[:_WARMING_UP], "counts": False}]
    rest = questions[_WARMING_UP:]
    rounds += [
        {"spacing": spacing, "questions": rest[at :: len(_SPACINGS_MS)], "counts": True}
        for at, spacing in enumerate(_SPACINGS_MS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "task.json"
        task.write_text(
            json.dumps({"workspace": str(workspace), "data": str(data), "rounds": rounds}), encoding="utf-8"
        )
        run = subprocess.run(
            ["node", "test/workbench/palette_latency.ts", str(task)],
            cwd=editor_tools.EDITOR_CLIENT,
            env=editor_tools.environment() | editor_tools.workbench_variables(browser),
            stdout=subprocess.PIPE,
            text=True,
        )
    if run.returncode:
        sys.exit(run.returncode)
    return {
        f"typed_every_{measured['spacing']}_ms": {
            "questions": measured["questions"],
            "keystrokes": measured["keystrokes"],
            "measured": len(measured["ms"]),
            "keystroke_to_rows_ms": milliseconds([ms / 1000 for ms in measured["ms"]]),
        }
        for measured in json.loads(run.stdout)
    }


def _questions(workspace: Path, data: Path, options: argparse.Namespace) -> list[str]:
    with opened(data) as index:
        drawn = drawn_questions(workspace, index, options.count, random.Random(options.seed))
    # Other characters are not on every keyboard.
    plain = ("".join(c if c.isascii() and (c.isalnum() or c == "_") else " " for c in line) for line in drawn)
    return list(dict.fromkeys(" ".join(line.split())[:LONGEST].rstrip() for line in plain))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, nargs=2, required=True, metavar=("FOLDER", "DATA"))
    parser.add_argument("--count", type=int, default=50, help="questions to draw")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
