"""Memory for the rows of a large matrix that the system can take back: a file without a name, mapped.

Of a million rows a question looks at some ten thousand. Whatever is mapped counts as the process's own memory, so the pages are
let go after each look; they stay in the system's cache of files as long as nobody else needs the room, and a look at
24,000 of a million rows took 3.3 ms instead of 2.7.
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
    """Rows of a matrix, and where they lie."""

    rows: NDArray[np.int8]
    """int8[capacity, dimension]."""
    _mapped: mmap.mmap | None = None

    @classmethod
    def of(cls, capacity: int, dimension: int, folder: Path | None) -> RowMemory:
        """Room for `capacity` rows: in a file in `folder` that nobody else sees, or in plain memory without a folder.

        Plain memory serves, too, where no file can be made in the folder.
        """
        if folder is not None and capacity * dimension:
            try:
                with tempfile.TemporaryFile(prefix="vectors-", dir=folder) as file:
                    _fill(file, capacity * dimension)
                    mapped = mmap.mmap(file.fileno(), capacity * dimension)
            except OSError as problem:
                logger.warning("static vectors stay in memory, no file can be made for them: %s", problem)
            else:
                return cls(np.frombuffer(mapped, np.int8).reshape(capacity, dimension), mapped)
        return cls(np.empty((capacity, dimension), np.int8))

    def let_go(self) -> None:
        """Have the system take the pages that were looked at; what is in them stays in the file. 0.1 ms for a million rows.

        Windows has no call for it, and takes pages when it needs them.
        """
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _fill(file: IO[bytes], size: int) -> None:
    """Make the file so large that every page has its place on the disk: to write into a hole of a full disk would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        for start in range(0, size, len(_ZEROS)):
            file.write(_ZEROS[: size - start])
        file.flush()
