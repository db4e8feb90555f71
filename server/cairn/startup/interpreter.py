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
