"""Worker processes prepare what the index would have without them, and lose nothing when one ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import psutil
import pytest

from cairn.chunking.model import Chunk
from cairn.embedding.packaged import FOLDER, load_packaged
from cairn.index.indexing import intake
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.intake import Intake
from cairn.index.indexing.reading import ReadRequest, read_file
from cairn.index.indexing.workers.pool import WorkerPool, spare_cores
from cairn.index.store.prepared import ChunkRow
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.index.vectors.recipe import StaticRecipe, static_vectors
from cairn.index.vectors.store import ChunkText, VectorStore
from cairn.settings.tree import EmbeddingSettings, IndexSettings
from cairn.workspace.scan import FileEntry

PACKAGE = Path(intake.__file__).parents[2]
"""Cairn's own source: real files of some size."""

CRASHING = """
import os
from cairn.index.indexing.workers import process
def prepare(root, recipe, request):
    if request.entry.path == "crash.py":
        os._exit(11)
    return process.prepare(root, recipe, request)
process.serve(prepare)
"""
"""A worker that a file ends, as a fault in a grammar does."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name in ("a", "b", "crash", "c"):
        (root / f"{name}.py").write_text(f"def {name}():\n    return moor_ship()\n", "utf-8")
    return root


def requests(root: Path) -> Iterator[ReadRequest]:
    for path in sorted(root.glob("*.py")):
        status = path.stat()
        yield ReadRequest(FileEntry(path.name, status.st_size, status.st_mtime_ns), "project-source", None)


def test_pool_reads_files_in_order(root: Path) -> None:
    with closing(WorkerPool(root, 2)) as pool:
        readings = [reading for _, reading in pool.read(requests(root))]
    files = [reading.file for reading in readings]
    assert all(isinstance(file, IndexedFile) and file.chunks for file in files)
    assert [file.record.path for file in files if isinstance(file, IndexedFile)] == [
        "a.py",
        "b.py",
        "c.py",
        "crash.py",
    ]


def test_file_that_ends_its_worker_is_unreadable_and_others_are_read(root: Path) -> None:
    with closing(WorkerPool(root, 2, program=CRASHING)) as pool:
        readings = [reading for _, reading in pool.read(requests(root))]
    assert [bool(reading.unreadable) for reading in readings] == [False, False, False, True]
    assert "crash.py" in readings[3].unreadable
    assert all(isinstance(r.file, IndexedFile) and r.file.chunks for r in readings[:3])


def test_static_vectors_come_with_the_chunks_as_they_would_be_made_later(root: Path) -> None:
    settings = EmbeddingSettings()
    with closing(WorkerPool(root, 1, StaticRecipe(FOLDER, settings))) as pool:
        readings = [reading.file for _, reading in pool.read(requests(root))]
    table = load_packaged()
    for request, file in zip(requests(root), readings, strict=True):
        own = read_file(root, request).file
        assert isinstance(own, IndexedFile)
        assert isinstance(file, IndexedFile)
        chunks = [chunk for chunk in own.chunks if isinstance(chunk, Chunk)]
        texts = [ChunkText.of(chunk, request.entry.path, request.collection) for chunk in chunks]
        expected = [vector.tobytes() for vector in static_vectors(table, texts, settings)]
        assert [row.vector for row in file.chunks if isinstance(row, ChunkRow)] == expected
        assert expected


def test_vectors_that_come_with_chunks_are_stored_and_no_chunk_waits(root: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    writer = IndexWriter(tmp_path / "data")
    VectorStore(writer.db).use_static("table", 256)
    with closing(WorkerPool(root, 1, StaticRecipe(FOLDER, EmbeddingSettings()))) as pool:
        files = [r.file for _, r in pool.read(requests(root)) if isinstance(r.file, IndexedFile)]
    ids = writer.write(files[:3], ())
    assert writer.facts().static_queued == 0
    assert VectorStore(writer.db).lacking_static(ids) == []
    late = writer.write([replace(files[3].record, root)], ())
    assert writer.facts().static_queued == len(late) > 0
    assert VectorStore(writer.db).lacking_static([*ids, *late]) == late
    writer.close()


def replace(record: FileRecord, root: Path) -> IndexedFile:
    return IndexedFile.of(record, (root / record.path).read_text("utf-8"))


def test_close_ends_all_processes(root: Path) -> None:
    pool = WorkerPool(root, 2)
    list(pool.read(requests(root)))
    started = [process.pid for process in pool._processes]
    pool.close()
    assert len(started) == 2
    assert not any(map(psutil.pid_exists, started))


def test_worker_ends_when_its_input_does() -> None:
    program = "from cairn.index.indexing.workers.process import serve; serve()"
    worker = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdout.read(1)  # it is there
    worker.stdin.close()
    assert worker.wait(30) == 0
    worker.stdout.close()


def test_wanted_number_of_workers_is_taken_as_it_is() -> None:
    assert spare_cores(3) == 3
    assert spare_cores() >= 1


def test_index_is_the_same_with_workers_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "_WORTH_WORKERS_BYTES", 0)
    monkeypatch.setattr(WorkerPool, "is_ready", True)  # or the first files would be read here
    alone, together = (tables(tmp_path / str(workers), workers) for workers in (1, 2))
    assert len(alone["chunks"]) > 500
    assert len(alone["chunks_fts"]) > 10_000
    assert alone.keys() == together.keys()
    assert [name for name in alone if alone[name] != together[name]] == []


def test_file_saved_while_workers_read_is_indexed_as_it_was_saved(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_WORTH_WORKERS_BYTES", 0)
    monkeypatch.setattr(intake, "_BATCH_CHUNKS", 1)  # a batch for each file
    monkeypatch.setattr(WorkerPool, "is_ready", True)
    (tmp_path / "data").mkdir()
    writer = IndexWriter(tmp_path / "data")
    saved = (root / "crash.py", root / "c.py")

    def save() -> None:
        """All files were read in one batch of a worker by now."""
        if saved[1].exists():
            saved[0].write_text("def saved_later():\n    pass\n", "utf-8")
            saved[1].unlink()
            taking.update([path.name for path in saved])

    taking = Intake(root, writer, Progress(), lambda: False, save)
    taking.reconcile(IndexSettings(workers=2))
    symbols = {row[0] for row in writer.db.execute("SELECT symbol FROM chunks")}
    writer.close()
    assert symbols == {"a", "b", "saved_later"}


def tables(data: Path, workers: int) -> dict[str, list[tuple[apsw.SQLiteValue, ...]]]:
    """What an index of Cairn's source has in every table, but for the time when and the number of batches in which it was written."""
    data.mkdir()
    writer = IndexWriter(data)
    Intake(PACKAGE, writer, Progress(), lambda: False, lambda: None).reconcile(IndexSettings(workers=workers))
    contents = {"files": list(writer.db.execute(f"SELECT {', '.join(_FILE_COLUMNS_COMPARED)} FROM files"))}
    listed = writer.db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL")
    schema = {str(name): str(sql) for name, sql in listed.fetchall()}
    keywords = [name for name, sql in schema.items() if "USING fts5(" in sql]
    for name in keywords:
        writer.db.execute(
            f"CREATE VIRTUAL TABLE temp.{name}_words USING fts5vocab('main', '{name}', 'instance')"
        )
        contents[name] = list(writer.db.execute(f"SELECT * FROM temp.{name}_words"))
    # How words lie in their tables depends on the batches; what they say was compared above.
    below = tuple(f"{name}_" for name in keywords)
    for name, sql in schema.items():
        if name not in (*contents, "meta") and not name.startswith(below) and "VIRTUAL" not in sql:
            contents[name] = list(writer.db.execute(f'SELECT * FROM "{name}"'))
    writer.close()
    return contents


_FILE_COLUMNS_COMPARED = (
    "id", "path", "size", "mtime_ns", "content_hash", "is_text", "kind", "collection", "chunks", "imports", "symbols_id",
)  # fmt: skip
