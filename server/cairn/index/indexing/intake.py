"""Makes the index equal to the folder: finds changed files, reads and chunks them, and writes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from attrs import define, evolve, field

from cairn.index.indexing.folder_state import BURST, Activity, Progress
from cairn.index.indexing.reading import ReadRequest, ReadResult, read_file
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.settings.tree import IndexSettings
from cairn.startup.interpreter import trim_memory
from cairn.workspace.builtin_rules import UNREADABLE
from cairn.workspace.collections import Projects, find_projects
from cairn.workspace.scan import FileEntry, FileRules, ScanReport, scan

_FIRST_SECONDS, _BATCH_SECONDS = 0.25, 1.0
"""The longest time before the first batch is written, and between later batches. The time is short at first,
so that keyword search works early, and doubles with each batch."""
_BATCH_CHUNKS = 2_000
"""A batch is also written once it has this many chunks, in a transaction of about 120 ms. Batches of 500
chunks take 1.5 times the CPU time, because FTS5 writes a segment for each batch and merges the segments."""

_FIRST_SCANNED, _FIRST_FILES, _FIRST_FILE_BYTES = 1_000, 100, 20_000
"""The first scan of a folder pauses after so many files, to index so many of them of at most this size in
bytes. In a folder of 78,000 files, a pause gave the first answer after 2.5 s instead of 3.7 s. A scan of a
thousand files takes 30 to 90 ms, after which workers start while this process reads the first files."""
_WORTH_WORKERS_BYTES = 2_000_000
"""Worker processes are started to read at least this many bytes. The break-even is not measured yet."""


@define(eq=False)
class Intake:
    """Indexes the files of one folder, on the thread that owns the writer."""

    _root: Path
    _writer: IndexWriter
    _progress: Progress
    _stopped: Callable[[], bool]
    _on_batch: Callable[[], None]
    """Called after each batch of a reconcile, to index urgent files."""
    _is_urgent: Callable[[], bool] = lambda: False
    """Returns whether a reconcile must write its batch now because urgent files wait."""
    _on_compared: Callable[[], None] = lambda: None
    """Called in a reconcile when the changed files are known."""
    _on_written: Callable[[list[int]], None] = lambda ids: None
    _step_aside: Callable[[], None] = lambda: None
    """Called between two files to wait for queries, unless only a few files were saved."""
    _recipe: Callable[[], StaticRecipe | None] = lambda: None
    _rules: FileRules = field(init=False)
    _projects: Projects = field(factory=Projects, init=False)
    _workers: int = field(default=0, init=False)
    _overtaken: set[str] = field(factory=set, init=False)
    """The paths indexed since the scan that runs. What it knows of them may be outdated."""
    scan_seconds: float = field(default=0.0, init=False)

    @_rules.default
    def _any_rules(self) -> FileRules:
        return FileRules(self._root, IndexSettings())

    def reconcile(self, settings: IndexSettings, force: bool = False) -> None:
        """Compare the whole folder with the index and index changed files, or with `force` all files."""
        progress, writer = self._progress, self._writer
        progress.activity = Activity.SCANNING
        self._rules = FileRules(self._root, settings)
        self._workers = settings.workers
        report = ScanReport()
        is_empty = not writer.count_files()
        began = time.monotonic()
        entries: list[FileEntry] = []
        for entry in scan(self._root, self._rules, report, stop=self._stopped):
            entries.append(entry)
            if is_empty and len(entries) == _FIRST_SCANNED:
                self._take_in_first(entries, settings)
        self.scan_seconds = time.monotonic() - began
        if self._stopped():
            return  # the files that the stopped scan did not reach would look deleted
        self._projects = find_projects(self._root, (entry.path for entry in entries), settings.collections)
        known = writer.files()
        changed = [entry for entry in entries if force or not self._is_current(entry, known.get(entry.path))]
        present = {entry.path for entry in entries}
        hidden = _below(report.unreadable)
        removed = [path for path in known if path not in present and not hidden(path)]
        progress.files_total = len(entries)
        progress.files_done = len(entries) - len(changed)
        progress.skipped, progress.unreadable = dict(report.skipped), report.unreadable
        progress.scanning = progress.scanning or bool(changed)
        writer.note(scanned=not changed, files_total=len(entries))
        writer.note_left_out({**report.skipped, UNREADABLE: len(report.unreadable)})
        self._on_compared()
        if removed:
            writer.write((), removed)
        progress.activity = Activity.READING
        self._overtaken.clear()
        with writer.in_bulk():
            self._take_in(changed, {} if force else known, force, self._on_batch, self._step_aside)
        if not self._stopped():
            writer.note(scanned=1, files_total=len(entries))
            progress.scanning = False
            if changed or removed:
                writer.checkpoint()
                trim_memory()

    def _take_in_first(self, entries: Sequence[FileEntry], settings: IndexSettings) -> None:
        """Index the first small files of `entries`. Some are read again if their collection changes later."""
        self._progress.scanning = True
        self._projects = find_projects(self._root, (entry.path for entry in entries), settings.collections)
        small = (entry for entry in entries if entry.size <= _FIRST_FILE_BYTES)
        self._take_in(list(islice(small, _FIRST_FILES)), {}, False)

    def update(self, paths: Iterable[str], force: bool = False) -> None:
        """Index changes of single paths. A path may name a file or a directory, which may be deleted."""
        paths = list(paths)
        report = ScanReport()
        entries: dict[str, FileEntry] = {}
        gone: set[str] = set()
        for path in paths:
            found = {entry.path: entry for entry in self._present(path, report)}
            entries.update(found)
            gone.update(indexed for indexed in self._writer.files_below(path) if indexed not in found)
        if gone:
            self._writer.write((), sorted(gone))
        known = {} if force else self._writer.records(entries)
        changed = [e for e in entries.values() if not self._is_current(e, known.get(e.path))]
        step_aside = None
        if len(changed) > BURST:
            step_aside, total = self._step_aside, self._writer.count_files()
            self._writer.note(scanned=0)
            self._progress.activity = Activity.READING
            self._progress.files_total = total
            self._progress.files_done = max(0, total - len(changed))
        self._take_in(changed, known, force, step_aside=step_aside)
        self._overtaken.update(paths if self._progress.scanning else ())
        if not self._progress.scanning:
            total = self._writer.count_files()
            self._writer.note(scanned=1, files_total=total)
            self._progress.files_total = self._progress.files_done = total

    def _present(self, path: str, report: ScanReport) -> list[FileEntry]:
        target = self._root / path
        if target.is_dir() and not target.is_symlink():
            if not self._rules.decide_descent(path).indexed:
                return []
            return list(scan(self._root, self._rules, report, below=path, stop=self._stopped))
        if not self._rules.decide(path).indexed:
            return []
        try:
            status = target.lstat()
        except OSError:  # the file was removed after the rules read it
            return []
        return [FileEntry(path, status.st_size, status.st_mtime_ns)]

    def _is_current(self, entry: FileEntry, record: FileRecord | None) -> bool:
        return (
            record is not None
            and (record.size, record.mtime_ns) == (entry.size, entry.mtime_ns)
            and self._projects.is_current_collection(record.collection, entry.path)
        )

    def _take_in(
        self,
        entries: Sequence[FileEntry],
        known: Mapping[str, FileRecord],
        anew: bool,
        on_batch: Callable[[], None] | None = None,
        step_aside: Callable[[], None] | None = None,
    ) -> None:
        batch: list[IndexedFile] = []
        same: list[FileRecord] = []
        started, patience = time.monotonic(), _FIRST_SECONDS

        def flush() -> None:
            if batch:
                self._on_written(self._writer.write(batch, (), anew=anew))
            if same:
                self._writer.touch(same)
            batch.clear()
            same.clear()

        with closing(self._readings(entries, known, step_aside)) as readings:
            for reading in readings:
                self._note(reading)
                file = reading.file
                if isinstance(file, IndexedFile):
                    batch.append(file)
                elif file is not None:
                    same.append(file)
                is_due = time.monotonic() - started > patience or (on_batch and self._is_urgent())
                if is_due or sum(len(file.chunks) for file in batch) >= _BATCH_CHUNKS:
                    flush()
                    if on_batch is not None:
                        on_batch()
                    started, patience = time.monotonic(), min(2 * patience, _BATCH_SECONDS)
        flush()

    def _readings(
        self,
        entries: Sequence[FileEntry],
        known: Mapping[str, FileRecord],
        step_aside: Callable[[], None] | None,
    ) -> Generator[ReadResult, None, None]:
        """Yield the result for each file in order. If they are large in total, worker processes read them."""

        def requests() -> Iterator[ReadRequest]:
            for entry in entries:
                if self._stopped():
                    return
                if step_aside is not None:
                    step_aside()
                before = None if self._is_overtaken(entry.path) else known.get(entry.path)
                yield ReadRequest(entry, self._projects.collection(entry.path), before)

        waiting = requests()
        # The imports are here because a few files need no workers.
        workers = 1
        if sum(entry.size for entry in entries) >= _WORTH_WORKERS_BYTES:
            from cairn.index.indexing.worker_pool import WorkerPool, most_workers

            workers = most_workers(self._workers)
        if workers < 2:
            yield from (read_file(self._root, request) for request in waiting)
            return
        with closing(WorkerPool(self._root, workers, self._recipe())) as pool:
            # This thread reads files until the first worker is ready, so that early answers are not delayed.
            while not pool.is_ready and (request := next(waiting, None)):
                yield read_file(self._root, request)
            for request, reading in pool.read(map(self._with_digests, waiting)):
                if self._stopped():
                    return
                # The worker may have read the file before a save that is already indexed.
                late = self._is_overtaken(request.entry.path)
                yield read_file(self._root, evolve(request, before=None)) if late else reading

    def _with_digests(self, request: ReadRequest) -> ReadRequest:
        """Add the digests of the file's indexed chunks, for which a worker need not compute rows."""
        before = request.before
        # Embedded texts contain the name of the collection, so another collection makes all rows new.
        if before is None or before.collection != request.collection:
            return request
        return evolve(request, indexed=self._writer.chunk_digests(request.entry.path))

    def _is_overtaken(self, path: str) -> bool:
        places = self._overtaken
        return bool(places) and any(path == place or path.startswith(f"{place}/") for place in places)

    def _note(self, reading: ReadResult) -> None:
        self._progress.files_done += 1
        if reading.skipped:
            skipped = self._progress.skipped
            skipped[reading.skipped] = skipped.get(reading.skipped, 0) + 1
        if reading.unreadable:
            self._progress.unreadable.append(reading.unreadable)


def _below(unreadable: Iterable[str]) -> Callable[[str], bool]:
    """Return a test for paths in directories that the scan could not read. Their files stay in the index."""
    places = [entry.rpartition(": ")[0] for entry in unreadable]
    return lambda path: any(place in (".", path) or path.startswith(f"{place}/") for place in places)
