"""Steers, from outside, the process that indexes a folder: an editor's daemon, or `cairn index` elsewhere.

The index file is all that the processes of a folder share: what is asked of the one that writes is left there,
and it takes that up within a second while it is idle, or after the step it is at.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from cairn.errors import IndexUnavailableError, InvalidRequestError
from cairn.index.store.lock import is_held
from cairn.index.store.reader import IndexReader
from cairn.index.store.requests import RequestKind, leave_request
from cairn.paths import workspace_dir

_POLL_SECONDS = 0.05
_ALIVE_SECONDS = 1.0
"""How often to look whether the process that was asked still lives."""


def is_being_indexed(folder: Path) -> bool:
    """Whether some process keeps the index of `folder` up to date now."""
    return is_held(workspace_dir(folder))


def set_paused(folder: Path, paused: bool) -> None:
    """Have the process that indexes `folder` stop, or go on, and wait until it does.

    Raises IndexUnavailableError where nobody indexes it, or the data folder cannot be written.
    """
    _require_directory(folder)
    data = workspace_dir(folder)
    reader = IndexReader(data)
    kind = RequestKind.PAUSE if paused else RequestKind.RESUME
    asked, look_at = False, 0.0
    while True:
        if time.monotonic() >= look_at:
            if not is_being_indexed(folder):
                raise IndexUnavailableError(
                    f"nobody is indexing {folder.resolve()}; an editor that has it open does, and `cairn index`"
                )
            look_at = time.monotonic() + _ALIVE_SECONDS
        if bool(reader.facts().paused) == paused and not reader.has_requests():
            return
        asked = asked or leave_request(data, kind, "") is not None
        time.sleep(_POLL_SECONDS)


def path_in(folder: Path, path: Path) -> str:
    """`path`, absolute or relative to the current directory, relative to the workspace `folder`; "" for itself.

    Raises InvalidRequestError if it is not in there. It need not exist.
    """
    _require_directory(folder)
    absolute, root = Path(os.path.abspath(path)), folder.resolve()  # noqa: PTH100 - links are not followed
    shown = Path(os.path.abspath(folder))  # noqa: PTH100
    for place, base in ((absolute, shown), (absolute.parent.resolve() / absolute.name, root)):
        if place.is_relative_to(base):
            relative = place.relative_to(base).as_posix()
            return "" if relative == "." else relative
    raise InvalidRequestError("path", f"{path} is not in the folder {root}; name its folder with -C")


def _require_directory(folder: Path) -> None:
    if not folder.is_dir():
        raise InvalidRequestError("folder", f"{folder} is not a directory that can be read")
