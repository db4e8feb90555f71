"""Rows about searches while the index is written: in the same process, and in another one."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from engine.daemon import Daemon, settled
from engine.figures import Figures, Options, milliseconds, percentile
from engine.place import Place, place_for
from engine.wording import questions, text_files, vocabulary

_TIMES_IDLE = 2.0
_BLOCKED_SECONDS = 0.050
_PATIENCE = 3 * 3600.0
_AT_WORK_SECONDS = 0.05
"""The seconds that the indexing daemon works between two searches of the idle one."""
_COPIED_FILES = 400
_COPIES = "copied"


def latency(options: Options) -> Figures:
    """Compare search times of a daemon that indexes with those of an idle one on a copy of the same complete
    index.

    Both get the same queries in turns. The indexing one is stopped while the idle one answers, so that the
    machine is really idle. This happens first while every file is read again, then while copied files are
    embedded.
    """
    settings = options.settings(embedding=True)
    with place_for(options.corpus, options.data) as place:
        with Daemon(place.tree, place.data, settings) as daemon:
            daemon.wait_until(settled, _PATIENCE, every=1.0)
        copy = place.other_data("idle", copied=True)
        count = options.count or 200
        queries = questions(place.tree, 2 * count + 20, random.Random(options.seed))
        idle_settings = options.settings(embedding=True, watch=False)
        with (
            Daemon(place.tree, place.data, settings) as busy,
            Daemon(place.tree, copy, idle_settings) as idle,
        ):
            for daemon in (busy, idle):
                daemon.wait_until(settled, _PATIENCE, every=0.2)
                for question in queries[2 * count :]:
                    daemon.search(question)
            reading = _by_turns(busy, idle, queries[:count], lambda: busy.request("cairn/reindex", {}))
            busy.wait_until(settled, _PATIENCE, every=0.2)
            vectors = _by_turns(busy, idle, queries[count : 2 * count], lambda: _new_texts(place, options))
            busy.kill()  # It still has to embed the copied files.
    met = max(reading["ratio_p95"], vectors["ratio_p95"]) < _TIMES_IDLE
    return {"reading_files": reading, "making_vectors": vectors, "met": met}


def _by_turns(busy: Daemon, idle: Daemon, queries: list[str], give_work: Callable[[], object]) -> Figures:
    working, resting = [], []
    give_work()
    for question in queries:
        while True:
            time.sleep(_AT_WORK_SECONDS)
            seconds = _ask(busy, question)
            if not settled(busy.status()):
                break
            give_work()  # Its work ended, so this answer does not count.
        working.append(seconds)
        busy.process.suspend()
        resting.append(_ask(idle, question))
        busy.process.resume()
    ratio = percentile(working, 95) / percentile(resting, 95)
    return {
        "idle_ms": milliseconds(resting),
        "busy_ms": milliseconds(working),
        "ratio_p50": round(statistics.median(working) / statistics.median(resting), 2),
        "ratio_p95": round(ratio, 2),
    }


def _ask(daemon: Daemon, question: str) -> float:
    """Return the seconds to the answer."""
    began = time.perf_counter()
    daemon.search(question)
    return time.perf_counter() - began


def _new_texts(place: Place, options: Options) -> None:
    """Copy files of the tree to new paths, so that their embedded texts are new."""
    chance = random.Random(time.perf_counter())
    files = [path for path in text_files(place.tree) if not _is_copy(place, path)]
    for number, path in enumerate(chance.sample(files, min(_COPIED_FILES, len(files)))):
        folder = place.tree / f"{_COPIES}{chance.randrange(10**6)}"
        place.write(folder / f"part{number}{path.suffix}", path.read_bytes())


def _is_copy(place: Place, path: Path) -> bool:
    return path.relative_to(place.tree).parts[0].startswith(_COPIES)


def readers(options: Options) -> Figures:
    """Measure keyword searches of a second daemon on the folder while the first one writes, each against its
    usual time.

    The usual time is the mean of the same search before and after. The control is the same beside a process
    that only burns CPU: any delay there comes from a missing core, not from a write.
    """
    settings = options.settings(embedding=False)
    with (
        place_for(options.corpus, options.data) as place,
        Daemon(place.tree, place.data, settings) as writer,
        Daemon(place.tree, place.data, settings) as reader,
    ):
        writer.wait_until(settled, _PATIENCE, every=0.5)
        # Single words keep the search itself short, so that a delay is visible.
        chance = random.Random(options.seed)
        words = [word for word in vocabulary(place.tree, chance) if len(word) > 8]
        queries = chance.sample(words, min(options.count or 300, len(words)))
        _times(reader, queries[:20])
        before = _time_after_writing(place, writer, reader, queries)
        with _burning():
            control = _time_after_writing(place, writer, reader, queries)
        writing = _times(reader, queries, lambda: _keep_writing(writer))
        writer.wait_until(settled, _PATIENCE, every=0.2)
        after = _time_after_writing(place, writer, reader, queries)
    usual = [(one + other) / 2 for one, other in zip(before, after, strict=True)]
    longer = [value - mean for value, mean in zip(writing, usual, strict=True)]
    beside = [value - mean for value, mean in zip(control, usual, strict=True)]
    # If the control is no better, the machine is too busy for a result.
    can_tell = max(longer) < _BLOCKED_SECONDS or max(beside) < _BLOCKED_SECONDS
    return {
        "usual_ms": milliseconds(usual),
        "while_writing_ms": milliseconds(writing),
        "longer_by_ms": milliseconds(longer),
        "longer_by_ms_beside_a_burner": milliseconds(beside),
        "met": max(longer) < _BLOCKED_SECONDS if can_tell else None,
    }


def _times(
    reader: Daemon, queries: list[str], before_each: Callable[[], object] = lambda: None
) -> list[float]:
    taken = []
    for question in queries:
        before_each()
        began = time.perf_counter()
        reader.search(question, alpha=0, limit=1, context=0)
        taken.append(time.perf_counter() - began)
    return taken


def _time_after_writing(place: Place, writer: Daemon, reader: Daemon, queries: list[str]) -> list[float]:
    """Time the same queries over an index of another generation, so that no answer is cached."""
    generation = reader.search(queries[0], alpha=0)["index"]["generation"]
    note = place.tree / "benchmark-note.txt"
    place.write(note, f"{time.perf_counter()}\n".encode())
    writer.saved(note)
    while reader.search(queries[0], alpha=0)["index"]["generation"] == generation:
        time.sleep(0.05)
    time.sleep(1)
    return _times(reader, queries)


def _keep_writing(writer: Daemon) -> None:
    """Make the writer read every file again during the next query."""
    if settled(writer.status()):
        writer.request("cairn/reindex", {})
        time.sleep(1)  # By then it has compared the folder and is writing.


@contextmanager
def _burning() -> Iterator[None]:
    burner = psutil.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        burner.kill()
        burner.wait()
