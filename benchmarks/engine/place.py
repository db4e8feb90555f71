"""Prepares the place of a row: a copy of the corpus, which the row may change, and a data folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from cairn.paths import data_dir

_MODELS, _GRAMMARS = "models", "grammars"
"""Folders that are unpacked once for each machine, not for each workspace."""


@frozen
class Place:
    """A tree and the data folder of the daemons that index it."""

    tree: Path
    data: Path
    _originals: dict[Path, tuple[bytes, int] | None] = field(factory=dict)
    """The content and times (ns) of changed files before their change; None for those that did not exist."""

    def write(self, path: Path, content: bytes) -> None:
        """Write a file of the tree; `restore` undoes it."""
        self._remember(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def append(self, path: Path, text: str) -> None:
        """Append to a file of the tree; `restore` undoes it."""
        self.write(path, path.read_bytes() + text.encode())

    def remove(self, path: Path) -> None:
        """Remove a file of the tree; `restore` undoes it."""
        self._remember(path)
        path.unlink()

    def changed(self) -> list[Path]:
        """Return the files written or removed since the last `restore`, in order of first change."""
        return list(self._originals)

    def restore(self) -> None:
        """Restore the tree, with its times."""
        for path, original in self._originals.items():
            if original is None:
                path.unlink(missing_ok=True)
                if path.parent.is_dir() and not any(path.parent.iterdir()):
                    path.parent.rmdir()  # The folder was made for the file.
            else:
                path.write_bytes(original[0])
                os.utime(path, ns=(original[1], original[1]))
        self._originals.clear()

    def _remember(self, path: Path) -> None:
        if path not in self._originals:
            there = path.exists()
            self._originals[path] = (path.read_bytes(), path.stat().st_mtime_ns) if there else None

    def other_data(self, name: str, copied: bool = False) -> Path:
        """Yield a further temporary data folder beside the first, empty or a copy of it."""
        folder = self.data.with_name(f"{self.data.name}-{name}")
        shutil.rmtree(folder, ignore_errors=True)
        if copied:
            shutil.copytree(self.data, folder, symlinks=True)
        else:
            make_data_folder(folder)
        return folder


@contextmanager
def place_for(corpus: Path, kept_folder: Path | None, fresh: bool = False) -> Iterator[Place]:
    """Return a place with a copy of `corpus`: in `kept`, where a later run finds tree and index again, or in
    a temporary folder.

    With `fresh` the index starts empty even in `kept`.
    """
    with tempfile.TemporaryDirectory(prefix="cairn-benchmark-") as temporary:
        home = (kept_folder / corpus.name if kept_folder else Path(temporary)).resolve()
        place = Place(home / "tree" / corpus.name, home / "data")
        if not place.tree.exists():
            unfinished = home / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(corpus, unfinished, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            place.tree.parent.mkdir(parents=True, exist_ok=True)
            unfinished.rename(place.tree)
        if fresh or not place.data.exists():
            shutil.rmtree(place.data, ignore_errors=True)
            make_data_folder(place.data)
        try:
            yield place
        finally:
            place.restore()
            for folder in place.data.parent.glob(f"{place.data.name}-*"):
                shutil.rmtree(folder)


@contextmanager
def kept_or_temporary(kept_folder: Path | None) -> Iterator[Path]:
    """Yield `kept`, or a temporary folder if that is None."""
    if kept_folder:
        yield kept_folder.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="cairn-benchmark-") as temporary:
            yield Path(temporary).resolve()


def make_data_folder(folder: Path) -> None:
    """Make an empty data folder that shares the unpacked grammars."""
    folder.mkdir(parents=True)
    real = data_dir().resolve() / _GRAMMARS
    real.mkdir(parents=True, exist_ok=True)
    (folder / _GRAMMARS).symlink_to(real, target_is_directory=True)


def git(folder: Path, *arguments: str) -> str:
    """Run git and return its output; raises CalledProcessError."""
    settings = ("user.name=benchmark", "user.email=benchmark@localhost", "gc.auto=0", "core.autocrlf=false")
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout
