"""A worker process: takes requests from its standard input and answers on its standard output, one pickle after another.

It ends when its input does, which the system closes however the process that started it ends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve

from cairn.index.indexing.reading import Reading, ReadRequest, read_file
from cairn.index.store.writer import IndexedFile

_NICENESS = 5
"""Typing and questions come first; Windows is told when the process is started."""

Requests = tuple[Path, Sequence[ReadRequest]]
"""The folder, and files in it."""


def prepare(root: Path, request: ReadRequest) -> Reading:
    """Read a file and prepare its rows."""
    reading = read_file(root, request)
    if isinstance(reading.file, IndexedFile):
        return evolve(reading, file=reading.file.prepared())
    return reading


def serve(prepare: Callable[[Path, ReadRequest], Reading] = prepare) -> None:
    """Answer requests until there are no more. The first pickle sent is True: everything is imported by then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print would break the protocol
    import cairn.chunking.chunker
    import cairn.chunking.references.packing
    import cairn.workspace.imports  # noqa: F401  # what reading a file would import

    with contextlib.suppress(EOFError, BrokenPipeError):
        _send(answers.write, answers.flush, True)
        while True:
            root, batch = pickle.load(requests)
            _send(answers.write, answers.flush, [prepare(root, request) for request in batch])
    os._exit(0)  # nothing is left to be done, and a pipe that is gone would be flushed again


def _send(write: Callable[[bytes], object], flush: Callable[[], object], answer: object) -> None:
    write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    flush()
