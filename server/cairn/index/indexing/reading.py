"""Reads and chunks files, in this process or in a worker process.

A worker process reads pickled requests from standard input and writes pickled results to output. It ends at
the end of its input, which the system closes when the parent process ends for any reason.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

from attrs import evolve, frozen

from cairn.chunking.model import content_key
from cairn.index.store.writer import FileRecord, IndexedFile
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.startup.child_process import NICENESS, send, set_up_child_process
from cairn.startup.interpreter import exempt_from_collection
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


_COLLECT_EVERY = 50
"""The number of batches between two garbage collections. Automatic collections took a tenth of the time,
although there is hardly any garbage."""

Prepare = Callable[[Path, StaticRecipe | None, ReadRequest], ReadResult]


def prepare(root: Path, recipe: StaticRecipe | None, request: ReadRequest) -> ReadResult:
    """Read a file and compute the rows of its new chunks, with static vectors if there is a `recipe`."""
    reading = read_file(root, request)
    file = reading.file
    if not isinstance(file, IndexedFile):
        return reading
    return evolve(reading, file=file.prepared(recipe.vectors if recipe else None, request.indexed))


def serve(prepare: Prepare = prepare) -> None:
    """Handle requests until the input ends. The first pickle sent is True, once everything is imported."""
    requests, answers = set_up_child_process(NICENESS)
    with exempt_from_collection():
        import cairn.chunking.chunker
        import cairn.chunking.references.packed_table
        import cairn.workspace.import_graph  # noqa: F401  # reading a file would import these

    gc.disable()
    with contextlib.suppress(EOFError, BrokenPipeError):
        send(answers, True)
        for batches in itertools.count(1):
            root, recipe, batch = pickle.load(requests)
            send(answers, [prepare(root, recipe, request) for request in batch])
            if batches % _COLLECT_EVERY == 0:
                gc.collect()
    os._exit(0)  # an ordinary exit would flush a pipe that may be closed
