#!/usr/bin/env python3
"""Run queries, saves and branch switches on a large tree for hours, and check errors, memory growth and lower
phases.

    python benchmarks/large/soak.py kernel=FOLDER [--index DATA] [--minutes 120] [--clients 4]
            [--switched 2000] [--every 120] [--pause 4] [--kept DIR] [--output FILE]

It works on a copy of FOLDER that is a git repository with two branches, which differ in `--switched` files;
every `--every` seconds it switches to the other branch. A save a second is made and undone. `--index` is a
data folder with an index of FOLDER, which is copied; otherwise the copy is indexed first, half an hour for
the kernel. `--kept` keeps copy and index for the next run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    # A script's own folder is on the path; these modules are in its parent.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from engine.figures import Figures, milliseconds, run_conditions
from engine.index_file import opened
from engine.place import Place, git, make_data_folder
from engine.wording import questions
from serving.clients import Rest
from serving.server import Server, serving
from soak import Soak, figures, wait_until_ready

from large.copies import take_index
from large.in_process import tree_and_folder
from large.sets import read_sets

_SUFFIXES = {"kernel": frozenset({".c"}), "jdk": frozenset({".java"})}
_LANGUAGES = {"kernel": "c", "jdk": "java"}
_BRANCHES = ("main", "other")
_OTHER_WORD = "branchword"
"""The first part of the additional word in each changed file of the other branch."""
_TAKEN_IN_SECONDS = 120.0
"""The limit after which a switch, or a save during it, counts as missing from the index."""
_LOOKED_FOR = 3
"""The number of switched files to search for, besides the first and the last."""
_AGAIN_SECONDS = 0.25
_READY_SECONDS = 3 * 3600.0
_STATUS_SECONDS = 15.0
_FLAT = 0.10
"""The allowed growth of the mean memory from the middle third to the last third."""
_QUESTIONS = 100
"""The number of queries of adjacent words in the tree, besides those of the sets."""
_FULL = 3


class LargeSoak(Soak):
    """One run. Saves avoid files outside the index, and files that differ between the branches, which git
    would not switch."""

    def __init__(
        self,
        tree: str,
        server: Server,
        place: Place,
        queries: list[str],
        seed: int,
        *,
        every: float,
        pause: float,
    ) -> None:
        self.language, self.suffixes = _LANGUAGES[tree], _SUFFIXES[tree]
        self.pause_seconds, self.found_seconds = pause, _TAKEN_IN_SECONDS
        self._every = every
        self._switched = switched_files(place.tree)
        super().__init__(server, place, queries, seed)
        self.switches: list[float] = []
        """Seconds from the start of each `git checkout` until its changes are in the index."""
        self.lower: int = 0
        """The number of searches answered in a phase below the full one."""
        self.broken_off: int = 0

    def _chosen(self, files: list[Path]) -> list[Path]:
        with opened(self._place.data) as index:
            usable = {self._place.tree / path for path in index.text_paths()}
        usable -= {self._place.tree / path for path in self._switched}
        return [file for file in files if file in usable]

    def _work(self) -> list[Callable[[], None]]:
        return [self._noted(each) for each in (*super()._work(), self._switch, self._watch)]

    def _noted(self, work: Callable[[], None]) -> Callable[[], None]:
        """Wrap the work so that an exception becomes an error of the run."""

        def noted() -> None:
            try:
                work()
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is what this is for
                self._note(f"{work.__name__}: {type(problem).__name__}: {problem}")

        return noted

    def _check(self, kind: str, answer: dict[str, Any]) -> None:
        super()._check(kind, answer)
        self.broken_off += bool(answer["brokenOff"])
        if (phase := answer["retrieval"]["phase"]) < _FULL:
            self.lower += 1
            if self.lower == 1:
                self._note(f"{kind}: a search was answered in phase {phase}: {answer['retrieval']['reason']}")

    def _switch(self) -> None:
        """Switch to the other branch and back, as long as the run lasts."""
        drawn, number = random.Random(self._seed), 0
        while not self._stop.wait(self._every):
            rest = Rest(self._server)  # The server closes idle connections.
            number += 1
            branch = _BRANCHES[number % 2]
            began = time.monotonic()
            git(self._place.tree, "checkout", "--quiet", branch)
            paths = {self._switched[0], self._switched[-1], *drawn.sample(self._switched, _LOOKED_FOR)}
            deadline = began + _TAKEN_IN_SECONDS
            late = [
                path for path in sorted(paths) if not self._is_taken_in(rest, path, number % 2 == 1, deadline)
            ]
            if self._stop.is_set():
                return
            if late:
                self._note(
                    f"{late} of {branch} were not in the index {_TAKEN_IN_SECONDS:g} s after the switch"
                )
            else:
                self.switches.append(round(time.monotonic() - began, 2))

    def _is_taken_in(self, rest: Rest, path: str, is_other: bool, deadline: float) -> bool:
        """Wait until a file is found by its word of the other branch, or until it is no longer found."""
        word = word_of(path, self._switched)
        while time.monotonic() < deadline and not self._stop.is_set():
            found = rest.ask("search", {"query": f'"{word}"'})["results"]
            if is_other == any(result["path"] == path and word in result["snippet"] for result in found):
                return True
            self._stop.wait(_AGAIN_SECONDS)
        return False

    def _watch(self) -> None:
        """Record the problems in the status."""
        rest = Rest(self._server)
        while not self._stop.wait(_STATUS_SECONDS):
            status = rest.ask("status", {})
            if status["lastError"] or status["phase"] < _FULL:
                self._note(f"status: phase {status['phase']}, {status['lastError']}")


def word_of(path: str, switched: Sequence[str]) -> str:
    """Return the word that a file has on the other branch alone."""
    return f"{_OTHER_WORD}{switched.index(path)}x"


def switched_files(repository: Path) -> list[str]:
    """Return the files in which the two branches differ, sorted."""
    return sorted(git(repository, "diff", "--name-only", *_BRANCHES).splitlines())


def make_branches(tree: Path, suffixes: frozenset[str], count: int, seed: int) -> None:
    """Make `tree` a git repository whose branch `other` has one more word in each of `count` random files."""
    git(tree, "init", "--quiet", "--initial-branch", _BRANCHES[0])
    files = sorted(
        path.relative_to(tree).as_posix()
        for path in tree.rglob("*")
        if path.suffix in suffixes and path.is_file() and not path.is_symlink()
    )
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "--quiet", "--message", "The tree")
    git(tree, "checkout", "--quiet", "-b", _BRANCHES[1])
    drawn = sorted(random.Random(seed).sample(files, min(count, len(files))))
    for path in drawn:
        with (tree / path).open("ab") as file:
            file.write(f"\n/* {word_of(path, drawn)} */\n".encode())
    git(tree, "commit", "--quiet", "--all", "--message", "A word more")
    git(tree, "checkout", "--quiet", _BRANCHES[0])


@contextmanager
def place_of(
    tree: str, folder: Path, index: Path | None, kept_folder: Path | None, count: int, seed: int
) -> Iterator[Place]:
    """Yield the copy with its branches and its data folder, in `kept` or a temporary folder; its files are as
    they were at the end."""
    with tempfile.TemporaryDirectory(prefix="cairn-soak-") as temporary:
        home = (kept_folder or Path(temporary)).resolve() / f"{tree}-{count}"
        place = Place(home / "tree" / folder.name, home / "data")
        if not place.data.exists():
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(folder, place.tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            make_branches(place.tree, _SUFFIXES[tree], count, seed)
            if index:
                take_index(index, place.tree, place.data)
            else:
                make_data_folder(place.data)
        try:
            yield place
        finally:
            place.restore()
            git(place.tree, "checkout", "--quiet", _BRANCHES[0])


def growth(samples: Sequence[Figures]) -> float:
    """Return the relative growth of memory from the middle third to the last third of the samples; 0 for
    fewer than three."""
    third = len(samples) // 3
    if not third:
        return 0.0
    rss = [float(sample["rss_mb"]) for sample in samples]
    return statistics.fmean(rss[-third:]) / statistics.fmean(rss[third:-third]) - 1


def main() -> None:
    options = _arguments()
    tree, folder = options.tree
    before = run_conditions()
    try:
        with (
            place_of(
                tree, folder.resolve(), options.index, options.kept, options.switched, options.seed
            ) as place,
            serving(place.tree, place.data) as server,
        ):
            wait_until_ready(server, _READY_SECONDS)
            queries = [each.query for each in read_sets(tree)]
            queries += questions(place.tree, _QUESTIONS, random.Random(options.seed))
            soak = LargeSoak(
                tree, server, place, queries, options.seed, every=options.every, pause=options.pause
            )
            soak.run(options.clients, options.minutes)
            status = Rest(server).ask("status", {})
    except (subprocess.CalledProcessError, TimeoutError) as problem:
        sys.exit(str(problem))
    options.folder = folder
    entry = {**figures(soak, status, options), **_more(soak, status)}
    entry["met"] = not soak.errors and entry["growth"] <= _FLAT and not entry["steps_down"]
    shown = json.dumps({"conditions": before, **entry}, indent=2)
    print(shown)
    if options.output:
        options.output.write_text(shown + "\n", encoding="utf-8")
    sys.exit(0 if entry["met"] else 1)


def _more(soak: LargeSoak, status: dict[str, Any]) -> Figures:
    changes = status["retrieval"]["recent"]["phaseChanges"]
    return {
        "growth": round(growth(soak.samples), 3),
        "pause_s_at_most": soak.pause_seconds,
        "switches": len(soak.switches),
        "switch_s": {
            name: value / 1000 for name, value in milliseconds(soak.switches).items() if name != "n"
        },
        "answers_in_a_lower_phase": soak.lower,
        "answers_with_a_leg_broken_off": soak.broken_off,
        "steps_down": [change["reason"] for change in changes if change["after"] < change["before"]],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=tree_and_folder, metavar="TREE=FOLDER")
    parser.add_argument("--index", type=Path, help="a data folder with an index of FOLDER")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument(
        "--switched", type=int, default=2_000, help="number of files in which the branches differ"
    )
    parser.add_argument("--every", type=float, default=120.0, help="seconds between two switches")
    parser.add_argument(
        "--pause", type=float, default=4.0, help="seconds between two requests of a client, at most"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="keep copy and index here")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
