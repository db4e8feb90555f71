"""Announces this process's engine in the workspaces' data folders, where other processes look for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.attach.engine_records import BACKGROUND, Record, acquire_lock, remove_record, write_record
from cairn.attach.finding import ask_to_yield

if TYPE_CHECKING:
    from filelock import BaseFileLock

logger = logging.getLogger(__name__)


class Announcements:
    """The folders whose engine this process announces. All methods are thread-safe."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._locks: dict[Path, BaseFileLock] = {}
        self._unwritten: set[Path] = set()
        """Folders in which the record could not be written."""
        self._changing = threading.RLock()
        self._ended = False

    def __contains__(self, folder: Path) -> bool:
        return folder in self._locks

    def add(self, folder: Path, lock: BaseFileLock | None = None) -> None:
        """Announce a folder, unless another process announces it. `lock` is its acquired lock, if any."""
        with self._changing, ExitStack() as announced:
            if self._ended:
                return
            lock = lock or acquire_lock(folder)
            if lock is None and self.record.kind != BACKGROUND and (yielding := ask_to_yield(folder)):
                # Then the clients of the other engine look for this one.
                announced.callback(yielding.close)
                lock = acquire_lock(folder)
            if lock is None:
                return
            try:
                write_record(folder, self.record)
                self._locks[folder] = lock
            except OSError as problem:
                if folder not in self._unwritten:  # `follow` tries again every few seconds.
                    logger.warning("other processes will not find the engine of %s: %s", folder, problem)
                self._unwritten.add(folder)
                lock.release()

    def follow(self, folders: Iterable[Path]) -> None:
        """Announce exactly these folders, and withdraw other announcements."""
        wanted = set(folders)
        with self._changing:
            for gone in set(self._locks) - wanted:
                self._release(gone)
            for folder in wanted - set(self._locks):
                self.add(folder)

    def end(self) -> None:
        """Withdraw all announcements, and ignore further calls."""
        with self._changing:
            self._ended = True
            for folder in tuple(self._locks):
                self._release(folder)

    def _release(self, folder: Path) -> None:
        lock = self._locks.pop(folder)
        remove_record(folder, self.record)
        lock.release()
