"""Runs the requests of every front: on threads, with a time limit and cancellation, and counted.

`Runner.answer` is for fronts with an event loop, `answer` for the command line, whose own thread waits anyway.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cairn.engine.methods import CLI, Asks, Method, method_named
from cairn.engine.request import CALLER, Request, Tell
from cairn.errors import InvalidRequestError, OutOfTimeError, PartUnavailableError, QueryCancelledError
from cairn.index.store.deadline import Cancelled, never
from cairn.startup.interpreter import give_back_memory

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.protocol import DiscoverProgress

T = TypeVar("T")

_THREADS = 4
"""Enough that a cancelled request, which ends at its next look at the flag, never holds up the next one."""
_GIVE_BACK_SECONDS = 20.0
"""While requests come, freed memory is given back this often: 3 to 6 ms beside them, some 30 MB of 480 for a million chunks."""


def answer(
    engine: Engine,
    name: str,
    data: Any,
    cancelled: Cancelled = never,
    *,
    front: str = CLI,
    tell: Tell | None = None,
    as_json: bool = True,
) -> Any:
    """What the method `name` answers to the params `data`, which are JSON data or an object of their class.

    The answer is JSON data, or an object of its class unless `as_json`. `front` is who is counted as asking; `tell` hears
    of each stage of a method that streams. Raises InvalidRequestError, naming the field, for params that the method does not
    take, QueryCancelledError soon after `cancelled()` turns true, and any other CairnError of the engine.
    """
    from cairn.schema.convert import structure, unstructure

    method = method_named(name)
    with _counted(engine, method, front):
        if method.changes and not engine.takes_changes:
            raise InvalidRequestError(
                "", f"{method.name} changes what is answered, which nobody may in a team's index"
            )
        params_class = method.params_class()
        params = data if isinstance(data, params_class) else structure(data, params_class)
        with engine.answering(params) as asked:
            found = _found(method, Request(asked, asked.folders, asked.settings(), cancelled, tell), params)
        return unstructure(found) if as_json else found


def _found(method: Method, request: Request, params: Any) -> Any:
    engine = request.engine
    if method.asks is Asks.NOTHING:
        return method.handle()(request, params)
    for folder in request.folders:
        folder.indexer.wait_for_saves()  # whoever asks after a save asks about what was saved
    with engine.gate.query():
        if method.asks is Asks.INDEX:
            return method.handle()(request, params)
        return engine.fallback.ask(method, request, params)


def progress_json(progress: DiscoverProgress) -> dict[str, Any]:
    """The JSON data of what a stage changed; what it did not change is absent."""
    from cairn.schema.convert import unstructure

    return {key: value for key, value in unstructure(progress).items() if value is not None}


@contextmanager
def _counted(engine: Engine, method: Method, front: str) -> Iterator[None]:
    """Count the request in it, with how long it took and how it ended."""
    began = time.perf_counter()
    outcome, error = "ok", ""
    try:
        yield
    except InvalidRequestError:
        outcome = "invalid"
        raise
    except QueryCancelledError:
        outcome = "cancelled"
        raise
    except BaseException as problem:
        outcome, error = "error", type(problem).__name__ if isinstance(problem, Exception) else ""
        raise
    finally:
        engine.metrics.request(method.name, front, time.perf_counter() - began, outcome, error)


class Runner:
    """The threads on which the requests to one engine run. Use it on one event loop."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        """`make` is called on a thread, while the first requests wait."""
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="cairn-query")
        self._engine = self._executor.submit(make)
        self._given_back = time.monotonic()

    @property
    def engine(self) -> Engine:
        """The engine; waits until it is made."""
        return self._engine.result()

    async def made(self) -> Engine:
        """The engine, once it is made."""
        if self._engine.done():
            return self._engine.result()
        return await asyncio.shield(asyncio.wrap_future(self._engine))

    async def answer(
        self,
        name: str,
        data: Any,
        *,
        front: str,
        workspace: str = "",
        seconds: float | None = None,
        tell: Tell | None = None,
        as_json: bool = True,
    ) -> Any:
        """As `answer`, on a thread, about one folder where `workspace` names it.

        Raises InvalidRequestError for params or a workspace that cannot be, OutOfTimeError after `seconds`, and any other
        CairnError of the engine. When the caller is cancelled, the work is.
        """
        asked = partial(answer, name=name, data=data, front=front, tell=tell, as_json=as_json)
        try:
            return await self._on_thread(asked, workspace, seconds)
        finally:
            self._give_back_memory()

    def _give_back_memory(self) -> None:
        now = time.monotonic()
        if now > self._given_back + _GIVE_BACK_SECONDS:
            self._given_back = now
            with suppress(RuntimeError):  # the threads are being ended
                self._executor.submit(give_back_memory)

    async def run(self, work: Callable[[Engine], T], *, workspace: str = "") -> T:
        """`work(engine)` on a thread, under the terms of `answer`, but to its end."""
        return await self._on_thread(lambda engine, cancelled: work(engine), workspace, None)

    async def work(
        self,
        work: Callable[[Engine, Cancelled], T],
        *,
        workspace: str = "",
        seconds: float | None = None,
    ) -> T:
        """`work(engine, cancelled)` on a thread, under all terms of `answer`: for what asks several methods.

        `work` asks through `answer`, which counts each of them, and hands `cancelled` on.
        """
        try:
            return await self._on_thread(
                lambda engine, cancelled: work(engine, cancelled), workspace, seconds
            )
        finally:
            self._give_back_memory()

    async def _on_thread(self, work: Callable[..., T], workspace: str, seconds: float | None) -> T:
        """`work(engine, cancelled=…)` on a thread."""
        engine, caller = await self.made(), CALLER.get()
        flag = threading.Event()

        def done() -> T:
            try:
                return once()
            except PartUnavailableError:
                return once()  # The rest of a team's index answers, now that it is known what is away.

        def once() -> T:
            with engine.asked(caller, workspace) as asked:
                return work(asked, cancelled=flag.is_set)

        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(self._executor, done)
        except TimeoutError:
            raise OutOfTimeError(
                f"The answer took more than {seconds:g} seconds; ask for less, or raise serve.request_seconds."
            ) from None
        finally:
            flag.set()

    def close(self) -> None:
        """Wait for what runs; what has not begun is dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """Close, and stop the engine, also one that is just being made."""
        self.close()
        if self._engine.done() and not self._engine.cancelled() and self._engine.exception() is None:
            self._engine.result().stop()
