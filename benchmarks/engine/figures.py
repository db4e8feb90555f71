"""What a row returns, and how figures are taken together, printed and kept."""

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
    """What the command line says."""

    corpus: Path
    data: Path | None
    runs: int | None
    """None is each row's own number."""
    count: int | None
    """Saves, queries or kills; None is each row's own number."""
    minutes: float | None
    embedding: bool | None
    """None is what the row needs."""
    seed: int

    def settings(self, embedding: bool, **index: Any) -> dict[str, Any]:
        """The editor's settings; `embedding` is the row's own choice."""
        chosen = embedding if self.embedding is None else self.embedding
        return {"embedding": {"enabled": chosen}, "index": index}


def percentile(values: Sequence[float], percent: float) -> float:
    """Of a sample that is not empty: the least value that so many percent are not above."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def milliseconds(values: Sequence[float]) -> Figures:
    """A sample of seconds as its figures in ms."""
    if not values:
        return {"n": 0}
    named = {"p50": percentile(values, 50), "p95": percentile(values, 95), "max": max(values)}
    return {"n": len(values), **{name: round(value * 1000, 1) for name, value in named.items()}}


def medians(runs: Sequence[Figures]) -> Figures:
    """For each figure of several runs its median, and under `runs` the values."""
    names = [name for name in runs[0] if isinstance(runs[0][name], int | float)]
    return {
        **{name: round(statistics.median(run[name] for run in runs), 3) for name in names},
        "runs": {name: [run[name] for run in runs] for name in names},
    }


def conditions(options: Options) -> Figures:
    """What a row's figures depend on."""
    return {"corpus": options.corpus.name, "seed": options.seed, **surroundings()}


def surroundings() -> Figures:
    """What any figures depend on: when, where and with which versions they were taken."""
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
    """Write the row into the results file, beside the other rows that are there."""
    rows = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    rows[row] = entry
    output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def show(row: str, entry: Figures) -> None:
    """Print the row as it stands in the results file."""
    met = {True: "met", False: "MISSED", None: NOT_AVAILABLE}[entry["met"]]
    print(f"{row}: {met} (goal: {entry['goal']})")
    for name, value in entry["figures"].items():
        if name != "runs":
            print(f"  {name:<34} {value if isinstance(value, str) else json.dumps(value)}")
