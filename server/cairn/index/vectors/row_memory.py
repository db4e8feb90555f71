"""Memory that the system can reclaim, for the rows of a large matrix: a memory-mapped file without a name.

A query reads some ten thousand of a million rows. The pages that it reads count as memory of the process, so
it releases them at the end. They stay in the system's file cache while no other program needs the space.
Reading 24,000 of a million rows takes 3.3 ms, and 2.7 ms if pages are not released.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

_ZEROS = bytes(1 << 20)


@frozen(eq=False)
class RowMemory:
    """The rows of a matrix and the memory they are in."""

    rows: NDArray[np.int8]
    """int8[capacity, dimension]."""
    _mapped: mmap.mmap | None = None

    @classmethod
    def of(cls, capacity: int, dimension: int, folder: Path | None) -> RowMemory:
        """Make room for `capacity` rows in an unnamed file in `folder`. Use ordinary memory if `folder` is
        None or no file can be created there."""
        if folder is not None and capacity * dimension:
            try:
                with tempfile.TemporaryFile(prefix="vectors-", dir=folder) as file:
                    _fill(file, capacity * dimension)
                    mapped = mmap.mmap(file.fileno(), capacity * dimension)
            except OSError as problem:
                logger.warning("no file can be created for static vectors, they stay in memory: %s", problem)
            else:
                return cls(np.frombuffer(mapped, np.int8).reshape(capacity, dimension), mapped)
        return cls(np.empty((capacity, dimension), np.int8))

    def release(self) -> None:
        """Let the system reclaim the pages, in 0.1 ms for a million rows. Their content stays in the file.
        Windows has no such call and reclaims pages when it needs them."""
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _fill(file: IO[bytes], size: int) -> None:
    """Allocate the whole file, because on a full disk a write to mapped memory would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        for start in range(0, size, len(_ZEROS)):
            file.write(_ZEROS[: size - start])
        file.flush()
