"""Rows about the daemon's resources: memory, idle CPU, and disk; and the index that these need."""

from __future__ import annotations

import random
import re
import time

from engine.daemon import Daemon, settled
from engine.figures import Figures, Options
from engine.index_file import index_path, opened
from engine.place import place_for
from engine.wording import questions

_MEMORY_MB = 350
_IDLE_PERCENT = 0.2
_SIZE_RATIO = 1.5
_HOURS = 3 * 3600.0
"""A long limit: 100,000 texts take half an hour of a fast core."""
_QUESTIONS = 50
_VECTORS = re.compile(r"static|sqlite_autoindex_static")
"""Names of the tables that contain vectors."""


def prepare(options: Options) -> Figures:
    """Index a corpus completely, for the rows that use the same --data."""
    with place_for(options.corpus, options.data) as place:
        with Daemon(place.tree, place.data, options.settings(embedding=True)) as daemon:
            status = daemon.wait_until(settled, _HOURS, every=2.0)
            took, cpu = time.perf_counter() - daemon.started, daemon.cpu()
            memory = _memory(daemon)
        figures = {"seconds": round(took), "cpu_s": round(cpu), **_counts(status), "memory": memory}
        return {**figures, "met": status["embedded"] == status["chunks"]}


def memory(options: Options) -> Figures:
    """Measure the resident size when all is indexed, before and after queries; peak is the process's highest
    so far.

    Without a complete --data it is the process that indexed, otherwise one that opened the complete index.
    """
    with place_for(options.corpus, options.data) as place:
        with Daemon(place.tree, place.data, options.settings(embedding=True)) as daemon:
            status = daemon.wait_until(settled, _HOURS, every=1.0)
            before = _memory(daemon)
            for question in questions(place.tree, options.count or _QUESTIONS, random.Random(options.seed)):
                daemon.search(question)
            after = _memory(daemon)
        met = max(before["rss_mb"], after["rss_mb"]) < _MEMORY_MB
        return {**_counts(status), "before_questions": before, "after_questions": after, "met": met}


def idle(options: Options) -> Figures:
    """Measure the CPU time of the idle daemon and its children, as a share of one core."""
    seconds = (options.minutes or 10.0) * 60
    with place_for(options.corpus, options.data) as place:
        with Daemon(place.tree, place.data, options.settings(embedding=False)) as daemon:
            status = daemon.wait_until(settled, _HOURS, every=0.5)
            time.sleep(5)  # The work right after indexing does not count as idle.
            began, cpu = time.perf_counter(), daemon.cpu()
            time.sleep(seconds)
            share = (daemon.cpu() - cpu) / (time.perf_counter() - began) * 100
        return {
            **_counts(status),
            "minutes": seconds / 60,
            "percent_of_a_core": round(share, 3),
            "met": share < _IDLE_PERCENT,
        }


def size(options: Options) -> Figures:
    """Measure the bytes of the index by table, relative to the bytes of its text, without vectors."""
    with place_for(options.corpus, options.data) as place:
        with Daemon(place.tree, place.data, options.settings(embedding=False)) as daemon:
            status = daemon.wait_until(settled, _HOURS, every=0.5)
        path = index_path(place.data)
        with opened(place.data) as index:
            pages = index.pages()
            paths = index.text_paths()
        text = sum((place.tree / name).stat().st_size for name in paths)
        on_disk = sum(file.stat().st_size for file in path.parent.iterdir() if file.is_file())
    vectors = sum(size for name, size in pages.items() if _VECTORS.match(name))
    rest = sum(pages.values()) - vectors
    largest = sorted(pages.items(), key=lambda item: -item[1])[:12]
    return {
        **_counts(status),
        "text_mb": round(text / 1e6, 1),
        "index_without_vectors_mb": round(rest / 1e6, 1),
        "vectors_mb": round(vectors / 1e6, 1),
        "folder_mb": round(on_disk / 1e6, 1),
        "ratio": round(rest / text, 3),
        "mb_by_table": {name: round(size / 1e6, 1) for name, size in largest},
        "met": rest < _SIZE_RATIO * text,
    }


def _memory(daemon: Daemon) -> Figures:
    """Return MB of the process: resident, private (USS), and resident pages of files such as the index."""
    full = daemon.process.memory_full_info()
    figures = {"rss_mb": full.rss, "uss_mb": full.uss}
    if hasattr(full, "shared"):
        figures["shared_mb"] = full.shared
    return {name: round(value / 1e6, 1) for name, value in figures.items()}


def _counts(status: Figures) -> Figures:
    counted = {
        "files": status["files"]["indexed"],
        "chunks": status["chunks"],
        "embedded": status["embedded"],
    }
    return {**counted, **({"static": status["staticEmbedded"]} if "staticEmbedded" in status else {})}
