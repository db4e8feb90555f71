"""Builds the language server of a connection, and runs the server over stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from io import BufferedReader
from typing import TYPE_CHECKING, BinaryIO, cast

from lsprotocol import types
from pygls.io_ import StdoutWriter

from cairn.lsp.capabilities import Capabilities
from cairn.lsp.editor_connection import Connection
from cairn.lsp.hover import HOVER
from cairn.lsp.jsonrpc import StdinReader, speak
from cairn.lsp.lenses import CodeLenses
from cairn.lsp.navigation import NAVIGATION
from cairn.lsp.own_requests import register_requests
from cairn.lsp.show import register_show
from cairn.lsp.workspace import open_folders, register_with_client, register_workspace
from cairn.startup.ending import ended
from cairn.startup.interpreter import release_freed_memory, tune_for_answers

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.host import Host
    from cairn.lsp.editor_connection import MakeEngine

logger = logging.getLogger(__name__)


def build_server(
    host: Host | None = None,
    make: MakeEngine | None = None,
    share: Callable[[Engine], Callable[[], None]] | None = None,
) -> Connection:
    """Return a server with all features registered; the arguments are those of `Connection`."""
    server = Connection(host, make, share)
    lenses = CodeLenses(server)
    capabilities = Capabilities(server, (*NAVIGATION, lenses.feature, HOVER))

    async def settings_changed() -> None:
        await capabilities.renew()
        await lenses.settings_changed()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        server.editor_settings = options if isinstance(options, dict) else {}
        capabilities.announce(options)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        if server.is_started:
            logger.warning("`initialized` came twice")
            return
        server.start_engine(open_folders(server))
        server.in_background(register_with_client(server))
        server.in_background(capabilities.offer())
        server.in_background(lenses.keep_current())
        if server.process_id and server.host is None:
            server.in_background(_exit_with_parent(server, server.process_id))

    register_workspace(server, settings_changed)
    register_requests(server)
    register_show(server)
    return server


async def _exit_with_parent(server: Connection, process_id: int) -> None:
    await ended(process_id)
    logger.warning("the editor (process %d) is gone; exiting", process_id)
    await asyncio.get_running_loop().run_in_executor(None, server.close)
    os._exit(1)  # The thread that reads from the pipe cannot be interrupted.


def serve_stdio(
    first: bytes,
    answered: int | str | None,
    stdout: BinaryIO,
    share: Callable[[Engine], Callable[[], None]] | None = None,
) -> int:
    """Speak LSP over stdin and stdout until the client sends `exit`. Return the process's exit code.

    `first` is the message that `cairn.lsp.early` has read, and `answered` the id of the request that it has
    answered. `share` is described at `Connection`.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    # pygls logs whole message bodies at INFO, and a traceback for each request that it refuses.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    tune_for_answers()
    release_freed_memory()
    server = build_server(share=share)
    server.protocol.answered = answered
    server.protocol.set_writer(StdoutWriter(stdout))
    reader = StdinReader(cast(BufferedReader, sys.stdin.buffer), server.thread_pool)
    try:
        asyncio.run(speak(server.protocol, reader, first))
    except BrokenPipeError:
        logger.error("the editor closed the connection")
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]
        server.close()
    return 0 if server.protocol._shutdown else 1
