"""Opens the engine of this process to other processes, on a separate thread."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.attach.channel import Channel, dialogue
from cairn.serve.engine_socket import EngineSocket

if TYPE_CHECKING:
    from cairn.engine.host import Host

logger = logging.getLogger(__name__)

_KEEP_SECONDS = 60.0
"""How long an editor or a server keeps an idle engine of an agent."""


def shared(kind: str, host: Host) -> Callable[[], None]:
    """Open the engine to other processes on a separate thread. Return a function that stops sharing it.

    If a socket cannot be made, log a warning; other processes then use engines of their own.
    """
    try:
        engine_socket = EngineSocket(lambda: host, lambda: open_folders(host), _KEEP_SECONDS, kind)
    except OSError as problem:
        logger.warning("other processes cannot use this engine: %s", problem)
        return lambda: None
    return _Thread(engine_socket).stop


def open_folders(host: Host) -> set[Path]:
    return {root for root, _ in tuple(host.shared)}


class OwnEngine:
    """An engine of this process that other processes cannot find."""

    def __init__(self) -> None:
        from cairn.engine.host import Host
        from cairn.settings.layers import Layers

        host = Host(Layers().without_workspace().settings.embedding)
        self._engine_socket = EngineSocket(lambda: host, tuple, _KEEP_SECONDS, None)
        self._thread = _Thread(self._engine_socket)

    def channel(self, wish: dict[str, Any]) -> Channel:
        """Connect to the engine. Raises AttachError if it refuses."""
        mine, other = socket.socketpair()
        self._thread.loop.call_soon_threadsafe(self._engine_socket.connect, other)
        return dialogue(mine, self._engine_socket.announcements.record, wish)


class _Thread:
    def __init__(self, engine_socket: EngineSocket) -> None:
        self.loop, self._stop = asyncio.new_event_loop(), asyncio.Event()

        def run() -> None:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(engine_socket.serve(self._stop))

        self._thread = threading.Thread(target=run, name="cairn-attached", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with suppress(RuntimeError):  # The loop has ended.
            self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
