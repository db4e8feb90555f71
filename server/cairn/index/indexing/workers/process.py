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

from cairn.chunking.model import Chunk
from cairn.index.indexing.reading import Reading, ReadRequest, read_file
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.recipe import StaticRecipe

_NICENESS = 5
"""Typing and questions come first; Windows is told when the process is started."""

Requests = tuple[Path, StaticRecipe | None, Sequence[ReadRequest]]
"""The folder, what static vectors are made with, and files in the folder."""
Prepare = Callable[[Path, StaticRecipe | None, ReadRequest], Reading]


def prepare(root: Path, recipe: StaticRecipe | None, request: ReadRequest) -> Reading:
    """Read a file and prepare its rows, with `recipe` their static vectors, too."""
    reading = read_file(root, request)
    file = reading.file
    if not isinstance(file, IndexedFile):
        return reading
    chunks = [chunk for chunk in file.chunks if isinstance(chunk, Chunk)]
    vectors = recipe.vectors(chunks, file.record.path, file.record.collection) if recipe else ()
    return evolve(reading, file=file.prepared(vectors))


def serve(prepare: Prepare = prepare) -> None:
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
            root, recipe, batch = pickle.load(requests)
            _send(answers.write, answers.flush, [prepare(root, recipe, request) for request in batch])
    os._exit(0)  # nothing is left to be done, and a pipe that is gone would be flushed again


def _send(write: Callable[[bytes], object], flush: Callable[[], object], answer: object) -> None:
    write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    flush()
