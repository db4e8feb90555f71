"""Makes the index equal to the folder: compares, reads, chunks and writes what differs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from attrs import define, evolve, field

from cairn.chunking import Chunk, chunk_text
from cairn.chunking.model import content_key
from cairn.config import WORKSPACE_FILE, IndexSettings
from cairn.index.writer import FileRecord, IndexedFile, IndexWriter
from cairn.workspace.collections import MANIFESTS, Projects, file_kind, find_projects
from cairn.workspace.rules import IGNORE_FILES, FileRules
from cairn.workspace.scan import FileEntry, ScanReport, read_text, scan

logger = logging.getLogger(__name__)

_BATCH_SECONDS = 0.25
"""A batch is written after this long at the latest, so that keyword answers come while indexing runs."""
_BATCH_CHUNKS = 500
"""…or once it holds this many: one transaction of about 35 ms."""

_TURNING_FILES = frozenset({*IGNORE_FILES, *MANIFESTS, WORKSPACE_FILE})
"""A change of one of these can change what is indexed, or how collections are named."""


@define
class Progress:
    """Where indexing is. Written by the indexing thread only, read by anyone."""

    scanning: bool = True
    files_total: int = 0
    files_done: int = 0
    queued: int = 0
    """Texts without a vector."""
    skipped: dict[str, int] = field(factory=dict)
    """Files and directories left out, by rule."""
    unreadable: list[str] = field(factory=list)
    """Paths that could not be read, each with the system's reason."""


def needs_rescan(paths: Iterable[str]) -> bool:
    """Whether a change of these paths can change what is indexed at all."""
    return any(path.rpartition("/")[2] in _TURNING_FILES for path in paths)


class Intake:
    """Takes files into the index of one folder, on the thread that owns the writer."""

    def __init__(
        self,
        root: Path,
        writer: IndexWriter,
        progress: Progress,
        stopped: Callable[[], bool],
        on_batch: Callable[[], None],
    ) -> None:
        """`on_batch` is called after each batch of a reconcile: the place to take in what is urgent."""
        self._root = root
        self._writer = writer
        self._progress = progress
        self._stopped = stopped
        self._on_batch = on_batch
        self._rules = FileRules(root, IndexSettings())
        self._projects = Projects()

    def reconcile(self, settings: IndexSettings, force: bool = False) -> None:
        """Compare the whole folder with the index and write what differs; with `force`, everything."""
        progress, writer = self._progress, self._writer
        progress.scanning = True
        self._rules = FileRules(self._root, settings)
        report = ScanReport()
        entries = list(scan(self._root, self._rules, report, stop=self._stopped))
        if self._stopped():
            return  # a scan cut short must not look like a folder emptied
        self._projects = find_projects(self._root, (entry.path for entry in entries))
        known = {} if force else writer.files()
        changed = [entry for entry in entries if not self._is_current(entry, known.get(entry.path))]
        present = {entry.path for entry in entries}
        hidden = _below(report.unreadable)
        removed = [path for path in writer.files() if path not in present and not hidden(path)]
        progress.files_total = len(entries)
        progress.files_done = len(entries) - len(changed)
        progress.skipped, progress.unreadable = dict(report.skipped), report.unreadable
        writer.set_scanned(not changed, len(entries))
        if removed:
            writer.write((), removed)
        self._take_in(changed, known, self._on_batch)
        if not self._stopped():
            writer.set_scanned(True, len(entries))
            writer.checkpoint()
            progress.scanning = False

    def update(self, paths: Iterable[str]) -> None:
        """Take in single changes. A path may be a file or a directory, present or gone."""
        report = ScanReport()
        entries: dict[str, FileEntry] = {}
        gone: set[str] = set()
        for path in paths:
            found = {entry.path: entry for entry in self._present(path, report)}
            entries.update(found)
            gone.update(indexed for indexed in self._writer.files_below(path) if indexed not in found)
        if gone:
            self._writer.write((), sorted(gone))
        known = self._writer.records(entries)
        self._take_in([e for e in entries.values() if not self._is_current(e, known.get(e.path))], known)
        if not self._progress.scanning:
            total = self._writer.count_files()
            if total != self._progress.files_total:
                self._writer.set_scanned(True, total)
            self._progress.files_total = self._progress.files_done = total

    def _present(self, path: str, report: ScanReport) -> list[FileEntry]:
        """The indexable files that `path` stands for now."""
        target = self._root / path
        if target.is_dir() and not target.is_symlink():
            if not self._rules.decide_descent(path).indexed:
                return []
            return list(scan(self._root, self._rules, report, below=path, stop=self._stopped))
        if not self._rules.decide(path).indexed:
            return []
        try:
            status = target.lstat()
        except OSError:  # removed since the rules looked
            return []
        return [FileEntry(path, status.st_size, status.st_mtime_ns)]

    def _is_current(self, entry: FileEntry, record: FileRecord | None) -> bool:
        return (
            record is not None
            and (record.size, record.mtime_ns) == (entry.size, entry.mtime_ns)
            and record.collection == self._projects.collection(entry.path)
        )

    def _take_in(
        self,
        entries: Iterable[FileEntry],
        known: Mapping[str, FileRecord],
        on_batch: Callable[[], None] = lambda: None,
    ) -> None:
        batch: list[IndexedFile] = []
        same: list[FileRecord] = []
        started = time.monotonic()

        def flush() -> None:
            if batch:
                self._writer.write(batch, ())
            if same:
                self._writer.touch(same)
            batch.clear()
            same.clear()

        for entry in entries:
            if self._stopped():
                break
            file = self._read(entry, known.get(entry.path))
            self._progress.files_done += 1
            if isinstance(file, IndexedFile):
                batch.append(file)
            elif file is not None:
                same.append(file)
            late = time.monotonic() - started > _BATCH_SECONDS
            if late or sum(len(file.chunks) for file in batch) >= _BATCH_CHUNKS:
                flush()
                on_batch()
                started = time.monotonic()
        flush()

    def _read(self, entry: FileEntry, before: FileRecord | None) -> IndexedFile | FileRecord | None:
        """The file with its chunks, its record alone where the text is the same, None if it cannot be read."""
        try:
            text = read_text(self._root / entry.path)
        except FileNotFoundError:
            return None  # the watcher reports the removal
        except OSError as problem:
            self._progress.unreadable.append(f"{entry.path}: {problem.strerror or problem}")
            return None
        collection = self._projects.collection(entry.path)
        record = FileRecord(entry.path, entry.size, entry.mtime_ns, content_key(text or ""), collection)
        if before and evolve(before, size=entry.size, mtime_ns=entry.mtime_ns) == record:
            return record
        return IndexedFile(
            record, file_kind(entry.path), text is not None, self._chunks(entry.path, text or "")
        )

    def _chunks(self, path: str, text: str) -> tuple[Chunk, ...]:
        try:
            return tuple(chunk_text(path, text))
        except Exception as problem:
            logger.exception("chunking %s failed", path)
            self._progress.unreadable.append(f"{path}: chunking failed ({problem})")
            return ()


def _below(unreadable: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path lies where the scan could not look; such files keep what the index has of them."""
    places = [entry.rpartition(": ")[0] for entry in unreadable]
    return lambda path: any(place in (".", path) or path.startswith(f"{place}/") for place in places)
