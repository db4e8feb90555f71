"""Collects what the web page about the index shows: contents, writer, progress, health and timings.

A team's store knows only the commits that `cairn team index` indexed, not later pushes. So its overview shows
the age of the indexed commit, and whether a newer commit of another branch is indexed. How many commits a
clone is ahead is known only on the machine with the clone, in the overview of that folder.
"""

from __future__ import annotations

import datetime
import os
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from attrs import frozen

from cairn import protocol
from cairn.engine.background_value import WAIT_SECONDS, BackgroundValue
from cairn.engine.folders import Folder
from cairn.engine.left_out import LeftOut, left_out
from cairn.engine.request import Request
from cairn.engine.status import status_of
from cairn.index.indexing.folder_state import QueryGate
from cairn.index.indexing.indexer import Role
from cairn.index.reader.index_memory import IndexMemory
from cairn.index.reader.records import LanguageStats
from cairn.index.store.coordination import holder
from cairn.index.store.database import DATABASE_NAME
from cairn.operations.health import Health, TeamOverview, health_of, team_health
from cairn.operations.recent_queries import Timings, logged_timings

_FRESH_SECONDS = 60.0


@frozen
class Writer:
    """The process that keeps an index up to date."""

    here: bool
    pid: int | None
    command: str
    since: datetime.datetime | None
    """The start time; None if unknown."""


@frozen
class FolderOverview:
    """One folder, or one repository of a team's index."""

    uri: str
    label: str
    generation: int
    files: int
    chunks: int
    size: int | None
    """The size of the index on this disk in bytes; None for a team's index."""
    writer: Writer | None
    """The process that writes the index; None without one, and for a team's index."""
    shares: tuple[LanguageStats, ...] | None
    """The contents by collection and language; None until the first count ends."""
    left_out: LeftOut | None
    """The excluded files; None until the first count ends, and always for a team's index."""
    revision: protocol.Revision | None
    """The indexed commit of a team's index; None for a local index."""


@frozen
class Overview:
    at: datetime.datetime
    health: Health
    status: protocol.StatusAnswer
    folders: tuple[FolderOverview, ...]
    """The open folders. Empty for a team's index with more repositories than one request can search."""
    timings: Timings
    is_logged: bool
    """Whether the timings are those of all processes, from the log. Otherwise they are this process's."""
    team: TeamOverview | None
    is_changing: bool
    """Whether the figures will change soon, because indexing or counting runs."""


_CACHE: WeakKeyDictionary[IndexMemory, BackgroundValue[tuple[LanguageStats, ...]]] = WeakKeyDictionary()


def overview(request: Request) -> Overview:
    """Return the overview within 200 ms. Counts that take longer are None at first."""
    now = datetime.datetime.now(datetime.UTC)
    status, team = status_of(request), request.overview() if request.overview else None
    deadline = time.monotonic() + WAIT_SECONDS
    folders = tuple(_folder(folder, request.host.gate, deadline) for folder in request.folders)
    timings, is_logged = _timings(request)
    slow_ms = request.settings.retrieval.kill_switch.p95_ms
    health = health_of(status, timings, slow_ms) if team is None else team_health(team, timings, slow_ms, now)
    is_counting = any(map(_is_counting, folders)) or (team is not None and team.servers is None)
    is_at_work = team is None and status.state in ("starting", "indexing")
    is_changing = is_counting or (is_at_work and not status.paused)
    return Overview(now, health, status, folders, timings, is_logged, team, is_changing)


def _is_counting(folder: FolderOverview) -> bool:
    return folder.shares is None or (folder.revision is None and folder.left_out is None)


def _folder(folder: Folder, gate: QueryGate, deadline: float) -> FolderOverview:
    stats, facts = folder.reader.stats(), folder.reader.saved.facts()
    is_here = folder.revision is None
    return FolderOverview(
        uri=folder.uri,
        label=folder.label,
        generation=facts.generation,
        files=stats.files_indexed,
        chunks=facts.chunks,
        size=_size(folder.data) if is_here else None,
        writer=_writer(folder) if is_here else None,
        shares=_shares(folder, deadline),
        left_out=left_out(folder, gate, deadline) if is_here else None,
        revision=folder.revision,
    )


def _shares(folder: Folder, deadline: float) -> tuple[LanguageStats, ...] | None:
    reader = folder.reader.saved
    counts = _CACHE.setdefault(reader.memory, BackgroundValue())
    version = (reader.identity(), reader.facts().content)
    return counts.get(version, reader.languages, _FRESH_SECONDS, deadline - time.monotonic())


def _size(data: Path) -> int:
    """Return the size in bytes of the index and its write-ahead log."""
    size = 0
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm"):
        with suppress(OSError):
            size += (data / name).stat().st_size
    return size


def _writer(folder: Folder) -> Writer | None:
    here = folder.role is Role.WRITER
    if not (here or folder.is_kept):
        return None
    noted = holder(folder.data)
    if here and (noted is None or noted.pid != os.getpid()):
        return Writer(True, os.getpid(), "", None)
    if noted is None:
        return Writer(False, None, "", None)
    return Writer(here, noted.pid, noted.command, datetime.datetime.fromtimestamp(noted.since, datetime.UTC))


def _timings(request: Request) -> tuple[Timings, bool]:
    """Return the latest timings, and whether they cover all processes."""
    logs = [
        folder.data
        for folder in request.folders
        if request.caller.takes_changes and folder.settings().log.queries
    ]
    return (logged_timings(logs), True) if logs else (request.caller.timings.timings(), False)
