#!/usr/bin/env python3
"""Measure the latency of `cairn/references` in the real daemon over LSP, with everything indexed and warm,
and after a save.

    python benchmarks/references/latency.py --workspace FOLDER DATA [--workspace …] [--count 200] [--saves 30]
      [--output FILE]

DATA has the folder's index; a missing one is made first, without a model. Functions are drawn from the whole
index. Saves are made in a copy of the folder.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.daemon import Daemon, all_files_indexed
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.place import Place, make_data_folder, place_for
from engine.ready import NotReadyError, indexed
from engine.wording import text_files

_WARM = 20
_LIMIT = 100
_LOST_SECONDS = 30.0
_PATIENCE = 3 * 3600.0


def main() -> None:
    options = _arguments()
    record: Figures = {"conditions": {**run_conditions(), "seed": options.seed}, "workspaces": []}
    try:
        for workspace, data in options.workspace:
            figures = measure(workspace.resolve(), data.resolve(), options.count, random.Random(options.seed))
            if options.saves:
                figures["saved_ms"] = saves(workspace, data, options.saves, random.Random(options.seed))
            print(json.dumps(figures, indent=2))
            record["workspaces"].append(figures)
    except NotReadyError as problem:
        sys.exit(str(problem))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure(workspace: Path, data: Path, count: int, chance: random.Random) -> Figures:
    """Return the times of all kinds of requests in one workspace."""
    if not data.exists():
        make_data_folder(data)
    with indexed(workspace, data) as (daemon, index):
        with opened(data) as file:
            names = [name.rpartition(".")[2] for name in file.defined_names()]
        chance.shuffle(names)
        for name in names[:_WARM]:
            _ask(daemon, symbol=name)
        named = [_ask(daemon, symbol=name) for name in names[_WARM : _WARM + count]]
        places = [chance.choice(answer["definitions"]) for _, answer in named if answer["definitions"]]
        positions = [_position(place) for place in places]
        return {
            "workspace": workspace.name,
            "files": index["files"],
            "chunks": index["chunks"],
            "index_mb": index["index_mb"],
            "callers_of_a_name_ms": milliseconds([took for took, _ in named]),
            "callers_at_a_place_ms": milliseconds([_ask(daemon, **at)[0] for at in positions]),
            "callees_at_a_place_ms": milliseconds(
                [_ask(daemon, direction="callees", **at)[0] for at in positions]
            ),
            "callers_of_callers_ms": milliseconds([_ask(daemon, depth=2, **at)[0] for at in positions]),
        }


def _position(place: dict[str, Any]) -> dict[str, Any]:
    return {"textDocument": {"uri": place["uri"]}, "position": place["selectionRange"]["start"]}


def _ask(daemon: Daemon, **params: Any) -> tuple[float, dict[str, Any]]:
    """Return the seconds to the answer, and the answer."""
    pending = daemon.send("cairn/references", {"direction": "callers", "limit": _LIMIT, **params})
    answer = pending.result()
    return (pending.answered or 0.0) - pending.sent, answer


def saves(workspace: Path, data: Path, count: int, chance: random.Random) -> Figures:
    """Return milliseconds from a save that adds a call until `cairn/references` has it; `lost` counts those
    that never appeared."""
    with place_for(workspace, data.with_name(f"{data.name}-saves")) as place:
        with Daemon(place.tree, place.data, {"embedding": {"enabled": False}}) as daemon:
            daemon.wait_until(all_files_indexed, _PATIENCE, every=0.5)
            files = [path for path in text_files(place.tree) if path.suffix == ".py"]
            took = [_saved(daemon, place, chance.choice(files), number) for number in range(count + 2)][2:]
        place.restore()
    found = [each for each in took if each is not None]
    return {**milliseconds(found), "lost": len(took) - len(found)}


def _saved(daemon: Daemon, place: Place, path: Path, number: int) -> float | None:
    """Return seconds; None if the call was not found."""
    called = f"called_when_saved_{number}"
    place.append(path, f"\n\ndef {called}():\n    pass\n\n\ndef calling_{called}():\n    {called}()\n")
    began = time.perf_counter()
    daemon.saved(path)
    while time.perf_counter() - began < _LOST_SECONDS:
        if _ask(daemon, symbol=called)[1]["references"]:
            return time.perf_counter() - began
        time.sleep(0.002)
    return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workspace", type=Path, nargs=2, action="append", required=True, metavar=("FOLDER", "DATA")
    )
    parser.add_argument("--count", type=int, default=200, help="number of functions")
    parser.add_argument("--saves", type=int, default=0, help="number of saves")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
