"""Progress reports of long indexing work to an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from lsprotocol import types
from pygls.progress import Progress

from cairn.engine.status import IndexingProgress
from cairn.index.indexing.folder_state import Activity
from cairn.lsp.editor_connection import show_progress


class Shown(Progress):
    """A client that accepts and records everything."""

    def __init__(self) -> None:
        self.tokens: dict[types.ProgressToken, Future[None]] = {}
        self.announced: list[types.ProgressToken] = []
        self.percentages: list[int | None] = []
        self.ended = asyncio.Event()

    async def create_async(self, token: types.ProgressToken) -> asyncio.Future[None]:
        self.tokens[token] = Future()
        self.announced.append(token)
        return asyncio.get_running_loop().create_future()

    def begin(self, token: types.ProgressToken, value: types.WorkDoneProgressBegin) -> None:
        self.percentages.append(value.percentage)

    def report(self, token: types.ProgressToken, value: types.WorkDoneProgressReport) -> None:
        self.percentages.append(value.percentage)

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        self.ended.set()


def progress(activity: Activity, total: int, done: int, queued: int, scanned: bool) -> IndexingProgress:
    return IndexingProgress(
        activity=activity,
        files_total=total,
        files_done=done,
        chunks=4 * done,
        texts_queued=queued,
        texts_per_second=0.0,
        seconds_left=None,
        scanned=scanned,
        complete=activity is Activity.IDLE,
        answers_fully=activity is Activity.IDLE,
        problem=None,
    )


ALL_IS_INDEXED = progress(Activity.IDLE, 1000, 1000, 0, True)
ONE_FILE_IS_READ = progress(Activity.READING, 1000, 999, 0, True)


def stretch() -> Iterator[IndexingProgress]:
    """Yield the progress of a scan that already reads files, then of reading, then of vectors."""
    yield from [progress(Activity.SCANNING, 0, 0, 0, False)] * 2
    yield progress(Activity.SCANNING, 0, 90, 60, False)
    yield progress(Activity.READING, 1000, 500, 2000, False)
    yield progress(Activity.EMBEDDING, 1000, 1000, 4000, True)
    yield progress(Activity.EMBEDDING, 1000, 1000, 2000, True)
    yield ALL_IS_INDEXED


@pytest.mark.asyncio
async def test_bar_grows_from_zero_during_the_scan() -> None:
    client, changed, work = Shown(), asyncio.Event(), stretch()
    changed.set()

    async def ask() -> IndexingProgress:
        return next(work)

    showing = asyncio.create_task(show_progress(client, ask, changed))
    await asyncio.wait_for(client.ended.wait(), 60)
    showing.cancel()
    assert client.percentages == [0, 2, 5, 52]


@pytest.mark.asyncio
async def test_short_work_is_not_shown() -> None:
    client, changed, work = Shown(), asyncio.Event(), iter([ONE_FILE_IS_READ, ALL_IS_INDEXED])
    looked_again = asyncio.Event()

    async def ask() -> IndexingProgress:
        now = next(work, ALL_IS_INDEXED)
        if now is ALL_IS_INDEXED:
            looked_again.set()
        return now

    changed.set()
    showing = asyncio.create_task(show_progress(client, ask, changed))
    await asyncio.wait_for(looked_again.wait(), 60)
    looked_again.clear()
    changed.set()  # The second check begins only after the decision of the first.
    await asyncio.wait_for(looked_again.wait(), 60)
    showing.cancel()
    assert client.announced == []
