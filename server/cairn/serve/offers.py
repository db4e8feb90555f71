"""Says in the data folders of workspaces that this process has their engine, so that other processes find it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.attach.finding import ask_to_yield
from cairn.attach.records import BACKGROUND, Record, remove_record, taken_lock, write_record

if TYPE_CHECKING:
    from filelock import BaseFileLock

logger = logging.getLogger(__name__)


class Offers:
    """The folders for which this process says that it has their engine. Methods may be called from several threads at once."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._held: dict[Path, BaseFileLock] = {}
        self._unwritten: set[Path] = set()
        """Folders whose record could not be written."""
        self._changing = threading.Lock()
        self._ended = False

    def __contains__(self, folder: Path) -> bool:
        return folder in self._held

    def hold(self, folder: Path, lock: BaseFileLock | None = None) -> bool:
        """Say it of one more folder, unless another process does that wants to keep it; `lock` is one that was taken before."""
        with self._changing:
            return self._hold(folder, lock)

    def _hold(self, folder: Path, lock: BaseFileLock | None) -> bool:
        if self._ended:
            return False
        giving_way = None
        lock = lock or taken_lock(folder)
        if lock is None and self.record.kind != BACKGROUND:
            giving_way = ask_to_yield(folder)
            lock = taken_lock(folder)
        if lock is None:
            return False
        try:
            write_record(folder, self.record)
        except OSError as problem:
            if folder not in self._unwritten:  # It is tried again every few seconds.
                logger.warning("other processes will not find the engine of %s: %s", folder, problem)
            self._unwritten.add(folder)
            lock.release()
            return False
        finally:
            if giving_way is not None:
                giving_way.close()  # Its clients may look for another engine now.
        self._held[folder] = lock
        return True

    def follow(self, folders: Iterable[Path]) -> None:
        """Say it of these folders, and no longer of others."""
        wanted = set(folders)
        with self._changing:
            for gone in set(self._held) - wanted:
                self._release(gone)
            for folder in wanted - set(self._held):
                self._hold(folder, None)

    def end(self) -> None:
        """Say it no longer of any folder, from now on."""
        with self._changing:
            self._ended = True
            for folder in tuple(self._held):
                self._release(folder)

    def _release(self, folder: Path) -> None:
        lock = self._held.pop(folder)
        remove_record(folder, self.record)
        lock.release()
