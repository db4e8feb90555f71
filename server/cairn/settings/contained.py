"""Untrusted paths: a workspace's settings file and a request may only name files in the workspace."""

from __future__ import annotations

import ntpath
import os
from collections.abc import Iterable
from pathlib import Path


def contained(named: str, roots: Iterable[Path]) -> Path:
    """Return the real path of the file `named` in one of the folders `roots`.

    Relative paths are relative to the folders; `~` has no special meaning. Cairn does not access anything
    outside of the folders, not even to see whether it exists: on Windows, access to a file of another machine
    (`\\\\host\\share`) would reveal the user to that machine. Raise ValueError saying what is wrong.
    """
    real: Path | None = None
    for root in roots:
        real = _inside(named, root)
        if real is not None and os.path.isfile(real):  # noqa: PTH113 - Path's raises for a name that is too long
            return real
    if real is None:
        raise ValueError("it is not in the workspace folder")
    raise ValueError("it is not a regular file")


def _inside(named: str, root: Path) -> Path | None:
    """Return the real path of `named` if it is in the folder, else None."""
    drive = ntpath.splitdrive(named)[0].replace("/", "\\")
    is_remote = drive.startswith("\\\\")  # Windows reads this as another machine or a device.
    if "\0" in named or is_remote:
        return None
    # normpath resolves `..` without access to the file system.
    written = Path(os.path.normpath(root / named))
    places = {root, root.resolve()}
    if not any(written.is_relative_to(place) for place in places):
        return None
    try:
        real = written.resolve()
    except (OSError, RuntimeError):  # The links form a circle.
        return None
    return real if real.is_relative_to(root.resolve()) else None
