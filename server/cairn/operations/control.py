"""Lets a process control another process that indexes a folder.

The processes of a folder share only the index file, so requests to the writer are stored in it. An idle
writer reads them within a second, a busy one after its current step.
"""

from __future__ import annotations

import time
from pathlib import Path

from cairn.errors import IndexUnavailableError
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.coordination import RequestKind, is_locked, leave_request
from cairn.operations.places import require_directory
from cairn.paths import workspace_dir

_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 60.0
_ALIVE_SECONDS = 1.0
"""The interval at which to check whether the writer is still alive."""


def is_being_indexed(folder: Path) -> bool:
    """Return whether any process keeps the index of `folder` up to date."""
    return is_locked(workspace_dir(folder))


def set_paused(folder: Path, paused: bool) -> None:
    """Make the process that indexes `folder` pause or resume. Raise IndexUnavailableError if that fails, or
    if that process does not answer within a minute."""
    require_directory(folder)
    data = workspace_dir(folder)
    reader = SqliteReader(data)
    kind = RequestKind.PAUSE if paused else RequestKind.RESUME
    is_requested, next_check, ends = False, 0.0, time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < ends:
        if time.monotonic() >= next_check:
            if not is_being_indexed(folder):
                raise IndexUnavailableError(
                    f"no process is indexing {folder.resolve()}; open it in an editor, or run `cairn index`"
                )
            next_check = time.monotonic() + _ALIVE_SECONDS
        if bool(reader.facts().paused) == paused and not reader.has_requests():
            return
        is_requested = is_requested or leave_request(data, kind, "") is not None
        time.sleep(_POLL_SECONDS)
    raise IndexUnavailableError(
        f"the process that is indexing {folder.resolve()} does not answer; it may have been stopped"
    )
