"""All that a page about the index shows: what is in it, who writes it, how far it is, and how questions are answered."""

from __future__ import annotations

import datetime
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attrs import frozen

from cairn import protocol
from cairn.engine.folders import Folder
from cairn.engine.in_background import WAIT_SECONDS, InBackground
from cairn.engine.index_health import IndexHealth, health_of, team_health
from cairn.engine.left_out import LeftOut, left_out
from cairn.engine.status import status_of
from cairn.engine.team_overview import TeamOverview
from cairn.index.indexing.folder_state import QueryGate
from cairn.index.indexing.indexer import Role
from cairn.index.reader.connection import IndexMemory
from cairn.index.reader.records import LanguageStats
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.lock import holder
from cairn.operations.logged_timings import logged_timings
from cairn.operations.timings import Timings

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

_FRESH_SECONDS = 60.0
"""The counts of a large index are made anew after this long at the earliest; the reader keeps them anyway."""


@frozen
class Share:
    """What of an index is in one collection and one language."""

    collection: str
    language: str
    """Empty for text in no language that is known."""
    files: int
    """Files with a passage in the language; one that has several counts for each."""
    chunks: int


@frozen
class Writer:
    """The process that keeps an index up to date."""

    here: bool
    """Whether it is this one."""
    pid: int | None
    """None where the process does not say."""
    command: str
    since: datetime.datetime | None
    """When it began."""


@frozen
class FolderOverview:
    """One folder, or one repository of a team's index."""

    uri: str
    label: str
    """What people are told it is called."""
    generation: int
    files: int
    chunks: int
    size: int | None
    """Bytes of the index on this disk; None where it lies in a team's database."""
    writer: Writer | None
    """None where nobody writes it, or a team's index is read."""
    shares: tuple[Share, ...] | None
    """None while they are counted for the first time."""
    left_out: LeftOut | None
    """None while it is counted for the first time, and of what a team's index leaves out, which is not known there."""
    revision: protocol.Revision | None
    """The commit that a team's index has of it."""


@frozen
class Overview:
    """The whole page, at one moment."""

    at: datetime.datetime
    health: IndexHealth
    status: protocol.StatusAnswer
    folders: tuple[FolderOverview, ...]
    """Empty for a team's index that has more repositories than are searched at once."""
    timings: Timings
    is_logged: bool
    """Whether the timings are those of all processes, from the log; else those of this process since it began."""
    team: TeamOverview | None
    is_changing: bool
    """Whether something is going on that changes the figures soon."""


_COUNTED: WeakKeyDictionary[IndexMemory, InBackground[tuple[LanguageStats, ...]]] = WeakKeyDictionary()


def overview(engine: Engine) -> Overview:
    """What there is to show of the folders that the engine is over, within 200 ms: what takes longer is None until it is there."""
    now = datetime.datetime.now(datetime.UTC)
    status, team = status_of(engine), engine.team_overview()
    waits_until = time.monotonic() + WAIT_SECONDS
    folders = tuple(_folder(folder, engine.gate, waits_until) for folder in engine.folders)
    timings, is_logged = _timings(engine)
    slow_ms = engine.settings().retrieval.kill_switch.p95_ms
    health = (
        health_of(status, timings, slow_ms, is_written=all(each.writer or each.revision for each in folders))
        if team is None
        else team_health(team, timings, slow_ms, now)
    )
    counting = any(_is_counted(each) for each in folders) or (team is not None and team.servers is None)
    at_work = team is None and (status.state in ("starting", "indexing") or bool(status.remaining))
    return Overview(
        now, health, status, folders, timings, is_logged, team, counting or (at_work and not status.paused)
    )


def _is_counted(folder: FolderOverview) -> bool:
    """Whether something of it is being counted."""
    return folder.shares is None or (folder.revision is None and folder.left_out is None)


def _folder(folder: Folder, gate: QueryGate, waits_until: float) -> FolderOverview:
    stats, facts = folder.reader.stats(), folder.reader.saved.facts()
    is_here = folder.revision is None
    return FolderOverview(
        uri=folder.uri,
        label=folder.label,
        generation=facts.generation,
        files=stats.files_indexed,
        chunks=facts.chunks,
        size=_size(folder.indexer.data) if is_here else None,
        writer=_writer(folder) if is_here else None,
        shares=_shares(folder, waits_until),
        left_out=left_out(folder, gate, waits_until) if is_here else None,
        revision=folder.revision,
    )


def _shares(folder: Folder, waits_until: float) -> tuple[Share, ...] | None:
    reader = folder.reader.saved
    counted = _COUNTED.setdefault(reader.memory, InBackground())
    version = (reader.identity(), reader.facts().content)
    found = counted.get(version, reader.languages, _FRESH_SECONDS, waits_until - time.monotonic())
    if found is None:
        return None
    return tuple(Share(each.collection, each.language, each.files, each.chunks) for each in found)


def _size(data: Path) -> int:
    """Bytes of the index with its log."""
    size = 0
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm"):
        with suppress(OSError):
            size += (data / name).stat().st_size
    return size


def _writer(folder: Folder) -> Writer | None:
    indexer = folder.indexer
    here = indexer.role is Role.WRITER
    if not (here or indexer.writer_is_alive()):
        return None
    noted = holder(indexer.data)
    if here and (noted is None or noted.pid != os.getpid()):
        return Writer(True, os.getpid(), "", None)
    if noted is None:
        return Writer(False, None, "", None)
    return Writer(here, noted.pid, noted.command, datetime.datetime.fromtimestamp(noted.since, datetime.UTC))


def _timings(engine: Engine) -> tuple[Timings, bool]:
    """The latest questions, and whether they are those of all processes."""
    logs = [
        folder.indexer.data
        for folder in engine.folders
        if engine.takes_changes and folder.settings().log.queries
    ]
    return (logged_timings(logs), True) if logs else (engine.fallback.timings.timings(), False)
