"""One editor's connection: its engine, its requests, and notifications in both directions.

The event loop only passes messages on. `cairn.lsp.early` answers `initialize`. The engine, with its heavy
imports, is made after `initialized`; requests that arrive earlier wait for it. A thread applies the editor's
notifications in the order of their arrival. Indexing is shown as LSP's work-done progress if it takes long
enough to be noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress as ClientProgress

from cairn import __version__
from cairn.engine.runner import Runner
from cairn.errors import CairnError, InvalidRequestError, QueryCancelledError
from cairn.lsp.bytecode_cache import cached_bytecode
from cairn.lsp.jsonrpc import WireProtocol, raw_data_converter
from cairn.startup.interpreter import exempt_from_collection

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.host import Host
    from cairn.engine.request import Request
    from cairn.engine.status import IndexingProgress

logger = logging.getLogger(__name__)

Ask = Callable[[], Awaitable["IndexingProgress"]]
MakeEngine = Callable[[Mapping[str, Any], Callable[[], None]], "Engine"]
"""Makes an engine, given the editor's settings and a callback for possible changes of the status."""

_STATUS_SECONDS = 0.5
"""The minimum interval of status notifications in seconds, since computing the status takes time."""
_VOLATILE = frozenset({"memory", "latency", "retrieval"})
"""Status fields that every query changes; a change in these alone sends no notification."""
_APPLY_SECONDS = 0.5
"""How long a request waits until earlier notifications are applied, in seconds. This usually takes
microseconds, and longer while a folder is being removed."""
_PATIENCE_SECONDS = 1.0
"""Work that takes less time, such as indexing a saved file, is not shown."""
_REPORT_SECONDS = 0.5
_READING_PERCENT = 5
"""The bar's share for reading. Reading express, flask and cobra took 2, 3 and 5 % of the time."""

_NOT_INITIALIZED = -32002
_SERVER_CANCELLED = -32802


