"""Row: kill the daemon at random moments, while files change, and check its index each time."""

from __future__ import annotations

import itertools
import random
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

import apsw

from engine.daemon import Daemon, DaemonDiedError, all_files_indexed, settled
from engine.figures import NOT_AVAILABLE, Figures, Options
from engine.index_file import Contents, UnavailableError, copied, damaged, opened, unmatched
from engine.place import Place, place_for
from engine.wording import addition, sentence, text_files, vocabulary

_PATIENCE = 600.0
_KILLS = 200
_SAVES = 25

# Seconds within which the kill falls after the moment that the kind of kill waits for.
_WITHIN = {"start": 1.5, "reindex": 1.5, "saves": 1.0, "vectors": 2.5, "tidying": 1.0, "closing": 0.12}


def kill(options: Options) -> Figures:
    """Kill, check the file, change files, start again; at the end compare with a fresh index."""
    faults: list[str] = []
    kinds: Counter[str] = Counter()
    with place_for(options.corpus, options.data, fresh=True) as place:
        editor = Editor(place, random.Random(options.seed))
        kind_of = itertools.cycle(_WITHIN)
        while (number := sum(kinds.values())) < (options.count or _KILLS):
            kind = next(kind_of)
            kinds[kind] += _start_and_kill(kind, place, editor, options)
            if number % 20 == 0:
                print(f"{number} kills, {len(faults)} faults", file=sys.stderr)
            faults += [f"kill {number} ({kind}): {fault}" for fault in _faults(place)]
        settings = options.settings(embedding=True)
        with Daemon(place.tree, place.data, settings) as daemon:
            survived = daemon.wait_until(settled, _PATIENCE, every=0.2)
        faults += [f"at the end: {fault}" for fault in _faults(place)]
        fresh = place.other_data("fresh")
        with Daemon(place.tree, fresh, settings) as daemon:
            expected = daemon.wait_until(settled, _PATIENCE, every=0.2)
        names = ("chunks", "embedded", "staticEmbedded", "files", "queued")
        differing = [name for name in names if survived.get(name) != expected.get(name)]
        compared = _compared(place, Place(place.tree, fresh))
    wrong = (
        len(faults) + len(differing) + sum(compared.get(name, 0) for name in ("lost", "extra", "repeated"))
    )
    wrong += len(compared.get("unmatched", ()))
    return {
        "kills": sum(kinds.values()),
        "by_moment": dict(kinds),
        "faults": [fault[:300] for fault in faults[:20]],
        "files": survived["files"]["indexed"],
        "chunks": survived["chunks"],
        "status_differs_in": differing,
        **compared,
        "met": None if NOT_AVAILABLE in compared else wrong == 0,
    }


class Editor:
    """A simulated user who edits, makes, renames and removes files."""

    def __init__(self, place: Place, chance: random.Random) -> None:
        self.place = place
        self.chance = chance
        self._words = vocabulary(place.tree, chance)
        self._made = 0

    def change(self) -> None:
        """Make one change of one file."""
        path = self.chance.choice(text_files(self.place.tree))
        deed = self.chance.choice(("edit", "edit", "edit", "restart", "make", "rename", "remove"))
        self._made += 1
        about = sentence(self._words, self.chance)
        text = addition(path, f"changed_{self._made}", about)
        target = path.with_name(f"made_{self._made}{path.suffix}")
        content = path.read_bytes()
        if deed == "edit":
            self.place.append(path, text)
        elif deed == "restart":
            self.place.write(path, text.encode() + content[: len(content) // 2])
        elif deed == "make":
            self.place.write(target, content + text.encode())
        else:
            if deed == "rename":
                self.place.write(target, content)
            self.place.remove(path)


def _start_and_kill(kind: str, place: Place, editor: Editor, options: Options) -> int:
    """Start, wait for the moment, and kill; return 1 if the daemon was alive until then."""
    chance = editor.chance
    for _ in range(chance.randint(0, 5)):
        editor.change()
    daemon = Daemon(place.tree, place.data, options.settings(embedding=True))
    daemon.initialize()
    delay = chance.uniform(0, _WITHIN[kind])
    if kind == "reindex":
        daemon.wait_until(all_files_indexed, _PATIENCE, every=0.02)
        daemon.request("cairn/reindex", {})
    elif kind in ("saves", "closing"):
        daemon.wait_until(all_files_indexed, _PATIENCE, every=0.02)
    elif kind == "vectors":
        for _ in range(20):
            editor.change()
        daemon.wait_until(lambda status: bool(status["queued"]) or settled(status), _PATIENCE, every=0.02)
    elif kind == "tidying":  # This happens after all other work.
        daemon.wait_until(settled, _PATIENCE, every=0.02)
    if kind == "closing":
        daemon.request("shutdown", None)
        daemon.notify("exit", None)
    timer = threading.Timer(delay, daemon.process.kill)
    timer.start()
    if kind == "saves":
        with suppress(OSError, DaemonDiedError):  # The pipe breaks when the daemon dies.
            for _ in range(_SAVES):
                editor.change()
                for path in editor.place.changed()[-2:]:
                    daemon.saved(path)
                time.sleep(0.02)
    timer.join()
    return int(daemon.process.wait(_PATIENCE) != 0)


def _faults(place: Place) -> list[str]:
    """Return the faults of the file as the kill left it."""
    try:
        with copied(place.data) as index:
            return index.faults() + damaged(place.data)
    except UnavailableError:
        return []  # The kill came before there was a file.
    except (apsw.CorruptError, apsw.NotADBError) as problem:
        return [str(problem)]


def _compared(survived: Place, fresh: Place) -> Figures:
    """Return the differences of two indexes of one tree."""
    try:
        with opened(survived.data) as one, opened(fresh.data) as other:
            mine, wanted = Contents.read(one), Contents.read(other)
            return {
                "rows": {name: [count, wanted.counts[name]] for name, count in mine.counts.items()},
                "lost": sum(len(wanted.sets[name] - rows) for name, rows in mine.sets.items()),
                "extra": sum(len(rows - wanted.sets[name]) for name, rows in mine.sets.items()),
                "repeated": sum(mine.repeated.values()),
                "unmatched": unmatched(one),
            }
    except UnavailableError as problem:
        return {NOT_AVAILABLE: str(problem)}
