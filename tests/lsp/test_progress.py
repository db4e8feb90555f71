"""What an editor is shown of indexing that takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from lsprotocol import types
from pygls.progress import Progress

from cairn.engine.status import IndexingProgress
from cairn.index.indexing.folder_state import Activity
from cairn.lsp.progress import show_progress


class Shown(Progress):
    """What is sent to a client that accepts everything."""

    def __init__(self) -> None:
        self.tokens: dict[types.ProgressToken, Future[None]] = {}
        self.percentages: list[int | None] = []
        self.ended = asyncio.Event()

    async def create_async(self, token: types.ProgressToken) -> asyncio.Future[None]:
        self.tokens[token] = Future()
        return asyncio.get_running_loop().create_future()

    def begin(self, token: types.ProgressToken, value: types.WorkDoneProgressBegin) -> None:
        self.percentages.append(value.percentage)

    def report(self, token: types.ProgressToken, value: types.WorkDoneProgressReport) -> None:
        self.percentages.append(value.percentage)

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        self.ended.set()


def stretch() -> Iterator[IndexingProgress]:
    """The first files are read while the others are looked for, then all are read, then vectors are made."""
    for activity, total, done, queued, scanned in (
        *[(Activity.SCANNING, 0, 0, 0, False)] * 2,
        (Activity.SCANNING, 0, 90, 60, False),
        (Activity.READING, 1000, 500, 2000, False),
        (Activity.EMBEDDING, 1000, 1000, 4000, True),
        (Activity.EMBEDDING, 1000, 1000, 2000, True),
        (Activity.IDLE, 1000, 1000, 0, True),
    ):
        yield IndexingProgress(
            activity=activity,
            files_total=total,
            files_done=done,
            chunks=4 * done,
            texts_queued=queued,
            texts_per_second=0.0,
            seconds_left=None,
            scanned=scanned,
            complete=activity is Activity.IDLE,
            problem=None,
        )


@pytest.mark.asyncio
async def test_bar_grows_from_nothing_though_files_are_read_before_all_are_counted() -> None:
    client, changed, work = Shown(), asyncio.Event(), stretch()
    changed.set()

    async def ask() -> IndexingProgress:
        return next(work)

    showing = asyncio.create_task(show_progress(client, ask, changed))
    await asyncio.wait_for(client.ended.wait(), 60)
    showing.cancel()
    assert client.percentages == [0, 2, 5, 52]
