"""Shares the engines of one process: connections to the same folders use the same engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.engine.runner import Runner
from cairn.errors import CairnError

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.host import Host


class PooledEngine:
    """An engine of some folders and the number of its users. Its runner makes the engine on a thread."""

    def __init__(self, host: Callable[[], Host], folders: tuple[Path, ...]) -> None:
        self.open: tuple[Path, ...] = ()
        """The open folders, known after the engine was made."""
        self.problems: tuple[str, ...] = ()
        """Why the other requested folders are not open."""
        self.borrowers = 0
        self.ending: asyncio.TimerHandle | None = None
        self._host = host
        self._folders = folders
        self.runner = Runner(self._make)

    def _make(self) -> Engine:
        from cairn.startup.interpreter import exempt_from_collection

        with exempt_from_collection():
            from cairn.engine.engine import Engine
        engine = Engine(host=self._host())
        for folder in self._folders:
            try:
                engine.add_folder(folder)
                self.open += (folder,)
            except CairnError as problem:
                self.problems += (f"{problem}.",)
        return engine


class EnginePool:
    """Lends engines, so that several agents on one workspace share an engine. Use it on one event loop."""

    def __init__(self, host: Callable[[], Host], keep_seconds: float) -> None:
        """Make the pool. `host` is called on a thread. An unused engine stops after `keep_seconds`."""
        self._host = host
        self._keep_seconds = keep_seconds
        self._lent: dict[tuple[Path, ...], PooledEngine] = {}
        self._stopping: set[asyncio.Future[None]] = set()

    async def lend(self, folders: Sequence[Path]) -> PooledEngine:
        """Wait for the engine of these folders and return it. Call `give_back` after use."""
        key = tuple(folders)
        lent = self._lent.get(key)
        if lent is None:
            lent = self._lent[key] = PooledEngine(self._host, key)
        lent.borrowers += 1
        if lent.ending is not None:
            lent.ending.cancel()
            lent.ending = None
        try:
            await lent.runner.made()
        except BaseException as problem:
            lent.borrowers -= 1
            if not lent.borrowers and isinstance(problem, Exception):
                self._end(lent)  # The next caller tries again.
            elif not lent.borrowers:
                self._end_later(lent)
            raise
        return lent

    def give_back(self, lent: PooledEngine) -> None:
        lent.borrowers -= 1
        if not lent.borrowers:
            self._end_later(lent)

    async def close(self) -> None:
        for lent in tuple(self._lent.values()):
            self._end(lent)
        await asyncio.gather(*self._stopping, return_exceptions=True)

    def _end_later(self, lent: PooledEngine) -> None:
        lent.ending = asyncio.get_running_loop().call_later(self._keep_seconds, self._end, lent)

    def _end(self, lent: PooledEngine) -> None:
        self._lent = {key: each for key, each in self._lent.items() if each is not lent}
        if lent.ending is not None:
            lent.ending.cancel()
        stopping = asyncio.ensure_future(asyncio.to_thread(lent.runner.stop))
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)
