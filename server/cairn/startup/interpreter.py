"""What the process tells the C library and the interpreter: about its memory, and about its threads."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

_SWITCH_SECONDS = 0.0005
"""A query gives the interpreter's lock away some twenty times, to read the index, and would wait for the indexing thread up
to 5 ms, Python's own interval, each time."""


_LARGE_BYTES = 8 << 20
"""What is allocated in one piece from this size on goes back to the system as soon as it is freed. With 1 MB a question about a million
chunks met 5,400 pages that were new to it instead of 900, a tenth of its time, and one about 14,000 chunks 1,000 instead of 20."""
_ARENAS = 2
"""Heaps of the C library. By default each of a dozen threads may have one, with freed memory that no other thread uses."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""The options have these numbers in glibc's `malloc.h`."""


def keep_no_freed_memory() -> None:
    """Have the C library give large arrays back once they are freed, in a process that answers questions for hours.

    glibc raises its own limits to 32 MB with the arrays that it sees, and keeps twice as much in each heap. A process that had opened
    an index of a million chunks fell from 517 MB to 462. Elsewhere than with glibc nothing happens.
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


def give_back_memory() -> None:
    """Have the C library let go of what was freed; elsewhere than on Linux that is not needed, or cannot be asked for.

    After 23,000 chunks were read and some embedded, a process of 276 MB fell to 256 MB.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # musl has no malloc_trim
            ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def made_to_last() -> Iterator[None]:
    """What is made meanwhile, imported modules above all, stays as long as the process: it is no garbage.

    The collector took 0.08 of the 0.6 s that a start's imports take, and 45 ms later on whenever it looked
    through all that they had made.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def let_queries_in() -> None:
    """Have threads hand over the interpreter sooner, in the whole process: for one that answers and indexes."""
    sys.setswitchinterval(_SWITCH_SECONDS)
