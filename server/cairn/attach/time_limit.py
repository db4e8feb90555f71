"""Limits the time of a whole exchange with another program.

The timeout of a socket starts again with each byte, so a program that sends byte by byte never exceeds it.
"""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager, suppress

from cairn.startup.timers import done_after


def ended_after(connection: socket.socket, seconds: float) -> AbstractContextManager[None]:
    """Shut the connection down after `seconds`, unless the block ends earlier."""

    def end() -> None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    return done_after(seconds, end)
