"""Combines, prints and stores the figures of a row."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cairn import __version__

Figures = dict[str, Any]

NOT_AVAILABLE = "not available"
_LIBRARIES = ("apsw", "sqlite-vec", "onnxruntime", "tokenizers", "numpy", "watchfiles", "pygls")


@frozen
class Options:
    """The options of the command line."""

    corpus: Path
    data: Path | None
    runs: int | None
    """The number of runs; None for each row's own number."""
    count: int | None
    """The number of saves, queries or kills; None for each row's own number."""
    minutes: float | None
    embedding: bool | None
    """Whether to embed; None for what the row needs."""
    seed: int

    def settings(self, embedding: bool, **index: Any) -> dict[str, Any]:
        """Return the editor's settings; `embedding` is the row's own choice."""
        chosen = embedding if self.embedding is None else self.embedding
        return {"embedding": {"enabled": chosen}, "index": index}


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the least value of a non-empty sample that at least `percent` % of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def milliseconds(values: Sequence[float]) -> Figures:
    """Return the figures in ms of a sample of seconds."""
    if not values:
        return {"n": 0}
    named = {"p50": percentile(values, 50), "p95": percentile(values, 95), "max": max(values)}
    return {"n": len(values), **{name: round(value * 1000, 1) for name, value in named.items()}}


def medians(runs: Sequence[Figures]) -> Figures:
    """Return for each figure of several runs its median, and under `runs` the values."""
    names = [name for name in runs[0] if isinstance(runs[0][name], int | float)]
    return {
        **{name: round(statistics.median(run[name] for run in runs), 3) for name in names},
        "runs": {name: [run[name] for run in runs] for name in names},
    }


def conditions(options: Options) -> Figures:
    """Return the conditions of a row's figures."""
    return {"corpus": options.corpus.name, "seed": options.seed, **run_conditions()}


def run_conditions() -> Figures:
    """Return the general conditions of figures: date, machine and versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "nice": os.nice(0) if hasattr(os, "nice") else None,
        "python": platform.python_version(),
        "cairn": __version__,
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
    }


def keep(output: Path, row: str, entry: Figures) -> None:
    """Write the row into the results file, beside the existing rows."""
    rows = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    rows[row] = entry
    output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def show(row: str, entry: Figures) -> None:
    """Print the row as it is in the results file."""
    met = {True: "met", False: "MISSED", None: NOT_AVAILABLE}[entry["met"]]
    print(f"{row}: {met} (goal: {entry['goal']})")
    for name, value in entry["figures"].items():
        if name != "runs":
            print(f"  {name:<34} {value if isinstance(value, str) else json.dumps(value)}")
