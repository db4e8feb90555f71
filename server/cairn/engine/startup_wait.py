"""Delays an agent's first requests until the folder is indexed. Without results it may not ask again."""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.engine.request import Request
    from cairn.engine.runner import Runner

_LOOK_SECONDS = 0.05


class Missing(enum.Enum):
    """What the index still lacks for a complete answer."""

    FILES = enum.auto()
    """Files, or changes of files."""
    VECTORS = enum.auto()


PATIENCE: Mapping[Missing, float] = {Missing.FILES: 10.0, Missing.VECTORS: 2.0}
"""How many seconds to wait for each kind of missing data. On a busy machine with two cores, Flask's 226 files
were read in 2.1 s and FastAPI's 2,749 in 12.2 s; the last vectors were ready 0.2 s later. Changes among
20,708 files are found after 0.8 s (benchmarks/README.md, `reopen`)."""


class StartupWait:
    """Makes requests to one engine wait. Use it on one event loop.

    Each kind of missing data has one deadline, so data that never arrive delay only the first requests. Files
    have a new one with the next changes, such as a checkout.
    """

    def __init__(self, patience: Mapping[Missing, float] = PATIENCE) -> None:
        self._patience = patience
        self._deadlines: dict[Missing, float] = {}

    async def wait(self, runner: Runner, workspace: str = "") -> None:
        """Wait until the folder `workspace` ("" for all) is fully searchable, or a deadline has passed."""
        await runner.work(lambda request: request.catch_up(), workspace=workspace)
        while (missing := await runner.work(_missing, workspace=workspace)) is not None:
            if missing is not Missing.FILES:
                self._deadlines.pop(Missing.FILES, None)
            now = time.monotonic()
            if now >= self._deadlines.setdefault(missing, now + self._patience[missing]):
                return
            await asyncio.sleep(_LOOK_SECONDS)
        self._deadlines.pop(Missing.FILES, None)


def _missing(request: Request) -> Missing | None:
    """Return the missing data that will arrive; None if there is nothing to wait for."""
    from cairn.engine.status import progress_of

    progress = progress_of(request.folders)
    if progress.scanned and not progress.texts_queued:
        return None
    if progress.problem or progress.is_paused:
        return None
    if not request.settings.retrieval.enabled or request.caller.phases(request.settings)[0] <= 0:
        return None
    return Missing.VECTORS if progress.scanned else Missing.FILES
