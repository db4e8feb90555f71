"""Files that somebody else names: a workspace's own file or a request may reach into the workspace, and no further."""

from __future__ import annotations

import ntpath
import os
from collections.abc import Iterable
from pathlib import Path


def contained(named: str, roots: Iterable[Path]) -> Path:
    """The real path of the file that `named` names in one of the folders `roots`.

    Relative paths are relative to the folders; `~` is a name like any other. Nothing outside of the folders is looked
    at, not even whether it is there: on Windows, looking at a file of another machine (`\\\\host\\share`) would tell
    that machine who asks. Raises ValueError saying what is wrong.
    """
    real: Path | None = None
    for root in roots:
        real = _inside(named, root)
        if real is not None and os.path.isfile(real):  # noqa: PTH113 - Path's raises for a name that is too long
            return real
    if real is None:
        raise ValueError("it does not lie in the workspace folder")
    raise ValueError("it is not a regular file")


def _inside(named: str, root: Path) -> Path | None:
    """Where the path leads, if that is in the folder."""
    drive = ntpath.splitdrive(named)[0].replace("/", "\\")
    if "\0" in named or drive.startswith(
        "\\\\"
    ):  # what Windows takes for a path of another machine, or a device
        return None
    # Without asking the file system, so that `..` leads nowhere.
    written = Path(os.path.normpath(root / named))
    places = {root, root.resolve()}
    if not any(written.is_relative_to(place) for place in places):
        return None
    try:
        real = written.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return None
    return real if real.is_relative_to(root.resolve()) else None