class Connection(LanguageServer):
    protocol: WireProtocol

    def __init__(
        self,
        host: Host | None = None,
        make: MakeEngine | None = None,
        share: Callable[[Engine], Callable[[], None]] | None = None,
    ) -> None:
        """Create a connection that makes its engine with `make`, by default an engine over folders.

        `host` is shared with the other connections of the process, if there are any. `share` opens the engine
        to other processes and returns a function that stops sharing it.
        """
        super().__init__(
            "cairn", __version__, protocol_cls=WireProtocol, converter_factory=raw_data_converter
        )
        self.host = host
        self._make = make or self._default_engine
        self._share = share
        self._stop_sharing: Callable[[], None] = lambda: None
        self.editor_settings: dict[str, Any] = {}
        self._runner: Runner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._in_order = ThreadPoolExecutor(1, thread_name_prefix="cairn-notified")
        self._latest_notification: Future[None] | None = None
        self._status_sent: dict[str, Any] = {}
        self._status_pending = False
        self._client_is_gone = False
        self._watchers: list[Callable[[], None]] = []
        self._progress_changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_started(self) -> bool:
        return self._runner is not None

    def start_engine(self, folders: Sequence[Callable[[Engine], None]]) -> None:
        """Make the engine in the background and open `folders` in it. Call this once."""
        self._loop = asyncio.get_running_loop()

        def make() -> Engine:
            engine = self._make(self.editor_settings, lambda: self.soon(self._status_changed))
            for open_folder in folders:
                try:
                    open_folder(engine)
                except CairnError as problem:
                    self._show_error(problem)
            return engine

        self._runner = Runner(make)
        if self._share is not None:
            self.in_background(self._share_engine(self._share))
        window = self.client_capabilities.window
        if window and window.work_done_progress:
            progress = partial(self.runner.work, _progress)
            self.in_background(show_progress(self.protocol.progress, progress, self._progress_changed))

    async def _share_engine(self, share: Callable[[Engine], Callable[[], None]]) -> None:
        """Open the engine to other processes once it is made. The editor's own requests come first."""
        engine = await self.runner.made()
        self._stop_sharing = await asyncio.to_thread(share, engine)

    def _default_engine(self, editor_settings: Mapping[str, Any], on_change: Callable[[], None]) -> Engine:
        # A process with a host has imported the engine already. These two contexts are not thread-safe.
        with contextlib.ExitStack() as starting:
            if self.host is None:
                starting.enter_context(exempt_from_collection())
                starting.enter_context(cached_bytecode("engine"))
            from cairn.engine.engine import Engine

        return Engine(editor_settings, on_change, self.host)

    @property
    def runner(self) -> Runner:
        """Return the runner of requests. Raises JsonRpcException before `initialized`."""
        if self._runner is None:
            raise JsonRpcException("send `initialized` first", _NOT_INITIALIZED)
        return self._runner

    def in_order(self, work: Callable[[Engine], None]) -> None:
        """Run `work(engine)` on the thread that applies notifications, before requests that arrive later."""
        runner = self.runner

        def apply() -> None:
            try:
                work(runner.engine)
            except CancelledError:
                logger.debug("closed before the engine was made")
            except CairnError as problem:
                self._show_error(problem)
            except Exception:
                logger.exception("a notification could not be applied")

        self._latest_notification = self._in_order.submit(apply)

    async def notifications_applied(self) -> None:
        """Wait for the engine, then at most half a second until earlier notifications are applied."""
        await self.runner.made()
        if self._latest_notification is not None and not self._latest_notification.done():
            await asyncio.wait([asyncio.wrap_future(self._latest_notification)], timeout=_APPLY_SECONDS)

    def in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` on the loop and log its expected errors."""

        async def logged() -> None:
            try:
                await work
            except (CairnError, JsonRpcException) as problem:
                logger.error("%s", problem)

        task = asyncio.get_running_loop().create_task(logged())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # A task that was cancelled early never began `work`.

    def on_change(self, watcher: Callable[[], None]) -> None:
        """Call `watcher()` on the loop whenever the index or the status may have changed."""
        self._watchers.append(watcher)

    def soon(self, call: Callable[[], None]) -> None:
        """Schedule `call()` on the loop, from any thread."""
        with contextlib.suppress(RuntimeError):  # The loop has ended.
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call)

    def log(self, kind: types.MessageType, message: str) -> None:
        """Write a line to the editor's log of Cairn, from any thread."""
        self.soon(lambda: self.window_log_message(types.LogMessageParams(kind, f"Cairn: {message}")))

    def cancel(self) -> None:
        """Cancel the requests and tasks of a disconnected client. Call this on the loop, before `close`."""
        self._client_is_gone = True
        self.protocol.cancel_requests()
        for task in tuple(self._tasks):
            task.cancel()

    def close(self) -> None:
        """Stop everything that the connection started, including an engine that is still being made."""
        self._stop_sharing()
        if self._runner is not None:
            self._runner.close()
        self._in_order.shutdown(wait=True, cancel_futures=True)
        if self._runner is not None:
            self._runner.stop()

    def _show_error(self, problem: CairnError) -> None:
        shown = types.ShowMessageParams(types.MessageType.Error, f"Cairn: {problem}")
        self.soon(lambda: self.window_show_message(shown))

    def _status_changed(self) -> None:
        """Schedule a status notification. It includes all changes until it is sent."""
        self._progress_changed.set()
        for watcher in self._watchers:
            watcher()
        if not self._status_pending and not self._client_is_gone:
            self._status_pending = True
            self.in_background(self._send_status())

    async def _send_status(self) -> None:
        await asyncio.sleep(_STATUS_SECONDS)
        self._status_pending = False
        status = await self.runner.work(_status)
        lasting = {key: value for key, value in status.items() if key not in _VOLATILE}
        if lasting != self._status_sent:
            self._status_sent = lasting
            self.protocol.notify("cairn/statusChanged", status)


def _progress(request: Request) -> IndexingProgress:
    from cairn.engine.status import progress_of

    return progress_of(request.folders)


def _status(request: Request) -> Any:
    from cairn.engine.status import status_of
    from cairn.schema.convert import unstructure

    return unstructure(status_of(request))


@contextlib.contextmanager
def error_responses() -> Iterator[None]:
    try:
        yield
    except InvalidRequestError as problem:
        raise JsonRpcInvalidParams(str(problem)) from problem
    except QueryCancelledError as problem:
        raise JsonRpcException(str(problem), _SERVER_CANCELLED) from problem
    except CairnError as problem:
        raise JsonRpcInternalError(str(problem)) from problem


# --- progress ------------------------------------------------------------------------------------------


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
