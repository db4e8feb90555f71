"""The language server: thin handlers over the engine.

The event loop only routes. `initialize` is answered by `cairn.lsp.early`; the engine, with everything heavy it
imports, is made after `initialized`, and requests that come earlier wait for it. Requests run in the server's
own executor, each with a cancel flag; what the editor tells runs on one more thread, in the order it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.io_ import StdinAsyncReader, StdoutWriter
from pygls.lsp.server import LanguageServer

from cairn import __version__
from cairn.errors import CairnError, InvalidRequestError, QueryCancelledError
from cairn.lsp.early import Answered
from cairn.lsp.progress import show_progress
from cairn.lsp.requests import register_requests
from cairn.lsp.wire import Reader, WireProtocol, raw_params_converter, speak
from cairn.lsp.workspace import open_folders, register_with_client, register_workspace
from cairn.startup.kept_bytecode import kept_bytecode
from cairn.startup.memory import made_to_last
from cairn.startup.responsive import let_queries_in

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.host import Host
    from cairn.engine.status import IndexingProgress

logger = logging.getLogger(__name__)

_QUERY_THREADS = 4
"""Enough that a cancelled request, which ends at its next look at the flag, never holds up the next one."""
_STATUS_SECONDS = 0.5
"""Status changes are told at most this often; counting them all would cost more than it tells."""
_PARENT_SECONDS = 5.0
"""How often to look whether the editor is still alive, where its end did not close the pipe."""
_CHANGES_BY_ASKING = frozenset({"memory", "latency", "retrieval"})
"""Of the status: no reason to tell it again."""
_TOLD_SECONDS = 0.5
"""How long a request waits for what was told before it; taking that in is a matter of microseconds, but for a
folder that leaves while it is read."""

_NOT_INITIALIZED = -32002
_SERVER_CANCELLED = -32802

T = TypeVar("T")


class CairnServer(LanguageServer):
    """One editor's connection."""

    protocol: WireProtocol

    def __init__(self, host: Host | None = None) -> None:
        """`host` is what this connection shares with others of the process, where it is one of several."""
        super().__init__(
            "cairn", __version__, protocol_cls=WireProtocol, converter_factory=raw_params_converter
        )
        self.host = host
        self.editor_settings: dict[str, Any] = {}
        self._engine: Future[Engine] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._executor = ThreadPoolExecutor(_QUERY_THREADS, thread_name_prefix="cairn-query")
        self._in_order = ThreadPoolExecutor(1, thread_name_prefix="cairn-told")
        self._latest_told: Future[None] | None = None
        self._status_told: dict[str, Any] = {}
        self._status_pending = False
        self._client_is_gone = False
        self._progress_changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    def start_engine(self, roots: list[Path]) -> None:
        """Make the engine in the background and open `roots`; once."""
        if self._engine is not None:
            logger.warning("`initialized` came twice")
            return
        self._loop = asyncio.get_running_loop()

        def make() -> Engine:
            # Where the process has a host, it is imported; what saves time at a start is for one thread alone.
            with contextlib.ExitStack() as starting:
                if self.host is None:
                    starting.enter_context(made_to_last())
                    starting.enter_context(kept_bytecode("engine"))
                from cairn.engine.engine import Engine

            engine = Engine(self.editor_settings, lambda: self.soon(self._status_changed), self.host)
            for root in roots:
                try:
                    engine.add_folder(root)
                except CairnError as problem:
                    self._show_error(problem)
            return engine

        self._engine = self._executor.submit(make)
        window = self.client_capabilities.window
        if window and window.work_done_progress:
            self.in_background(show_progress(self.protocol.progress, self._progress, self._progress_changed))

    async def engine(self) -> Engine:
        """The engine, once it is made."""
        return await asyncio.shield(asyncio.wrap_future(self._making()))

    def in_order(self, work: Callable[[Engine], None]) -> None:
        """Run `work(engine)` after everything that was put here before, and before requests that come later."""
        making = self._making()

        def take_in() -> None:
            try:
                work(making.result())
            except CancelledError:
                logger.debug("closed before the engine was made")
            except CairnError as problem:
                self._show_error(problem)
            except Exception:
                logger.exception("what the editor told could not be taken in")

        self._latest_told = self._in_order.submit(take_in)

    async def run(self, work: Callable[[Engine, Callable[[], bool]], T]) -> T:
        """`work(engine, cancelled)` on a query thread; a cancelled request sets the flag `cancelled` reads."""
        engine = await self.engine()
        if self._latest_told is not None and not self._latest_told.done():
            await asyncio.wait([asyncio.wrap_future(self._latest_told)], timeout=_TOLD_SECONDS)
        flag = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work, engine, flag.is_set)
        except asyncio.CancelledError:
            flag.set()
            raise
        except InvalidRequestError as problem:
            raise JsonRpcInvalidParams(str(problem)) from problem
        except QueryCancelledError as problem:
            raise JsonRpcException(str(problem), _SERVER_CANCELLED) from problem
        except CairnError as problem:
            raise JsonRpcInternalError(str(problem)) from problem

    def in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` on the loop and log how it failed, if it did."""

        async def logged() -> None:
            try:
                await work
            except (CairnError, JsonRpcException) as problem:
                logger.error("%s", problem)

        task = asyncio.get_running_loop().create_task(logged())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # which never began, if the task was cancelled before

    def soon(self, call: Callable[[], None]) -> None:
        """`call()` on the loop, in order; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to tell
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call)

    def log(self, kind: types.MessageType, message: str) -> None:
        """Write a line into the editor's log for Cairn; from any thread."""
        self.soon(lambda: self.window_log_message(types.LogMessageParams(kind, f"Cairn: {message}")))

    def start_io(self, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
        """Serve the one client at the other end of two pipes until it leaves."""
        reader = StdinAsyncReader(stdin or sys.stdin.buffer, self.thread_pool)
        self.protocol.set_writer(StdoutWriter(stdout or sys.stdout.buffer))
        try:
            asyncio.run(speak(self.protocol, cast(Reader, reader)))
        except BrokenPipeError:
            logger.error("the editor closed the connection")
        except (KeyboardInterrupt, SystemExit):
            pass
        finally:
            self.shutdown()  # type: ignore[no-untyped-call]

    def cancel(self) -> None:
        """Break off what is being answered or told: the client is gone. On the loop, before `close`."""
        self._client_is_gone = True
        self.protocol.cancel_requests()
        for task in tuple(self._tasks):
            task.cancel()

    def close(self) -> None:
        """Stop everything the server started, an engine that is just being made included."""
        for executor in (self._executor, self._in_order):
            executor.shutdown(wait=True, cancel_futures=True)
        engine = self._engine
        if engine is not None and not engine.cancelled() and engine.exception() is None:
            engine.result().stop()

    def _making(self) -> Future[Engine]:
        if self._engine is None:
            raise JsonRpcException("send `initialized` first", _NOT_INITIALIZED)
        return self._engine

    def _show_error(self, problem: CairnError) -> None:
        shown = types.ShowMessageParams(types.MessageType.Error, f"Cairn: {problem}")
        self.soon(lambda: self.window_show_message(shown))

    async def _progress(self) -> IndexingProgress:
        return await self.run(lambda engine, _: engine.progress())

    def _status_changed(self) -> None:
        """Tell the editor soon; what changes until then is told with it."""
        self._progress_changed.set()
        if not self._status_pending and not self._client_is_gone:
            self._status_pending = True
            self.in_background(self._tell_status())

    async def _tell_status(self) -> None:
        from cairn.schema.convert import unstructure

        await asyncio.sleep(_STATUS_SECONDS)
        self._status_pending = False
        status = unstructure(await self.run(lambda engine, _: engine.status()))
        told = {key: value for key, value in status.items() if key not in _CHANGES_BY_ASKING}
        if told != self._status_told:
            self._status_told = told
            self.protocol.notify("cairn/statusChanged", status)


def build_server(host: Host | None = None) -> CairnServer:
    """A server with all features registered; `host` as for `CairnServer`."""
    server = CairnServer(host)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        server.editor_settings = dict(options) if isinstance(options, dict) else {}

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.start_engine(open_folders(server))
        server.in_background(register_with_client(server))
        if server.process_id and server.host is None:
            server.in_background(_exit_with_parent(server, server.process_id))

    register_workspace(server)
    register_requests(server)
    return server


async def _exit_with_parent(server: CairnServer, process_id: int) -> None:
    await asyncio.sleep(_PARENT_SECONDS)
    import psutil  # once the workspace is open

    while psutil.pid_exists(process_id):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE:
                break
        await asyncio.sleep(_PARENT_SECONDS)
    logger.warning("the editor (process %d) is gone; exiting", process_id)
    await asyncio.get_running_loop().run_in_executor(None, server.close)
    os._exit(1)  # the reader of the pipe cannot be woken otherwise


def serve_stdio(answered: Answered, stdout: BinaryIO) -> int:
    """Speak LSP over stdin and stdout until told to exit; the process's exit code."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    # pygls logs whole message bodies at INFO, and a traceback for each request it declines.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    let_queries_in()
    server = build_server()
    server.protocol.answered = answered.request_id
    try:
        server.start_io(stdin=cast(BinaryIO, answered.input), stdout=stdout)
    finally:
        server.close()
    return 0 if server.protocol._shutdown else 1
