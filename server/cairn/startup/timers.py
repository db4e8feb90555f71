"""What happens if a block of code takes long."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

NOTICED_SECONDS = 1.0
"""A wait of this time is noticed."""


@contextmanager
def done_after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call `action` on another thread after `seconds`, unless the block ends earlier."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def said_if_late(message: str) -> AbstractContextManager[None]:
    """Write the message on stderr once the block has taken a second. "" writes nothing."""

    def say() -> None:
        with suppress(OSError, ValueError):  # The reader of stderr has closed it.
            sys.stderr.write(f"{message}\n")  # At once, so that no other line is written between its parts.
            sys.stderr.flush()

    return done_after(NOTICED_SECONDS, say if message else lambda: None)


def ended_after(connection: socket.socket, seconds: float) -> AbstractContextManager[None]:
    """Shut the connection down after `seconds`, unless the block ends earlier."""

    def end() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    return done_after(seconds, end)
