"""Shares an engine of this process with other processes, on a thread of its own."""

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
"""How long an editor or a server keeps what an agent had asked, for the next one."""


def shared(kind: str, host: Host) -> Callable[[], None]:
    """Let other processes ask the engine of this one, on a thread of its own; what ends that.

    Where no socket can be had, nothing happens but a warning: other processes have engines of their own then.
    """
    try:
        engine_socket = EngineSocket(lambda: host, lambda: open_folders(host), _KEEP_SECONDS, kind)
    except OSError as problem:
        logger.warning("other processes cannot ask this engine: %s", problem)
        return lambda: None
    return _Thread(engine_socket).stop


def open_folders(host: Host) -> set[Path]:
    """The folders that are open in this process."""
    return {root for root, _ in tuple(host.shared)}


class OwnEngine:
    """An engine of this process that no other one finds."""

    def __init__(self) -> None:
        """Start a thread for it; the engine itself is made with the first question."""
        from cairn.engine.host import Host
        from cairn.settings.layers import Layers

        host = Host(Layers().without_workspace().settings.embedding)
        self._engine_socket = EngineSocket(lambda: host, tuple, _KEEP_SECONDS, None)
        self._thread = _Thread(self._engine_socket)

    def channel(self, wish: dict[str, Any]) -> Channel:
        """A connection to it. Raises AttachError where it cannot be asked."""
        mine, other = socket.socketpair()
        self._thread.loop.call_soon_threadsafe(self._engine_socket.connect, other)
        return dialogue(mine, self._engine_socket.offers.record, wish)


class _Thread:
    """Runs an engine's socket on a thread of its own."""

    def __init__(self, engine_socket: EngineSocket) -> None:
        self.loop, self._told = asyncio.new_event_loop(), asyncio.Event()

        def run() -> None:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(engine_socket.serve(self._told))

        self._thread = threading.Thread(target=run, name="cairn-attached", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it, and wait for that."""
        with suppress(RuntimeError):  # It has ended already.
            self.loop.call_soon_threadsafe(self._told.set)
        self._thread.join()
