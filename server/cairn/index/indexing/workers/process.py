"""A worker process: takes requests from its standard input and answers on its standard output, one pickle after another.

It ends when its input does, which the system closes however the process that started it ends.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from attrs import evolve

from cairn.index.indexing.reading import Reading, ReadRequest, read_file
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.recipe import StaticRecipe
from cairn.startup.interpreter import made_to_last

_NICENESS = 5
"""Typing and questions come first; Windows is told when the process is started."""

_COLLECT_EVERY = 50
"""Batches between two collections of garbage. The interpreter's own take a tenth of the time: they look through what is about to be
sent, and there is hardly any garbage."""

Requests = tuple[Path, StaticRecipe | None, Sequence[ReadRequest]]
"""The folder, what static vectors are made with, and files in the folder."""
Prepare = Callable[[Path, StaticRecipe | None, ReadRequest], Reading]


def prepare(root: Path, recipe: StaticRecipe | None, request: ReadRequest) -> Reading:
    """Read a file and prepare the rows of its new chunks, with `recipe` their static vectors, too."""
    reading = read_file(root, request)
    file = reading.file
    if not isinstance(file, IndexedFile):
        return reading
    return evolve(reading, file=file.prepared(recipe.vectors if recipe else None, request.indexed))


def work_for_another() -> tuple[BinaryIO, BinaryIO]:
    """Make this a process that works for the one that started it, and gives way to others; the pipes for requests and answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
    # Not those of `sys`: with PYTHONUNBUFFERED they write no more than the system takes at once, and a signal cuts that short.
    pipes = open(0, "rb", closefd=False), open(1, "wb", closefd=False)  # noqa: SIM115 - open to the end
    sys.stdout = sys.stderr  # a stray print would break the protocol
    return pipes


def serve(prepare: Prepare = prepare) -> None:
    """Answer requests until there are no more. The first pickle sent is True: everything is imported by then."""
    requests, answers = work_for_another()
    with made_to_last():
        import cairn.chunking.chunker
        import cairn.chunking.references.packing
        import cairn.workspace.imports  # noqa: F401  # what reading a file would import

    gc.disable()
    with contextlib.suppress(EOFError, BrokenPipeError):
        _send(answers.write, answers.flush, True)
        batches = 0
        while True:
            root, recipe, batch = pickle.load(requests)
            _send(answers.write, answers.flush, [prepare(root, recipe, request) for request in batch])
            batches += 1
            if batches % _COLLECT_EVERY == 0:
                gc.collect()
    os._exit(0)  # nothing is left to be done, and a pipe that is gone would be flushed again


def _send(write: Callable[[bytes], object], flush: Callable[[], object], answer: object) -> None:
    write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    flush()
