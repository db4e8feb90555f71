"""Runs the requests of all fronts on threads, with a time limit and cancellation, and counts them.

Fronts with an event loop use `Runner.answer`. The command line, whose thread may wait, uses `answer`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from cairn.engine.methods import CLI, Method, Needs, Tell, method_named
from cairn.errors import InvalidRequestError, OutOfTimeError, PartUnavailableError, QueryCancelledError
from cairn.index.store.deadline import ended_by
from cairn.startup.figures import never_failing
from cairn.startup.interpreter import trim_memory

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.request import Request
    from cairn.protocol import DiscoverProgress

T = TypeVar("T")

CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The caller, if the front distinguishes callers. Each request runs in its own context."""

_THREADS = 4
"""The number of threads. A cancelled request runs until its next check, and must not delay other requests."""
_GIVE_BACK_SECONDS = 20.0
"""The interval at which freed memory is returned to the system while requests arrive. This takes 3 to 6 ms on
another thread, and returns about 30 of 480 MB for a million chunks."""


def answer(
    request: Request,
    name: str,
    data: Any,
    *,
    front: str = CLI,
    tell: Tell | None = None,
    as_json: bool = True,
) -> Any:
    """Run the method `name`. Its params `data` are JSON data or an object of the params class.

    Return JSON data or, unless `as_json`, an object of the answer class. Metrics count the request for
    `front`; `tell` gets each stage of a method that streams. Raise InvalidRequestError with the field of
    invalid params, QueryCancelledError soon after `request.cancelled()` turns true, and any other CairnError
    of the engine.
    """
    from cairn.schema.convert import structure, unstructure

    method = method_named(name)
    with _counted(request, method, front), ended_by(request.cancelled):
        if method.changes and not request.caller.takes_changes:
            raise InvalidRequestError(
                "", f"{method.name} would change later answers, which a team's index does not allow"
            )
        params_class = method.params_class()
        params = data if isinstance(data, params_class) else structure(data, params_class)
        request = request.for_params(params, tell)
        if method.needs is Needs.NOTHING:
            found = method.handle()(request, params)
        else:
            request.catch_up()
            with request.host.gate.query(), request.in_one_state():
                if method.needs is Needs.INDEX:
                    found = method.handle()(request, params)
                else:
                    from cairn.engine.fallback import answer_in_phases  # Imported with the first query.

                    found = answer_in_phases(method, request, params)
        return unstructure(found) if as_json else found


def read(request: Request, work: Callable[[Request], T]) -> T:
    """Run `work(request)`, which reads the indexes in one state, while background indexing waits."""
    with ended_by(request.cancelled), request.host.gate.query(), request.in_one_state():
        return work(request)


def progress_json(progress: DiscoverProgress) -> dict[str, Any]:
    """Return the changes that a stage made, as JSON data without unchanged fields."""
    from cairn.schema.convert import unstructure

    return {key: value for key, value in unstructure(progress).items() if value is not None}


@contextmanager
def _counted(request: Request, method: Method, front: str) -> Iterator[None]:
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
        with never_failing("Counting a request"):
            request.host.metrics.request(method.name, front, time.perf_counter() - began, outcome, error)


class Runner:
    """Runs the requests to one engine on threads. Use it on one event loop."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        """Start making the engine on a thread. The first requests wait for it."""
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="cairn-query")
        self._engine = self._executor.submit(make)
        self._given_back = time.monotonic()

    @property
    def engine(self) -> Engine:
        """The engine. Reading it blocks until it is made."""
        return self._engine.result()

    async def made(self) -> Engine:
        """Wait for the engine and return it."""
        if self._engine.done():
            return self._engine.result()
        return await asyncio.shield(asyncio.wrap_future(self._engine))

    def answer(
        self,
        name: str,
        data: Any,
        *,
        front: str,
        workspace: str = "",
        seconds: float | None = None,
        tell: Tell | None = None,
        as_json: bool = True,
    ) -> Coroutine[Any, Any, Any]:
        """Run `answer` on a thread. If `workspace` names a folder, the request covers only this folder.

        Raise InvalidRequestError for invalid params or an unknown workspace, OutOfTimeError after `seconds`,
        and any other CairnError of the engine. Cancelling the caller cancels the work.
        """

        work = partial(answer, name=name, data=data, front=front, tell=tell, as_json=as_json)
        return self.work(work, workspace=workspace, seconds=seconds)

    def _give_back_memory(self) -> None:
        now = time.monotonic()
        if now > self._given_back + _GIVE_BACK_SECONDS:
            self._given_back = now
            with suppress(RuntimeError):  # The threads are shutting down.
                self._executor.submit(trim_memory)

    async def work(
        self, work: Callable[[Request], T], *, workspace: str = "", seconds: float | None = None
    ) -> T:
        """Run `work(request)`, which may call several methods by `answer`, on a thread as `answer` does."""
        engine, caller = await self.made(), CALLER.get()
        flag = threading.Event()

        def with_retry() -> T:
            # The first try notes which servers do not answer, so that the second one leaves them out.
            with suppress(PartUnavailableError), engine.asked(caller, workspace) as request:
                return work(evolve(request, cancelled=flag.is_set))
            with engine.asked(caller, workspace) as request:
                return work(evolve(request, cancelled=flag.is_set))

        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(self._executor, with_retry)
        except TimeoutError:
            raise OutOfTimeError(
                f"The answer took more than {seconds:g} seconds;"
                " ask for less, or raise serve.request_seconds."
            ) from None
        finally:
            flag.set()
            self._give_back_memory()

    def close(self) -> None:
        """Drop requests that have not started, and wait for the others."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """Close the threads and stop the engine, even if it is just being made."""
        self.close()
        if self._engine.done() and not self._engine.cancelled() and self._engine.exception() is None:
            self._engine.result().stop()
