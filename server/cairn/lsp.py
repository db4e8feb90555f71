"""The language server: thin handlers over the engine.

The event loop only routes. `initialize` is answered by `cairn.early`; the engine, with everything heavy it
imports, is made after `initialized`, and requests that come earlier wait for it. Work runs in the server's own
executor, each request with a cancel flag.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    LanguageServerProtocol,
    default_converter,
)
from pygls.uris import to_fs_path

from cairn import __version__
from cairn.early import Answered
from cairn.errors import CairnError, InvalidRequestError, QueryCancelledError

if TYPE_CHECKING:
    from cairn.engine import Engine

logger = logging.getLogger(__name__)

_QUERY_THREADS = 4
"""Enough that a cancelled request, which ends at its next look at the flag, never holds up the next one."""
_STATUS_SECONDS = 0.5
"""Status changes are told at most this often; counting them all would cost more than it tells."""
_PARENT_SECONDS = 5.0
"""How often to look whether the editor is still alive, where its end did not close the pipe."""

_NOT_INITIALIZED = -32002
_SERVER_CANCELLED = -32802

T = TypeVar("T")


class _CairnProtocol(LanguageServerProtocol):
    """pygls's protocol, with two gaps closed."""

    answered: int | str | None = None
    """The request that `cairn.early` has answered already."""

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if msg_id == self.answered and self.answered is not None:
            self.answered = None
        else:
            super()._send_response(msg_id, result, error)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Answer requests whose params cannot be read at all; pygls leaves their client waiting."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                cause = error.__cause__
                reason = "; ".join(cattrs.transform_error(cause)) if isinstance(cause, BaseException) else ""
                self._send_response(
                    data["id"], None, JsonRpcInvalidParams(reason or None).to_response_error()
                )
            raise


def _raw_params_converter() -> cattrs.Converter:
    """pygls's converter, but with the params of Cairn's own methods left as the JSON they are.

    It would make them nested named tuples, which drop keys that are no Python names.
    """
    converter: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda data, _: JsonRPCRequestMessage(
            data["id"], data["method"], data["jsonrpc"], data.get("params")
        ),
    )
    converter.register_structure_hook(
        JsonRPCNotification,
        lambda data, _: JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params")),
    )
    return converter


class CairnServer(LanguageServer):
    """One editor's connection."""

    protocol: _CairnProtocol

    def __init__(self) -> None:
        super().__init__(
            "cairn", __version__, protocol_cls=_CairnProtocol, converter_factory=_raw_params_converter
        )
        self.editor_settings: dict[str, Any] = {}
        self._engine: Future[Engine] | None = None
        self._executor = ThreadPoolExecutor(_QUERY_THREADS, thread_name_prefix="cairn-query")
        self._status_told: dict[str, Any] = {}
        self._status_pending = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def start_engine(self, roots: list[Path]) -> None:
        """Make the engine in the background and open `roots`."""
        loop = asyncio.get_running_loop()

        def make() -> Engine:
            from cairn.engine import Engine

            engine = Engine(self.editor_settings, lambda: _soon(loop, self._status_changed))
            for root in roots:
                try:
                    engine.add_folder(root)
                except CairnError as problem:
                    shown = types.ShowMessageParams(types.MessageType.Error, f"Cairn: {problem}")
                    loop.call_soon_threadsafe(self.window_show_message, shown)
            return engine

        self._engine = self._executor.submit(make)

    async def engine(self) -> Engine:
        """The engine, once it is made."""
        if self._engine is None:
            raise JsonRpcException("send `initialized` first", _NOT_INITIALIZED)
        return await asyncio.shield(asyncio.wrap_future(self._engine))

    async def run(self, work: Callable[[Engine, Callable[[], bool]], T]) -> T:
        """`work(engine, cancelled)` on a query thread; a cancelled request sets the flag `cancelled` reads."""
        engine = await self.engine()
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

    def in_background(self, work: Awaitable[Any]) -> None:
        """Run `work` on the loop and log how it failed, if it did."""

        async def logged() -> None:
            try:
                await work
            except (CairnError, JsonRpcException) as problem:
                logger.error("%s", problem)

        task = asyncio.get_running_loop().create_task(logged())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Stop everything the server started, an engine that is just being made included."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        engine = self._engine
        if engine is not None and not engine.cancelled() and engine.exception() is None:
            engine.result().stop()

    def _status_changed(self) -> None:
        """Tell the editor soon; what changes until then is told with it."""
        if not self._status_pending:
            self._status_pending = True
            self.in_background(self._tell_status())

    async def _tell_status(self) -> None:
        from cairn.schema import unstructure

        await asyncio.sleep(_STATUS_SECONDS)
        self._status_pending = False
        status = unstructure(await self.run(lambda engine, _: engine.status()))
        told = {key: value for key, value in status.items() if key not in ("memory", "latency")}
        if told != self._status_told:
            self._status_told = told
            self.protocol.notify("cairn/statusChanged", status)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to tell
        loop.call_soon_threadsafe(call)


