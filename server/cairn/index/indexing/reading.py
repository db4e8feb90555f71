"""One file, from the disk to what the index has of it. Nothing here is shared, so that worker processes do it, too."""

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
"""File systems keep time in steps of up to 10 ms (Linux: a timer tick of 1 to 10 ms)."""


@frozen
class ReadRequest:
    """A file to read."""

    entry: FileEntry
    collection: str
    before: FileRecord | None
    """What the index has of it, None where it is to be written in any case."""
    indexed: frozenset[bytes] = frozenset()
    """Digests of the texts of the chunks that the index has of it."""


@frozen
class Reading:
    """What became of a file."""

    file: IndexedFile | FileRecord | None = None
    """The file with its chunks, its record alone where the text is the same, None where there is nothing to write."""
    skipped: str = ""
    """The rule by which its content keeps it out."""
    unreadable: str = ""
    """The path, and why it could not be read or chunked."""


def read_file(root: Path, request: ReadRequest) -> Reading:
    """Read a file of the folder `root` and chunk it. What goes wrong is told in the result."""
    entry, before = request.entry, request.before
    try:
        text = read_text(root / entry.path)
    except FileNotFoundError:
        return Reading()  # the watcher reports the removal
    except OSError as problem:
        return Reading(unreadable=f"{entry.path}: {problem.strerror or problem}")
    record = record_of(request, content_key(text or ""))
    if before and evolve(before, size=record.size, mtime_ns=record.mtime_ns) == record:
        return Reading(record if before != record else None)
    if text is None:
        return Reading(IndexedFile.left_out(record))
    decision = decide_content(entry.path, text)
    if not decision.indexed:
        return Reading(IndexedFile.left_out(record), skipped=decision.rule)
    try:
        return Reading(IndexedFile.of(record, text))
    except Exception as problem:
        logger.exception("chunking %s failed", entry.path)
        return Reading(IndexedFile.left_out(record), unreadable=f"{entry.path}: chunking failed ({problem})")


def record_of(request: ReadRequest, content_hash: str) -> FileRecord:
    """The record of a file that was just read."""
    entry = request.entry
    # A file that was written a moment ago may be written again within the same tick of the file system's
    # clock; without a time, the next look reads it once more.
    mtime_ns = entry.mtime_ns if time.time_ns() - entry.mtime_ns > _TICK_NS else -1
    return FileRecord(entry.path, entry.size, mtime_ns, content_hash, request.collection)
