"""Reads and chunks one file. The module uses no shared state, so that worker processes can use it, too."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from attrs import evolve, frozen

from cairn.chunking.model import content_key
from cairn.index.store.writer import FileRecord, IndexedFile
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.scan import FileEntry, read_text

logger = logging.getLogger(__name__)

_TICK_NS = 20_000_000
"""Two writes within this time may get the same timestamp: Linux takes it from a timer tick of 1 to 10 ms."""


@frozen
class ReadRequest:
    entry: FileEntry
    """The file as it was listed. It may have changed since."""
    collection: str
    before: FileRecord | None
    """The record in the index; None to write the file in any case."""
    indexed: frozenset[bytes] = frozenset()
    """The digests of the texts of the file's indexed chunks."""


@frozen
class ReadResult:
    file: IndexedFile | FileRecord | None = None
    """The file with its chunks, only its record if its text is unchanged, or None to write nothing."""
    skipped: str = ""
    unreadable: str = ""
    """The path and the reason why the file could not be read or chunked."""


def read_file(root: Path, request: ReadRequest) -> ReadResult:
    """Read and chunk a file of the folder `root`. The result reports errors; none are raised."""
    path, before = request.entry.path, request.before
    file = root / path
    try:
        status = file.lstat()  # before the text, so that a later scan finds a change between the two
        text = read_text(file)
    except FileNotFoundError:
        return ReadResult()  # the watcher will report the removal
    except OSError as problem:
        return ReadResult(unreadable=f"{path}: {problem.strerror or problem}")
    entry = FileEntry(path, status.st_size, status.st_mtime_ns)
    record = record_of(entry, request.collection, content_key(text or ""))
    if before and evolve(before, size=record.size, mtime_ns=record.mtime_ns) == record:
        return ReadResult(record if before != record else None)
    if text is None:
        return ReadResult(IndexedFile.left_out(record))
    decision = decide_content(path, text)
    if not decision.indexed:
        return ReadResult(IndexedFile.left_out(record), skipped=decision.rule)
    try:
        return ReadResult(IndexedFile.of(record, text))
    except Exception as problem:
        logger.exception("chunking %s failed", path)
        return ReadResult(IndexedFile.left_out(record), unreadable=f"{path}: chunking failed ({problem})")


def record_of(entry: FileEntry, collection: str, content_hash: str) -> FileRecord:
    # A file just written may be written again within the same tick of the file system's clock. With an
    # invalid time, the next scan reads it again.
    mtime_ns = entry.mtime_ns if time.time_ns() - entry.mtime_ns > _TICK_NS else -1
    return FileRecord(entry.path, entry.size, mtime_ns, content_hash, collection)
