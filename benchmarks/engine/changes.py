"""Rows about changes: from a save to the search that finds it, and from a branch switch to a complete
index."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.daemon import Daemon, all_files_indexed, has_static_vectors, settled
from engine.figures import NOT_AVAILABLE, Figures, Options, medians, milliseconds
from engine.index_file import IndexFile, UnavailableError, opened
from engine.place import Place, git, place_for
from engine.wording import addition, sentence, text_files, vocabulary

_SAVE_SECONDS = 0.150
_SWITCH_SECONDS = 3.0
_SWITCHED_FILES = 500
_BRANCH = "benchmark-other"
_OPEN_SECONDS = 3.0
"""A folder that was just opened is not watched yet."""
_LOST_SECONDS = 30.0
_MOST_LOST = 3
_STATIC_PATIENCE = 300.0
_PATIENCE = 3 * 3600.0


def save(options: Options) -> Figures:
    """Measure the time from the write of a file until a search has the new text, with didSave and without."""
    figures: Figures = {}
    with place_for(options.corpus, options.data) as place:
        for announced in (True, False):
            way = "didSave" if announced else "watcher"
            settings = options.settings(embedding=True, watch=not announced)
            with Daemon(place.tree, place.data, settings) as daemon:
                status = daemon.wait_until(all_files_indexed, _PATIENCE, every=0.5)
                static = has_static_vectors(daemon, _STATIC_PATIENCE)
                figures["chunks"] = status["chunks"]
                status = daemon.wait_until(_only_vectors_left, _PATIENCE, every=0.2)
                figures[f"{way}_while_vectors_are_made"] = not (settled(status) or daemon.pause(True))
                for leg, alpha in (("keyword", 0), ("static", 1)):
                    if leg == "static" and not static:
                        figures[f"{way}_{leg}_ms"] = NOT_AVAILABLE
                        continue
                    count, files = options.count or 40, text_files(place.tree)
                    figures[f"{way}_{leg}_ms"] = saves(
                        daemon, place, files, count, options.seed, announced=announced, alpha=alpha
                    )
            place.restore()
    measured = [value for value in figures.values() if isinstance(value, dict)]
    limit = _SAVE_SECONDS * 1000
    met = all(value["lost"] == 0 and value["p95"] < limit for value in measured)
    return {**figures, "met": met if len(measured) == 4 or not met else None}


def _only_vectors_left(status: dict[str, Any]) -> bool:
    """Return whether the folder was compared and read, so that only a model may have work left."""
    in_background = status.get("activity", "embedding") in ("embedding", "tidying", "idle", "paused")
    return settled(status) or (in_background and all_files_indexed(status) and status["queued"] > 0)


def saves(
    daemon: Daemon, place: Place, files: Sequence[Path], count: int, seed: int, *, announced: bool, alpha: int
) -> Figures:
    """Return milliseconds from each of `count` saves until a search finds it: of one of `files` by keyword,
    or with `alpha` 1 of a new file by meaning."""
    chance = random.Random(f"{seed} {announced} {alpha}")
    words = vocabulary(place.tree, chance)
    took, lost = [], 0
    for number in range(-2, count):  # The first two warm up.
        if lost == _MOST_LOST:
            break
        path = chance.choice(files)
        token = f"saved{chance.randrange(10**9)}"
        about = sentence(words, chance)
        if alpha:
            # The text goes to a file of its own, since not all of a long one is embedded, and to a folder of
            # source files, since the ranking demotes documents and tests. Its words are never the same, or it
            # would have the vector of an earlier run; and none is a number, which has no meaning for the
            # model.
            about = sentence(words, random.Random())
            named = "_".join(about.split()[:4])
            path = place.tree / "made" / f"{named}.py"
            place.write(
                path, f'def {named}():\n    """{about.capitalize()}."""\n    return "{token}"\n'.encode()
            )
        else:
            place.append(path, addition(path, token, about))
        began = time.perf_counter()
        if announced:
            daemon.saved(path)
        query = about if alpha else token
        # By meaning, other signals may put several files before it.
        limit = 50 if alpha else 10
        while not _found(daemon.search(query, alpha=alpha, context=0, limit=limit), place, path, token):
            time.sleep(0.002)
            if time.perf_counter() - began > _LOST_SECONDS:
                lost += 1
                break
        else:
            if number >= 0:
                took.append(time.perf_counter() - began)
        time.sleep(
            chance.uniform(0.3, 0.9)
        )  # The random pause avoids a fixed phase relative to the daemon's timers.
    return {**milliseconds(took), "lost": lost}


def _found(answer: dict[str, Any], place: Place, path: Path, token: str) -> bool:
    wanted = path.relative_to(place.tree).as_posix()
    return any(result["path"] == wanted and token in result["snippet"] for result in answer["results"])


def switch(options: Options) -> Figures:
    """Measure the time from the start of `git checkout` until the index has all files, in both directions."""
    with place_for(options.corpus, options.data) as place:
        settings = options.settings(embedding=True)
        with Daemon(place.tree, place.data, settings) as daemon:
            daemon.wait_until(settled, _PATIENCE, every=1.0)
        with opened(place.data) as index:
            paths = index.text_paths()
            chance = random.Random(options.seed)
            # Only plain text files change: a changed ignore file or manifest changes which files are indexed.
            edited = {path.relative_to(place.tree).as_posix() for path in text_files(place.tree)}
            eligible = [path for path in paths if path in edited]
            changed = chance.sample(eligible, min(_SWITCHED_FILES, len(eligible)))
            home, other = _repository(place, changed, chance)
            runs = []
            with Daemon(place.tree, place.data, settings) as daemon:
                daemon.wait_until(settled, _PATIENCE, every=0.5)
                time.sleep(_OPEN_SECONDS)
                for _ in range(options.runs or 3):
                    there = _checkout(daemon, index, place, _BRANCH, other)
                    runs.append({"there_s": there, "back_s": _checkout(daemon, index, place, "main", home)})
    worst = max(max(run["there_s"], run["back_s"]) for run in runs)
    figures = medians(runs)
    usual = max(figures["there_s"], figures["back_s"])
    return {
        **figures,
        "files": len(changed),
        "worst_s": worst,
        "met": usual < _SWITCH_SECONDS,
    }


def _repository(
    place: Place, changed: list[str], chance: random.Random
) -> tuple[dict[str, int], dict[str, int]]:
    """Make the tree a repository with a second branch; return the sizes of the changed files on both."""
    home = {path: (place.tree / path).stat().st_size for path in changed}
    if not (place.tree / ".git").exists():
        git(place.tree, "init", "--quiet", "--initial-branch=main")
        # Files keep their bytes whatever the tree's own attributes say.
        (place.tree / ".git" / "info" / "attributes").write_text("* -text\n", encoding="utf-8")
        git(place.tree, "add", "--force", "--all")
        git(place.tree, "commit", "--quiet", "--message=as it was")
    words = vocabulary(place.tree, chance)
    elsewhere = place.tree.parent / "other-branch"
    # The second branch is made in its own work tree, so that the first one keeps its times.
    git(place.tree, "worktree", "add", "--quiet", "-B", _BRANCH, str(elsewhere), "main")
    for number, path in enumerate(changed):
        with (elsewhere / path).open("a", encoding="utf-8", newline="") as file:
            file.write(addition(Path(path), f"switched_{number}", sentence(words, chance)))
    git(elsewhere, "commit", "--quiet", "--all", "--message=changed")
    other = {path: (elsewhere / path).stat().st_size for path in changed}
    git(place.tree, "worktree", "remove", "--force", str(elsewhere))
    return home, other


def _checkout(daemon: Daemon, index: IndexFile, place: Place, branch: str, sizes: dict[str, int]) -> float:
    """Return the seconds until the index has the files."""
    began = time.perf_counter()
    running = subprocess.Popen(["git", "-C", str(place.tree), "checkout", "--quiet", branch])
    while index.count_current(sizes) < len(sizes):
        if time.perf_counter() - began > _LOST_SECONDS * 10:
            raise UnavailableError(
                f"{len(sizes) - index.count_current(sizes)} files are missing from the index"
            )
        time.sleep(0.01)
    took = time.perf_counter() - began
    if running.wait():
        raise UnavailableError(f"git could not check out {branch}")
    daemon.wait_until(settled, _PATIENCE, every=0.5)
    return round(took, 3)
