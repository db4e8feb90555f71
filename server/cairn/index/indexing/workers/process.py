"""A worker process, which reads pickled requests from standard input and writes pickled results to output. It
ends at the end of its input, which the system closes when the parent process ends for any reason."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import pickle
from collections.abc import Callable
from pathlib import Path

from attrs import evolve

from cairn.index.indexing.reading import ReadRequest, ReadResult, read_file
from cairn.index.store.writer import IndexedFile
from cairn.index.vectors.store import StaticRecipe
from cairn.startup.child_process import NICENESS, send, set_up_child_process
from cairn.startup.interpreter import exempt_from_collection

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
        import cairn.chunking.references.packing
        import cairn.workspace.imports  # noqa: F401  # reading a file would import these

    gc.disable()
    with contextlib.suppress(EOFError, BrokenPipeError):
        send(answers, True)
        for batches in itertools.count(1):
            root, recipe, batch = pickle.load(requests)
            send(answers, [prepare(root, recipe, request) for request in batch])
            if batches % _COLLECT_EVERY == 0:
                gc.collect()
    os._exit(0)  # an ordinary exit would flush a pipe that may be closed
