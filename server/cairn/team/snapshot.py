"""Make the parts of a snapshot: the index of the files that the store lacks, and the facts of all files.

Facts that depend on all files (imports, copies, git history) are computed in an in-memory index, whether this
run read a file or the store had it.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from attrs import evolve, frozen
from psycopg import Connection
from psycopg.rows import TupleRow

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.links import count_links, store_links
from cairn.index.indexing.reading import ReadRequest, ReadResult, prepare
from cairn.index.postgres.segment import FileFacts, bytes_of, parts_of, unpacked_part
from cairn.index.reader.bm25 import register
from cairn.index.store.database import create
from cairn.index.store.meta import set_facts
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors.vector_intake import VectorIntake
from cairn.index.vectors.vector_store import StaticRecipe
from cairn.settings.tree import EmbeddingSettings
from cairn.team.commit_files import TreeFile
from cairn.workspace.git_log import Tip

_BATCH_CHUNKS = 2_000
"""The number of chunks written per transaction, as in the indexing of a folder."""
_WORTH_WORKERS_BYTES = 2_000_000
"""The size of all files from which worker processes are worth starting, as in the indexing of a folder."""
_EVERY_SECONDS = 5.0
"""The interval of progress messages."""


def index_files(
    root: Path,
    requests: Sequence[ReadRequest],
    folder: Path,
    embedding: EmbeddingSettings,
    workers: int,
    progress: Callable[[str], None],
) -> tuple[int, list[str]]:
    """Index the files below `root` into an index file in `folder`. With 0 workers, use all spare cores.

    Return the number of chunks, and the paths that could not be read or chunked, each with the reason.
    """
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
    return chunks, unreadable


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


# --- facts that depend on all files -----------------------------------------------------------------

_ROUNDS = 40
"""The maximum number of rounds, of 30 s each. 20,000 commits take one round, or several on a slow disk."""
_numbers = itertools.count()


@frozen
class SnapshotFacts:
    """The packed parts and the facts of a snapshot."""

    parts: dict[str, bytes]
    facts: dict[str, Any]
    problem: str
    """Why a part of the history is missing, or ""."""


def describe(
    tip: Tip,
    files: Iterable[FileFacts],
    commits: bytes | None,
    with_history: bool,
    progress: Callable[[str], None],
) -> SnapshotFacts:
    """Count imports and copies among the files of a commit, and read their history.

    `commits` is the packed part `commits` of an earlier snapshot, None without one.
    """
    db = create(f"/cairn-whole-{next(_numbers)}", vfs="memdb")
    try:
        register(db)
        # The facts must not depend on which files the store had.
        files = sorted(files, key=lambda file: file.path)
        _fill(db, files, commits)
        store_links(db, count_links(db))
        problem = _read_history(db, tip, progress) if with_history else ""
        facts = {
            "files_total": len(files),
            "chunks": sum(file.chunks for file in files),
            "paths": 1,
            "links": 1,
            "counted": 1,
            "compared": 1,
            "content": 1,
            "static": 1,
            "static_queued": 0,
            "history": json.dumps([tip.commit, 1]),
        }
        return SnapshotFacts(parts_of(db), facts, problem)
    finally:
        db.close(True)


def _fill(db: apsw.Connection, files: Iterable[FileFacts], commits: bytes | None) -> None:
    with db:
        db.executemany(
            """INSERT INTO files(path, size, mtime_ns, content_hash, is_text, kind, collection, indexed_at,
                                 chunks, imports, sketch)
               VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                (
                    each.path, each.size, each.content_hash, int(each.is_text), each.kind, each.collection,
                    each.indexed_at, each.chunks, each.imports, each.sketch,
                )
                for each in files
            ),
        )  # fmt: skip
        set_facts(db, paths=1, links=1)
        for first, packed in unpacked_part(commits) if commits else ():
            db.execute("INSERT INTO commits(first, packed) VALUES (?, ?)", (first, bytes_of(packed)))


def _read_history(db: apsw.Connection, tip: Tip, progress: Callable[[str], None]) -> str:
    """Read the history as far as possible. Return why a part is missing, or ""."""
    known = -1
    for _ in range(_ROUNDS):
        history = GitHistory(db, tip)
        history.update(lambda: False)
        stored = int(db.execute("SELECT count(*) FROM commits").get or 0)
        if not history.problem or stored == known:
            return history.problem
        known = stored
        progress("Reading the history takes longer than usual; it goes on")
        with db:
            db.execute("DELETE FROM meta WHERE key = 'history'")
    return history.problem


# --- files that the store has -----------------------------------------------------------------------


def find_stored(
    connection: Connection[TupleRow],
    pool: int,
    shard: int,
    files: Sequence[TreeFile],
    collections: Sequence[str],
) -> dict[str, int]:
    """Return the ids, by path, of files that the pool already has with the same content and collection."""
    # A file has an empty hash if the worker process that read it died. Such a file is read again.
    rows = connection.execute(
        """SELECT w.path, f.id FROM unnest(%s::text[], %s::bytea[], %s::text[]) AS w(path, blob, collection)
           JOIN cairn.files f ON f.path = w.path AND f.blob = w.blob AND f.collection = w.collection
           WHERE f.shard = %s AND f.pool = %s AND f.version = %s AND f.content_hash <> ''""",
        (
            [file.path for file in files], [file.blob for file in files], list(collections),
            shard, pool, SCHEMA_VERSION,
        ),
    )  # fmt: skip
    return dict(rows.fetchall())


def file_facts(
    connection: Connection[TupleRow], pool: int, shard: int, ids: Iterable[int]
) -> list[FileFacts]:
    rows = connection.execute(
        """SELECT path, size, content_hash, is_text, kind, collection, indexed_at, chunks, imports, sketch
           FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s)""",
        (shard, pool, list(ids)),
    )
    return [FileFacts(*row) for row in rows]
