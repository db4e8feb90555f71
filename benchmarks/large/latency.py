#!/usr/bin/env python3
"""Measure the latency of a real daemon on a large tree, idle and next to busy processes, and its memory.

    python benchmarks/large/latency.py kernel=FOLDER --index DATA [--figure questions ...] [--busy 1]
            [--memory 1000] [--saves 20] [--seed 1] [--output FILE]

`DATA` is the CAIRN_DATA_DIR with FOLDER's complete index. Without `--figure` all figures are measured:

- `questions`: the questions of the sets that do not ask for a name, each sent twice with different params;
  `first` is from an index that was just opened, `again` once the needed parts are in memory; then again
  next to `--busy` processes that burn a core each.
- `discover`: the same questions, answered with a prompt.
- `memory`: resident and private memory of a fresh daemon after each tenth of `--memory` different questions.
- `saves`: seconds from a save until it is found, by keyword and by meaning alone, in a copy whose unchanged
  files are hard links.
- `cold`: seconds from the start of a process without any index until a keyword query has results; the process
  is stopped then.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import psutil
from engine.changes import saves
from engine.daemon import Daemon
from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.place import Place, make_data_folder
from engine.ready import indexed
from engine.wording import questions

from large.copies import linked_copy, take_index
from large.in_process import tree_and_folder
from large.sets import HALVES, read_sets

_NAMES = frozenset({"symbol", "type", "known"})
"""The kinds of questions that ask for a name."""
_STEPS = 10
_WARM_SECONDS = 3.0
"""The time after which the daemon has finished the reads behind its first question."""
_COLD_QUERY = {"kernel": "linux", "jdk": "java"}
"""A word of nearly every file, so that whichever is read first answers."""
_COLD_SECONDS = 120.0
_COLD_EVERY = 0.1
"""More frequent queries would delay indexing, which gives way to queries."""


def timed_questions(daemon: Daemon, texts: Sequence[str], busy: int) -> Figures:
    """Time searches, idle and next to `busy` processes, with the phases of the answers."""
    first, again, phases, broken_off = [], [], set(), 0
    for query in texts:
        for limit, took in ((11, first), (10, again)):
            began = time.perf_counter()
            answer = daemon.search(query, limit=limit, context=0)
            took.append(time.perf_counter() - began)
            phases.add(answer["retrieval"]["phase"])
            broken_off += bool(answer["brokenOff"])
    beside = []
    with burning(busy):
        for query in texts:
            began = time.perf_counter()
            answer = daemon.search(query, limit=9, context=0)
            beside.append(time.perf_counter() - began)
            phases.add(answer["retrieval"]["phase"])
            broken_off += bool(answer["brokenOff"])
    return {
        "first_ms": milliseconds(first),
        "again_ms": milliseconds(again),
        f"beside_{busy}_busy_ms": milliseconds(beside),
        "phases": sorted(phases),
        "broken_off": broken_off,
    }


def timed_discoveries(daemon: Daemon, texts: Sequence[str]) -> Figures:
    """Time discoveries, each sent twice."""
    took: dict[int, list[float]] = {19: [], 18: []}
    for query in texts:
        for bullets, seconds in took.items():
            began = time.perf_counter()
            daemon.request("cairn/discover", {"query": query, "maxBullets": bullets})
            seconds.append(time.perf_counter() - began)
    first, again = took.values()
    return {"first_ms": milliseconds(first), "again_ms": milliseconds(again)}


def memory_of_questions(daemon: Daemon, texts: Sequence[str]) -> list[Figures]:
    """Return MB after the start and after each tenth of the questions."""
    samples = [{"questions": 0, **_memory(daemon)}]
    step = max(1, len(texts) // _STEPS)
    for number, query in enumerate(texts, 1):
        daemon.search(query)
        if number % step == 0:
            samples.append({"questions": number, **_memory(daemon)})
    return samples


def _memory(daemon: Daemon) -> Figures:
    full = daemon.process.memory_full_info()
    return {"rss_mb": round(full.rss / 1e6, 1), "uss_mb": round(full.uss / 1e6, 1)}


def found_saves(folder: Path, index: Path, count: int, seed: int, suffix: str) -> Figures:
    """Time saves of randomly drawn files until they are found."""
    with tempfile.TemporaryDirectory(prefix="cairn-saves-", dir=index.parent) as temporary:
        place = Place(Path(temporary) / folder.name, Path(temporary) / "data")
        with opened(index) as known:
            usable = sorted(path for path in known.text_paths() if path.endswith(suffix))
        chosen = random.Random(seed).sample(usable, count)
        linked_copy(folder, place.tree, {path: (folder / path).read_bytes() for path in chosen})
        take_index(index, place.tree, place.data)
        with indexed(place.tree, place.data) as (daemon, _):
            time.sleep(_WARM_SECONDS)
            files = [place.tree / path for path in chosen]
            return {
                f"{leg}_ms": saves(daemon, place, files, count, seed, announced=True, alpha=alpha)
                for leg, alpha in (("keyword", 0), ("meaning", 1))
            }


def cold_answer(folder: Path, query: str) -> Figures:
    """Start a process without an index, and query it at once and again until it has results."""
    with tempfile.TemporaryDirectory(prefix="cairn-cold-") as temporary:
        data = Path(temporary) / "data"
        make_data_folder(data)
        daemon = Daemon(folder, data)
        try:
            daemon.initialize()
            texts = 0
            while time.perf_counter() < daemon.started + _COLD_SECONDS:
                texts += 1
                answer = daemon.search(query, alpha=0, context=0, limit=10 + texts % 2)
                if answer["results"]:
                    break
                time.sleep(_COLD_EVERY)
            took = time.perf_counter() - daemon.started
            return {"first_answer_s": round(took, 2), "asked": texts, "results": len(answer["results"])}
        finally:
            daemon.kill()


@contextmanager
def burning(processes: int) -> Iterator[None]:
    """Run processes that burn a core each."""
    with ExitStack() as burners:
        for _ in range(processes):
            burner = psutil.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.DEVNULL)
            burners.callback(burner.wait)
            burners.callback(burner.kill)
        yield


def main() -> None:
    options = _arguments()
    before = run_conditions()
    tree, folder = options.tree[0], options.tree[1].resolve()
    index = options.index.resolve()
    texts = [each.query for each in read_sets(tree, HALVES[:2]) if each.kind not in _NAMES]

    def with_daemon(measure: Callable[[Daemon], Any]) -> Any:
        with indexed(folder, index) as (daemon, _):
            time.sleep(_WARM_SECONDS)
            return measure(daemon)

    different = questions(folder, options.memory, random.Random(options.seed)) if options.memory else []
    figures: dict[str, Callable[[], Any]] = {
        "questions": lambda: with_daemon(lambda daemon: timed_questions(daemon, texts, options.busy)),
        "discover": lambda: with_daemon(lambda daemon: timed_discoveries(daemon, texts)),
        "memory": lambda: with_daemon(lambda daemon: memory_of_questions(daemon, different)),
        "saves": lambda: found_saves(
            folder, index, options.saves, options.seed, {"kernel": ".c", "jdk": ".java"}[tree]
        ),
        "cold": lambda: cold_answer(folder, _COLD_QUERY[tree]),
    }
    taken = {name: figures[name]() for name in options.figure or figures}
    report = json.dumps({"conditions": before, "tree": tree, "asked": len(texts), **taken}, indent=2)
    print(report)
    if options.output:
        options.output.write_text(report + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=tree_and_folder, metavar="TREE=FOLDER")
    parser.add_argument("--index", type=Path, required=True, help="a data folder with an index of FOLDER")
    parser.add_argument(
        "--figure", action="append", choices=("questions", "discover", "memory", "saves", "cold")
    )
    parser.add_argument("--busy", type=int, default=1, help="processes that burn a core each")
    parser.add_argument("--memory", type=int, default=1_000, help="number of different questions")
    parser.add_argument("--saves", type=int, default=20, help="number of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
