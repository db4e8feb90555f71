"""Options of the C library and the interpreter: memory and threads."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

_SWITCH_SECONDS = 0.0005
"""The interval at which a thread has to release the interpreter's lock. A query releases the lock about
twenty times to read the index. By default, it could wait 5 ms for the indexing thread each time."""

_COLLECT_AFTER = 20_000, 20, 20
"""How many new objects, and collections of younger objects, begin a collection. A query makes
hardly any garbage in cycles. By default (700, 10, 10), collections took 13 % of a search."""

_LARGE_BYTES = 8 << 20
"""The size in bytes from which a freed allocation returns to the system at once. With 1 MB, a query over a
million chunks had 5,400 page faults instead of 900, which took a tenth of its time."""
_ARENAS = 2
"""The number of heaps of the C library. By default each thread may have one, whose freed memory no other
thread uses."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""The option numbers in glibc's `malloc.h`."""


def release_freed_memory() -> None:
    """Make glibc return large freed arrays to the system, for long-running processes.

    By default glibc raises its thresholds up to 32 MB and keeps twice as much in each heap. A process with an
    open index of a million chunks shrank from 517 MB to 462 MB. Without glibc this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.gnu_get_libc_version  # noqa: B018 - raises AttributeError for any other library
            for option, value in (
                (_M_MMAP_THRESHOLD, _LARGE_BYTES),
                (_M_TRIM_THRESHOLD, _LARGE_BYTES),
                (_M_ARENA_MAX, _ARENAS),
            ):
                library.mallopt(option, value)


def trim_memory() -> None:
    """Return all freed memory to the system, on Linux with glibc.

    After indexing 23,000 chunks, a process shrank from 276 MB to 256 MB.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # musl has no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def exempt_from_collection() -> Iterator[None]:
    """Exempt all objects that are made inside the block, such as imported modules, from garbage collection.

    The collector took 0.08 of the 0.6 s that imports take at a start, and 45 ms of each later full
    collection.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def tune_for_answers() -> None:
    """Make threads release the interpreter's lock sooner, and the garbage collector run less often, for a
    process that both answers and indexes."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*_COLLECT_AFTER)
