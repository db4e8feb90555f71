"""Lets the first questions about a folder that nobody has indexed wait for its first files: an agent that is told of
nothing once may not ask again."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.runner import Runner

SECONDS = 10.0
"""The first files of 20,000 can be found after a second, on a machine that is not busy."""
_LOOK_SECONDS = 0.05


class FirstFiles:
    """How long the questions to one engine may still wait. Use it on one event loop.

    There is one such time in all: where files never come, they have been waited for once.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._until: float | None = None

    async def wait(self, runner: Runner, workspace: str = "") -> None:
        """Until something can be found in the folder, or in all of them, if that can come to be.

        Raises InvalidRequestError for a `workspace` that is not open.
        """
        while self._until is None or time.monotonic() < self._until:
            if not await runner.run(_are_to_come, workspace=workspace):
                return
            if self._until is None:
                self._until = time.monotonic() + self._seconds
            await asyncio.sleep(_LOOK_SECONDS)


def _are_to_come(asked: Engine) -> bool:
    """Whether there is nothing to find yet, and nothing known that keeps it so."""
    if asked.searchable() or asked.progress().problem:
        return False
    now = asked.figures()
    return now.retrieval_enabled and now.phase > 0
