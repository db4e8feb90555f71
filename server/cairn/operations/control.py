"""Steers, from outside, the process that indexes a folder: an editor's daemon, or `cairn index` elsewhere.

The index file is all that the processes of a folder share: what is asked of the one that writes is left there,
and it takes that up within a second while it is idle, or after the step it is at.
"""

from __future__ import annotations

import time
from pathlib import Path

from cairn.errors import IndexUnavailableError
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.lock import is_held
from cairn.index.store.requests import RequestKind, leave_request
from cairn.operations.places import require_directory
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
    require_directory(folder)
    data = workspace_dir(folder)
    reader = SqliteReader(data)
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
