"""All or nothing on disk: a model is prepared in a hidden folder beside the others, then renamed into place.

A reader therefore sees either no model, or a complete one, whatever kills an installation.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from cairn.embedding.model_files import models_dir
from cairn.errors import ModelError

# Model names cannot start with a dot, so neither of these is ever taken for a model.
_LOCK_FILE = ".install.lock"
_PARTIAL_PREFIX = ".partial-"


@contextlib.contextmanager
def staging_folder(report: Callable[[str], None]) -> Iterator[Path]:
    """An empty folder on the models' own disk, held by this installation alone and removed at the end.

    Waits (and says so) while another installation runs; a dead one holds nothing, and its rest is removed.
    Raises ModelError if the disk does not do its part here or in the block.
    """
    try:
        models_dir().mkdir(parents=True, exist_ok=True)
        with _exclusive(report):
            _remove_leftovers()
            staging = Path(tempfile.mkdtemp(prefix=_PARTIAL_PREFIX, dir=models_dir()))
            try:
                yield staging
            finally:
                # What is still open on Windows stays; the next installation removes it.
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as problem:
        raise ModelError(
            f"The model cannot be written: {problem}. Check the free space and the permissions of"
            f" {models_dir()}, or set CAIRN_DATA_DIR to another folder."
        ) from problem


def put_in_place(prepared: Path, name: str) -> Path:
    """Rename the folder `prepared`, a child of the staging folder, to the model's own; returns that.

    A model of the same name is replaced. Must run inside `staging_folder`. Raises OSError.
    """
    # A rename may reach the disk before the data does; after a power cut the files would be empty.
    for path in prepared.iterdir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    place = models_dir() / name
    if place.exists():
        place.rename(prepared.with_name("replaced"))
    prepared.rename(place)
    return place


@contextlib.contextmanager
def _exclusive(report: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(models_dir() / _LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("Waiting for another installation to end")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _remove_leftovers() -> None:
    for folder in models_dir().glob(f"{_PARTIAL_PREFIX}*"):
        # The owner is dead, or it would hold the lock. Its pip may live on for a moment and write here, so a
        # folder that cannot be removed now is left to the next installation.
        shutil.rmtree(folder, ignore_errors=True)
