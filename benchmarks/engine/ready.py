"""Starts a daemon that has nothing left to do: all files are read, all chunks have vectors, nothing is
cold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.daemon import Daemon, all_files_indexed, settled
from engine.figures import Figures
from engine.index_file import index_path, opened
from engine.place import make_data_folder

_PATIENCE = 12 * 3600.0
_EVERY = 0.5


class NotReadyError(Exception):
    """The daemon finished its work without becoming `ready`."""


@contextmanager
def indexed(workspace: Path, data: Path) -> Iterator[tuple[Daemon, Figures]]:
    """Yield a daemon on a workspace whose index, in `data`, is complete, and figures of the index.

    Times are from the start of the process, and only present if the index was new. Raises NotReadyError if
    there is no model or the index cannot be written.
    """
    if not data.exists():
        make_data_folder(data)
    fresh = not list(data.glob("workspaces/*"))
    with Daemon(workspace, data) as daemon:
        daemon.wait_until(all_files_indexed, _PATIENCE, every=0.1)
        read = time.perf_counter() - daemon.started
        status = daemon.wait_until(settled, _PATIENCE, every=_EVERY)
        ready = time.perf_counter() - daemon.started
        if status["state"] != "ready":
            raise NotReadyError(f"{workspace}: the state is {status['state']!r}: {status['lastError']}")
        while not _imports_are_counted(data):  # This runs once nothing was written for some seconds.
            time.sleep(_EVERY)
        # Work that a new process does only once must not count for the first query.
        for _ in range(2):
            daemon.search("a first question", limit=10)
        yield (
            daemon,
            {
                "files": status["files"]["indexed"],
                "chunks": status["chunks"],
                "model": status["model"]["name"],
                "index_mb": round(index_path(data).stat().st_size / 1e6, 1),
                "all_files_indexed_s": round(read, 1) if fresh else None,
                "ready_s": round(ready, 1) if fresh else None,
            },
        )


def _imports_are_counted(data: Path) -> bool:
    with opened(data) as index:
        facts = dict(index.rows("SELECT key, value FROM meta WHERE key IN ('counted', 'links')"))
    return facts.get("counted") == facts.get("links")
