"""Rows about opening a repository: cold, with static vectors, and again without changes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from engine.daemon import Daemon, all_files_indexed, has_static_vectors, settled
from engine.figures import NOT_AVAILABLE, Figures, Options, medians
from engine.place import Place, place_for
from engine.wording import addition, text_files, vocabulary

_COLD_SECONDS = 2.0
_STATIC_SECONDS, _STATIC_CHUNKS = 20.0, 20_000
_REOPEN_SECONDS = 1.0
_ASKED_EVERY = 0.025
"""Seconds between two status requests: each takes the daemon 3 ms of the core that it opens with."""
_PATIENCE = 600.0
_STATIC_PATIENCE = 120.0
_QUESTION = "where are errors handled"


def cold(options: Options) -> Figures:
    """Measure the time from the start of the process, without an index, to the first keyword answer, and to
    all of them."""

    def once(place: Place) -> Figures:
        with Daemon(place.tree, place.data, options.settings(embedding=True)) as daemon:
            while not daemon.search(_QUESTION, alpha=0)["results"]:
                time.sleep(0.01)
            first = time.perf_counter()
            status = daemon.wait_until(all_files_indexed, _PATIENCE, every=0.05)
            done, cpu = time.perf_counter(), daemon.cpu()
        return {
            "initialize_s": round(daemon.initialized - daemon.started, 3),
            "first_keyword_answer_s": round(first - daemon.started, 3),
            "all_keywords_s": round(done - daemon.started, 3),
            "all_keywords_cpu_s": round(cpu, 3),
            "files": status["files"]["indexed"],
            "chunks": status["chunks"],
        }

    figures = _repeated(options, once, runs=5)
    return {**figures, "met": figures["first_keyword_answer_s"] < _COLD_SECONDS}


def static(options: Options) -> Figures:
    """Measure the time from process start, without an index, until every chunk has a static vector."""

    def once(place: Place) -> Figures:
        with Daemon(place.tree, place.data, options.settings(embedding=True)) as daemon:
            status = daemon.wait_until(all_files_indexed, _PATIENCE, every=0.05)
            keywords = time.perf_counter()
            if not has_static_vectors(daemon, _STATIC_PATIENCE):
                return {"all_keywords_s": round(keywords - daemon.started, 3), "chunks": status["chunks"]}
            done = time.perf_counter()
            found = daemon.search(_QUESTION, alpha=1)["results"]
        return {
            "all_keywords_s": round(keywords - daemon.started, 3),
            "all_static_s": round(done - daemon.started, 3),
            "chunks": status["chunks"],
            "results_by_meaning_alone": len(found),
        }

    figures = _repeated(options, once, runs=3)
    if "all_static_s" not in figures:
        return {**figures, "all_static_s": NOT_AVAILABLE, "met": None}
    needed = figures["all_static_s"] * _STATIC_CHUNKS / figures["chunks"]
    return {
        **figures,
        f"seconds_for_{_STATIC_CHUNKS}": round(needed, 1),
        "met": needed < _STATIC_SECONDS and figures["results_by_meaning_alone"] > 0,
    }


def reopen(options: Options) -> Figures:
    """Measure the time until an unchanged folder with a complete index is fully compared again."""
    with place_for(options.corpus, options.data) as place:
        settings = options.settings(embedding=False)
        with Daemon(place.tree, place.data, settings) as daemon:
            status = daemon.wait_until(settled, _PATIENCE * 10, every=0.5)
        runs = []
        for _ in range(options.runs or 5):
            with Daemon(place.tree, place.data, settings) as daemon:
                daemon.wait_until(settled, _PATIENCE, every=_ASKED_EVERY)
                ready, cpu = time.perf_counter(), daemon.cpu()
            runs.append(
                {
                    "ready_from_start_s": round(ready - daemon.started, 3),
                    "ready_from_initialized_s": round(ready - daemon.initialized, 3),
                    "cpu_s": round(cpu, 3),
                }
            )
        figures = medians(runs)
        figures |= {"files": status["files"]["indexed"], "chunks": status["chunks"]}
        figures["finds_what_changed_while_closed"] = _finds_a_change(place, options)
    met = figures["ready_from_start_s"] < _REOPEN_SECONDS and figures["finds_what_changed_while_closed"]
    return {**figures, "met": met}


def _finds_a_change(place: Place, options: Options) -> bool:
    """Return whether `ready` is reported only after the comparison of the folder."""
    chance = random.Random(options.seed)
    path: Path = chance.choice(text_files(place.tree))
    place.append(path, addition(path, "changed_while_closed", " ".join(vocabulary(place.tree, chance)[:10])))
    with Daemon(place.tree, place.data, options.settings(embedding=False)) as daemon:
        daemon.wait_until(settled, _PATIENCE, every=0.01)
        found = daemon.search("changed_while_closed", alpha=0)["results"]
    return [result["path"] for result in found[:1]] == [path.relative_to(place.tree).as_posix()]


def _repeated(options: Options, once: Callable[[Place], Figures], runs: int) -> Figures:
    """Return the medians of several runs, each with a fresh index."""
    results = []
    for _ in range(options.runs or runs):
        with place_for(options.corpus, options.data, fresh=True) as place:
            results.append(once(place))
    return medians(results)
