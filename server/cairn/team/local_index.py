"""Index files into a new index file, with chunks, keywords, symbol tables and static vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

from attrs import evolve, frozen

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.reading import ReadRequest, ReadResult, prepare
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.settings.tree import EmbeddingSettings

_BATCH_CHUNKS = 2_000
"""The number of chunks written per transaction, as in the indexing of a folder."""
_WORTH_WORKERS_BYTES = 2_000_000
"""The size of all files from which worker processes are worth starting, as in the indexing of a folder."""
_EVERY_SECONDS = 5.0
"""The interval of progress messages."""


@frozen
class IndexedFiles:
    embedded: int
    """The number of chunks that got a static vector."""
    unreadable: tuple[str, ...]
    """The paths that could not be read or chunked, each with the reason."""


def index_files(
    root: Path,
    requests: Sequence[ReadRequest],
    folder: Path,
    embedding: EmbeddingSettings,
    workers: int,
    progress: Callable[[str], None],
) -> IndexedFiles:
    """Index the files below `root` into an index file in `folder`. With 0 workers, use all spare cores."""
    folder.mkdir(parents=True)
    writer = IndexWriter(folder)
    try:
        # Every clone has the code model, and makes the vectors of its own changes by it.
        embedding = evolve(embedding, model="")
        static = VectorIntake(writer, SharedModel(embedding), frozenset)
        static.announce(embedding)
        static.select(embedding)
        with writer.in_bulk():
            unreadable = _write_all(root, requests, writer, static.recipe(embedding), workers, progress)
        static.select(embedding)
        while static.step(embedding):
            pass
        writer.note(scanned=1, files_total=len(requests), static=1, static_queued=0)
        chunks = writer.facts().chunks
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    return IndexedFiles(chunks, tuple(unreadable))


def _write_all(
    root: Path,
    requests: Sequence[ReadRequest],
    writer: IndexWriter,
    recipe: StaticRecipe | None,
    workers: int,
    progress: Callable[[str], None],
) -> list[str]:
    unreadable: list[str] = []
    batch: list[IndexedFile] = []
    reported = time.monotonic()
    with closing(_readings(root, requests, recipe, workers)) as readings:
        for done, reading in enumerate(readings, 1):
            if reading.unreadable:
                unreadable.append(reading.unreadable)
            if isinstance(reading.file, IndexedFile):
                batch.append(reading.file)
            if sum(len(file.chunks) for file in batch) >= _BATCH_CHUNKS:
                writer.write(batch, ())
                batch.clear()
            if time.monotonic() - reported >= _EVERY_SECONDS:
                progress(f"Read {done:,} of {len(requests):,} files")
                reported = time.monotonic()
    writer.write(batch, ())
    return unreadable


def _readings(
    root: Path, requests: Sequence[ReadRequest], recipe: StaticRecipe | None, workers: int
) -> Generator[ReadResult, None, None]:
    """Yield the result of reading each file, in order. If the files are large, worker processes read them.

    Vectors are made file by file: rounding depends on which texts are embedded together, so otherwise it
    would show which other files a run had read.
    """
    if sum(request.entry.size for request in requests) >= _WORTH_WORKERS_BYTES:
        from cairn.index.indexing.worker_pool import WorkerPool, most_workers

        if (processes := most_workers(workers)) > 1:
            with closing(WorkerPool(root, processes, recipe)) as pool:
                for _, reading in pool.read(requests):
                    yield reading
            return
    for request in requests:
        yield prepare(root, recipe, request)