# --- handlers ---------------------------------------------------------------------------------------


def build_server() -> CairnServer:
    """A server with all features registered."""
    server = CairnServer()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        server.editor_settings = dict(options) if isinstance(options, dict) else {}

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.start_engine(_folders(server))
        server.in_background(_register_watched_files(server))
        if server.process_id:
            server.in_background(_exit_with_parent(server, server.process_id))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        await _changed(server, [params.text_document.uri])

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        await _changed(server, [change.uri for change in params.changes])

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        added = _paths([folder.uri for folder in params.event.added])
        removed = _paths([folder.uri for folder in params.event.removed])

        def change(engine: Engine, _: Callable[[], bool]) -> None:
            for path in removed:
                engine.remove_folder(path)
            for path in added:
                engine.add_folder(path)

        await server.run(change)

    for method, (params_class, work) in _REQUESTS.items():
        _register_request(server, method, params_class, work)
    return server


Request = Callable[["Engine", Any, Callable[[], bool]], Any]

_REQUESTS: dict[str, tuple[str, Request]] = {
    "cairn/search": ("SearchParams", lambda engine, params, cancelled: engine.search(params, cancelled)),
    "cairn/discover": (
        "DiscoverParams",
        lambda engine, params, cancelled: engine.discover(params, cancelled),
    ),
    "cairn/status": ("NoParams", lambda engine, _, __: engine.status()),
    "cairn/collections": ("NoParams", lambda engine, _, __: engine.collections()),
    "cairn/fetchPage": ("FetchPageParams", lambda engine, params, _: engine.fetch_page(params)),
    "cairn/reindex": ("ReindexParams", lambda engine, params, _: engine.reindex(params)),
}
"""Cairn's own methods: the class of their params in `cairn.protocol`, and what the engine does."""


def _register_request(server: CairnServer, method: str, params_class: str, work: Request) -> None:
    @server.feature(method)
    async def handle(params: Any) -> Any:
        # Imported here: `initialize` is answered before anything that Cairn itself needs is loaded.
        from cairn import protocol
        from cairn.schema import structure, unstructure

        try:
            request = structure(_without_tokens(params), getattr(protocol, params_class))
        except InvalidRequestError as problem:
            raise JsonRpcInvalidParams(str(problem)) from problem
        return unstructure(await server.run(lambda engine, cancelled: work(engine, request, cancelled)))


_PROGRESS_TOKENS = ("workDoneToken", "partialResultToken")
"""LSP allows them in the params of any request."""


def _without_tokens(params: Any) -> Any:
    if params is None:
        return {}
    if not isinstance(params, dict):
        return params
    return {key: value for key, value in params.items() if key not in _PROGRESS_TOKENS}


def _folders(server: CairnServer) -> list[Path]:
    """The folders the editor has open; one without folder support has a root alone."""
    workspace = server.workspace
    uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
    return _paths(uris)


def _paths(uris: list[str]) -> list[Path]:
    """The local files among `uris`; documents of other schemes have no file to index."""
    return [Path(path) for uri in uris if uri.startswith("file:") and (path := to_fs_path(uri))]


async def _changed(server: CairnServer, uris: list[str]) -> None:
    engine = await server.engine()
    for path in _paths(uris):
        engine.changed(path)


async def _register_watched_files(server: CairnServer) -> None:
    """Have the editor report changes too: on remote and network file systems the system's watcher may not."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers=[types.FileSystemWatcher("**/*")])
    registration = types.Registration("cairn-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))


async def _exit_with_parent(server: CairnServer, process_id: int) -> None:
    import psutil

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
    server = build_server()
    server.protocol.answered = answered.request_id
    try:
        server.start_io(stdin=cast(BinaryIO, answered.input), stdout=stdout)
    finally:
        server.close()
    return 0 if server.protocol._shutdown else 1
