"""Says on stderr what a command waits for, if the wait is long enough to be noticed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NOTICED_SECONDS = 1.0


@contextmanager
def said_if_late(message: str) -> Iterator[None]:
    """Write the message once the block has taken a second. "" says nothing."""

    def say() -> None:
        with suppress(OSError, ValueError):  # The reader of stderr has closed it.
            print(message, file=sys.stderr, flush=True)

    timer = threading.Timer(NOTICED_SECONDS, say if message else lambda: None)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
