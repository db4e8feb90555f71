"""Puts the requests of HTTP and MCP clients to the engine: on threads of their own, with a time limit, and cancelled when
their client goes away. LSP has its own way, with an engine for each editor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from cairn.engine.engine import Engine
from cairn.engine.methods import Cancelled, answer
from cairn.errors import OutOfTimeError

T = TypeVar("T")

_THREADS = 4
"""As for an editor: enough that a request which is being cancelled never holds up the next one."""


class Asking:
    """Asks one engine. Use it on one event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="cairn-query")

    async def answer(
        self, name: str, data: Any, *, front: str, workspace: str = "", seconds: float | None = None
    ) -> Any:
        """The JSON answer of the method `name` to the JSON params `data`, over one folder where `workspace` names it; `front` is who is counted
        as asking.

        Raises InvalidRequestError for params or a workspace that cannot be, OutOfTimeError after `seconds`, and any
        other CairnError of the engine. When the caller is cancelled, the work is.
        """
        return await self.run(
            lambda engine, cancelled: answer(engine, name, data, cancelled, front=front),
            workspace=workspace,
            seconds=seconds,
        )

    async def run(
        self,
        work: Callable[[Engine, Cancelled], T],
        *,
        workspace: str = "",
        seconds: float | None = None,
    ) -> T:
        """`work(engine, cancelled)` on a thread, under the terms of `answer`."""
        flag = threading.Event()

        def asked() -> T:
            return work(self.engine.over(workspace) if workspace else self.engine, flag.is_set)

        working = asyncio.get_running_loop().run_in_executor(self._executor, asked)
        try:
            async with asyncio.timeout(seconds):
                return await working
        except TimeoutError:
            raise OutOfTimeError(
                f"The answer took more than {seconds:g} seconds; ask for less, or raise serve.request_seconds."
            ) from None
        finally:
            flag.set()

    def close(self) -> None:
        """Wait for what runs; what has not begun is dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)
