#!/usr/bin/env python3
"""Measure how long it takes to index a checkout, compared with semble with the same table of token vectors.

    python benchmarks/large/beside_semble.py CHECKOUT ... --semble PYTHON [--runs 3] [--workers 1 2]
      [--output FILE.json]

Each run is a process of its own from its start to its end, in alternation: `cairn index` into an empty data
folder (words, names, references, static vectors and history, on disk), and semble's index of code, documents
and configuration, in memory. Grammars are unpacked before. The output is medians: seconds, and CPU seconds of
the process and its children. PYTHON has semble 0.7.0, attrs, cattrs and platformdirs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_CHUNKS = Path(__file__).resolve().parents[1] / "answers" / "semble_chunks.py"
_MINUTES = 30


def main() -> None:
    options = _arguments()
    found: dict[str, Any] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "checkouts": {}}
    for checkout in options.checkouts:
        runs: dict[str, list[tuple[float, float]]] = {}
        with tempfile.TemporaryDirectory(prefix="beside-semble-") as folder:
            caches = Path(folder)
            for run in range(options.runs + 1):
                for workers in options.workers:
                    taken = _cairn(checkout, workers, caches)
                    if run:  # The first run unpacks grammars.
                        runs.setdefault(f"cairn, workers {workers}", []).append(taken)
                taken = _semble(checkout, options.semble, caches)
                if run:
                    runs.setdefault("semble", []).append(taken)
        row = {name: _medians(of_system) for name, of_system in runs.items()}
        found["checkouts"][checkout.name] = row
        beside = row["semble"]["seconds"]
        for name, figures in row.items():
            print(
                f"{checkout.name}, {name}: {figures}, {figures['seconds'] / beside:.2f} × semble", flush=True
            )
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


def _medians(runs: Sequence[tuple[float, float]]) -> dict[str, float]:
    seconds, cpu = (round(statistics.median(column), 2) for column in zip(*runs, strict=True))
    return {"seconds": seconds, "cpu": cpu}


def _cairn(checkout: Path, workers: int, caches: Path) -> tuple[float, float]:
    data = caches / "cairn"
    shutil.rmtree(data / "workspaces", ignore_errors=True)  # The unpacked grammars stay.
    own = {"CAIRN_DATA_DIR": str(data), "CAIRN_CONFIG_DIR": str(caches), "CAIRN_INDEX__WORKERS": str(workers)}
    return _timed([sys.executable, "-m", "cairn", "index", "--quiet", str(checkout)], own)


def _semble(checkout: Path, python: Path, caches: Path) -> tuple[float, float]:
    request = {"tree": str(checkout), "questions": [], "limit": 1, "content": ["code", "docs", "config"]}
    own = {"XDG_CACHE_HOME": str(caches / "semble"), "PYTHONPATH": ""}
    return _timed([str(python), str(_CHUNKS)], own, json.dumps(request))


def _timed(command: Sequence[str], own: Mapping[str, str], standard_input: str = "") -> tuple[float, float]:
    """Return seconds, and CPU seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        env={**os.environ, **own},
        input=standard_input.encode(),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60 * _MINUTES,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="CHECKOUT")
    parser.add_argument(
        "--semble", type=Path, metavar="PYTHON", required=True, help="an interpreter with semble"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--workers",
        type=int,
        nargs="+",
        default=[0],
        help="numbers of workers to measure; 0 is the automatic number",
    )
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
