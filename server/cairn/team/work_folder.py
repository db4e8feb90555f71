"""Temporary folders of runs. Each run also deletes the folders that killed runs have left."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from cairn.paths import data_dir, private_folder


def team_dir() -> Path:
    """Return the folder for clones and temporary folders of team indexing."""
    return data_dir() / "team"


@contextmanager
def work_folder() -> Iterator[Path]:
    """Create an empty folder for this run, and delete it at the end. First delete those of killed runs."""
    parent = team_dir() / "work"
    private_folder(parent)
    for left in parent.glob("*.lock"):
        _delete_if_left(left)
    folder = parent / secrets.token_hex(8)
    lock = FileLock(folder.with_suffix(".lock"))
    with lock:
        private_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            Path(lock.lock_file).unlink(missing_ok=True)


def _delete_if_left(lock_file: Path) -> None:
    """Delete a run's folder unless the run still has its lock, which ends with its process."""
    try:
        with FileLock(lock_file, timeout=0):
            shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
            lock_file.unlink(missing_ok=True)
    except Timeout:
        return
