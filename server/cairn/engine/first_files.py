"""Lets the first questions about a folder wait until it is read: an agent that is told of nothing once may not ask again."""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.runner import Runner

_LOOK_SECONDS = 0.05


class Missing(enum.Enum):
    """What an answer would lack."""

    FILES = enum.auto()
    """Files of a folder that nobody has indexed before."""
    CHANGES = enum.auto()
    """What has changed in an indexed folder since it was last open."""
    VECTORS = enum.auto()
    """Vectors of files that are read."""


PATIENCE: Mapping[Missing, float] = {Missing.FILES: 10.0, Missing.CHANGES: 1.0, Missing.VECTORS: 2.0}
"""Seconds. On a busy machine of two cores flask's 226 files were read in 2.1 s and FastAPI's 2,749 in 12.2, and the last vectors were
there 0.2 s later; changes among 20,708 files are found after 0.8 s (benchmarks/README.md, `reopen`)."""


class FirstFiles:
    """How long the questions to one engine may still wait. Use it on one event loop.

    There is one such time in all for each thing that is missing: where it never comes, it has been waited for once.
    """

    def __init__(self, patience: Mapping[Missing, float] = PATIENCE) -> None:
        self._patience = patience
        self._deadlines: dict[Missing, float] = {}

    async def wait(self, runner: Runner, workspace: str = "") -> None:
        """Until all can be found that is in the folder, or in all of them, if that can come to be.

        Raises InvalidRequestError for a `workspace` that is not open.
        """
        while (missing := await runner.run(_missing, workspace=workspace)) is not None:
            now = time.monotonic()
            if now >= self._deadlines.setdefault(missing, now + self._patience[missing]):
                return
            await asyncio.sleep(_LOOK_SECONDS)


def _missing(asked: Engine) -> Missing | None:
    """What is missing and will come; None for nothing."""
    progress = asked.progress()
    if progress.scanned and not progress.texts_queued:
        return None
    if progress.problem or progress.is_paused:
        return None
    figures = asked.figures()
    if not figures.retrieval_enabled or figures.phase <= 0:
        return None
    if progress.scanned:
        return Missing.VECTORS
    return Missing.CHANGES if asked.was_scanned() else Missing.FILES
