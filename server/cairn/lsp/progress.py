"""Reports indexing as LSP's work-done progress if it takes long enough to be noticed."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from attrs import define
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress as ClientProgress

if TYPE_CHECKING:
    from cairn.engine.status import IndexingProgress

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 1.0
"""Work that takes less time, such as indexing a saved file, is not shown."""
_REPORT_SECONDS = 0.5
_READING_PERCENT = 5
"""The bar's share for reading. Reading express, flask and cobra took 2, 3 and 5 % of the time."""

Ask = Callable[[], Awaitable["IndexingProgress"]]


async def show_progress(client: ClientProgress, ask: Ask, changed: asyncio.Event) -> None:
    """Report every long run of indexing work. Return only if the client declines.

    `ask` returns the progress. `changed` is set when the progress may have changed.
    """
    for number in itertools.count(1):
        await _wait_for_work(ask, changed)
        token = f"cairn-indexing-{number}"
        try:
            await client.create_async(token)
        except JsonRpcException as refusal:
            logger.info("the client does not show progress: %s", refusal)
            return
        await _report_work(client, token, ask)


async def _wait_for_work(ask: Ask, changed: asyncio.Event) -> None:
    while True:
        await changed.wait()
        changed.clear()
        if (await ask()).is_at_work:
            await asyncio.sleep(_PATIENCE_SECONDS)
            if (await ask()).is_at_work:
                return


async def _report_work(client: ClientProgress, token: str, ask: Ask) -> None:
    progress, bar, shown = await ask(), _Bar(), None
    while progress.is_at_work:  # The work may have ended while the client created the token.
        now = (progress.text, bar.percentage(progress))
        if shown is None:
            begin = types.WorkDoneProgressBegin("Cairn", cancellable=False, message=now[0], percentage=now[1])
            client.begin(token, begin)
        elif now != shown:
            client.report(token, types.WorkDoneProgressReport(message=now[0], percentage=now[1]))
        shown = now
        await asyncio.sleep(_REPORT_SECONDS)
        progress = await ask()
    if shown is not None:
        client.end(token, types.WorkDoneProgressEnd(message=progress.problem or progress.text))
    client.tokens.pop(token, None)


@define
class _Bar:
    """One progress bar for reading and vectors together. It never decreases."""

    _most_queued: int = 0
    _percentage: int = 0

    def percentage(self, progress: IndexingProgress) -> int:
        self._most_queued = max(self._most_queued, progress.texts_queued)
        reading = _READING_PERCENT if self._most_queued else 100
        if progress.scanned:
            embedded = 1 - progress.texts_queued / self._most_queued if self._most_queued else 0.0
            percentage = reading + (100 - reading) * embedded
        elif progress.files_total:
            percentage = reading * progress.files_done / progress.files_total
        else:  # The indexer reads the first files before it has counted all.
            percentage = 0.0
        self._percentage = max(self._percentage, min(100, int(percentage)))
        return self._percentage
