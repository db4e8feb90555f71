"""Limits the time of a whole exchange with another program.

The timeout of a socket starts again with each byte, so a program that sends byte by byte never exceeds it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def ended_after(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Shut the connection down after `seconds`, unless the block ends earlier."""

    def end() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
