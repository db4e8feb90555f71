"""Worker processes prepare the same rows as the writer does, and lose nothing when one of them ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psutil
import pytest

from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.embedding.packaged import FOLDER, load_packaged
from cairn.index.indexing import intake, worker_pool
from cairn.index.indexing import worker_pool as pool_module
from cairn.index.indexing.folder_state import Progress
from cairn.index.indexing.intake import Intake
from cairn.index.indexing.reading import ReadRequest, read_file
from cairn.index.indexing.worker_pool import Turns, WorkerPool, most_workers
from cairn.index.store.deadline import never
from cairn.index.store.rows import ChunkRow
from cairn.index.store.schema import STATIC_TABLE
from cairn.index.store.writer import IndexedFile, IndexWriter
from cairn.index.vectors.vector_store import ChunkText, StaticRecipe, VectorStore, static_vectors
from cairn.settings.tree import EmbeddingSettings, IndexSettings
from cairn.workspace.scan import FileEntry

SOURCE = Path(intake.__file__).parents[1] / "vectors"
"""Part of Cairn's own source: real files of some size."""

CRASHING = """
import os
from cairn.index.indexing import reading
def prepare(root, recipe, request):
    if request.entry.path == "crash.py":
        os._exit(11)
    return reading.prepare(root, recipe, request)
reading.serve(prepare)
"""
"""A worker that a file crashes, as a fault in a grammar does."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name in ("a", "b", "crash", "c"):
        (root / f"{name}.py").write_text(f"def {name}():\n    return moor_ship()\n", "utf-8")
    return root


@pytest.fixture
def all_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers read every file."""
    monkeypatch.setattr(intake, "_WORTH_WORKERS_BYTES", 0)
    monkeypatch.setattr(WorkerPool, "is_ready", True)


def new_writer(folder: Path) -> IndexWriter:
    folder.mkdir()
    return IndexWriter(folder)


def requests(root: Path) -> Iterator[ReadRequest]:
    for path in sorted(root.glob("*.py")):
        status = path.stat()
        yield ReadRequest(FileEntry(path.name, status.st_size, status.st_mtime_ns), "project-source", None)


@pytest.mark.parametrize("batch", [1, 64])
def test_pool_reads_files_in_order(root: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(pool_module, "_BATCH_FILES", batch)
    with closing(WorkerPool(root, 2)) as pool:
        readings = [reading for _, reading in pool.read(requests(root))]
    files = [reading.file for reading in readings]
    assert all(isinstance(file, IndexedFile) and file.chunks for file in files)
    paths = [file.record.path for file in files if isinstance(file, IndexedFile)]
    assert paths == ["a.py", "b.py", "c.py", "crash.py"]


def test_file_that_crashes_its_worker_is_unreadable(root: Path) -> None:
    with closing(WorkerPool(root, 2, program=CRASHING)) as pool:
        readings = [reading for _, reading in pool.read(requests(root))]
    assert [bool(reading.unreadable) for reading in readings] == [False, False, False, True]
    assert "crash.py" in readings[3].unreadable
    assert all(isinstance(r.file, IndexedFile) and r.file.chunks for r in readings[:3])


def test_workers_make_the_same_static_vectors(root: Path) -> None:
    settings = EmbeddingSettings()
    with closing(WorkerPool(root, 1, StaticRecipe(FOLDER, settings))) as pool:
        readings = [reading.file for _, reading in pool.read(requests(root))]
    table = load_packaged()
    for request, file in zip(requests(root), readings, strict=True):
        own = read_file(root, request).file
        assert isinstance(own, IndexedFile)
        assert isinstance(file, IndexedFile)
        chunks = [chunk for chunk in own.chunks if isinstance(chunk, Chunk)]
        embedded = [composite_text(request.entry.path, request.collection, chunk) for chunk in chunks]
        texts = list(map(ChunkText.of, chunks, embedded))
        expected = [vector.tobytes() for vector in static_vectors(table, texts, settings)]
        assert [row.vector for row in file.chunks if isinstance(row, ChunkRow)] == expected
        assert expected


def test_writer_stores_the_vectors_of_workers(root: Path, tmp_path: Path) -> None:
    writer = new_writer(tmp_path / "data")
    VectorStore(writer.db).use_static("table", 256)
    with closing(WorkerPool(root, 1, StaticRecipe(FOLDER, EmbeddingSettings()))) as pool:
        files = [r.file for _, r in pool.read(requests(root)) if isinstance(r.file, IndexedFile)]
    ids = writer.write(files[:3], ())
    assert writer.facts().static_queued == 0
    assert VectorStore(writer.db).lacking_static(ids) == []
    record = files[3].record
    late = writer.write([IndexedFile.of(record, (root / record.path).read_text("utf-8"))], ())
    assert writer.facts().static_queued == len(late) > 0
    assert VectorStore(writer.db).lacking_static([*ids, *late]) == late
    writer.close()


def test_close_ends_all_processes(root: Path) -> None:
    pool = WorkerPool(root, 2)
    list(pool.read(requests(root)))
    started = [process.pid for process in pool._processes]
    pool.close()
    assert len(started) == 2
    assert not any(map(psutil.pid_exists, started))


def test_worker_ends_when_its_input_does() -> None:
    program = "from cairn.index.indexing.reading import serve; serve()"
    worker = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdout.read(1)  # it has started
    worker.stdin.close()
    assert worker.wait(30) == 0
    worker.stdout.close()


def test_setting_decides_the_number_of_workers() -> None:
    assert most_workers(3) == 3
    assert most_workers() >= 1


@pytest.mark.parametrize(("cores_of_others", "at_once"), [(0, 3), (1, 2), (3, 1)])
def test_as_many_threads_work_as_cores_are_idle(
    monkeypatch: pytest.MonkeyPatch, cores_of_others: int, at_once: int
) -> None:
    monkeypatch.setattr(worker_pool, "_EVERY_SECONDS", 0.01)
    turns, most, working = Turns(3, lambda: cores_of_others * time.monotonic()), 0, 0
    counting = threading.Lock()

    def work() -> None:
        nonlocal most, working
        for _ in range(5):
            with turns:
                with counting:
                    working += 1
                    most = max(most, working)
                time.sleep(0.02)
                with counting:
                    working -= 1

    time.sleep(0.02)
    with ThreadPoolExecutor(3) as threads:
        for each in [threads.submit(work) for _ in range(3)]:
            each.result()
    assert most == at_once


@pytest.mark.usefixtures("all_by_workers")
def test_file_saved_while_workers_read_is_indexed_as_saved(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_BATCH_CHUNKS", 1)  # a batch for each file
    writer = new_writer(tmp_path / "data")
    saved = (root / "crash.py", root / "c.py")

    def save() -> None:
        # A worker has read all files in one batch by now.
        if saved[1].exists():
            saved[0].write_text("def saved_later():\n    pass\n", "utf-8")
            saved[1].unlink()
            taking.update([path.name for path in saved])

    taking = Intake(root, writer, Progress(), lambda: False, save)
    taking.reconcile(IndexSettings(workers=2))
    symbols = {row[0] for row in writer.db.execute("SELECT symbol FROM chunks")}
    writer.close()
    assert symbols == {"a", "b", "saved_later"}


@pytest.mark.usefixtures("all_by_workers")
def test_index_is_the_same_with_and_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, recipe = tmp_path / "source", StaticRecipe(FOLDER, EmbeddingSettings())
    shutil.copytree(SOURCE, root)
    given: list[IndexedFile] = []
    write = IndexWriter.write

    def noted(self: IndexWriter, files: Sequence[IndexedFile], removed: Iterable[str], **how: bool) -> Any:
        given.extend(files)
        return write(self, files, removed, **how)

    monkeypatch.setattr(IndexWriter, "write", noted)
    writers = [new_writer(tmp_path / name) for name in ("alone", "together")]

    def index(workers: int) -> None:
        writer = writers[workers - 1]
        taking = Intake(root, writer, Progress(), never, lambda: None, recipe=lambda: recipe)
        taking.reconcile(IndexSettings(workers=workers))

    def compare() -> None:
        alone, together = map(contents, writers)
        assert len(alone["chunks"]) > 50
        assert len(alone["chunks_fts"]) > 2_000
        assert alone.keys() == together.keys()
        # A single process makes the vectors later.
        tables = [name for name in alone if not name.startswith((STATIC_TABLE, "sqlite_sequence"))]
        assert [name for name in tables if alone[name] != together[name]] == []

    for workers, writer in enumerate(writers, 1):
        VectorStore(writer.db).use_static("table", 256)
        index(workers)
    compare()
    before = {id_ for (id_,) in writers[1].db.execute("SELECT id FROM chunks")}
    for number, path in enumerate(sorted(root.rglob("*.py"))):
        text = path.read_text("utf-8")
        path.write_text(f"# {number}\n{text}\n\ndef moor_{number}(ship):\n    return ship\n", "utf-8")
    given.clear()
    index(workers=2)
    kept = [chunk for file in given for chunk in file.chunks if isinstance(chunk, Chunk)]
    rows = [chunk for file in given for chunk in file.chunks if isinstance(chunk, ChunkRow)]
    assert 0 < len(rows) < len(kept)
    assert all(row.vector for row in rows)
    assert writers[1].facts().static_queued == 0
    index(workers=1)
    compare()
    after = {id_ for (id_,) in writers[1].db.execute("SELECT id FROM chunks")}
    assert len(before & after) >= len(kept) > 0
    for writer in writers:
        writer.close()


def contents(writer: IndexWriter) -> dict[str, list[tuple[apsw.SQLiteValue, ...]]]:
    """Return the rows of every table, apart from the time and the number of batches of writing."""
    contents = {"files": list(writer.db.execute(f"SELECT {', '.join(_FILE_COLUMNS_COMPARED)} FROM files"))}
    listed = writer.db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL")
    schema = {str(name): str(sql) for name, sql in listed.fetchall()}
    keywords = [name for name, sql in schema.items() if "USING fts5(" in sql]
    for name in keywords:
        vocabulary = f"fts5vocab('main', '{name}', 'instance')"
        writer.db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name}_words USING {vocabulary}")
        contents[name] = list(writer.db.execute(f"SELECT * FROM temp.{name}_words"))
    # The tables below the keyword indexes depend on the batches.
    below = tuple(f"{name}_" for name in keywords)
    for name, sql in schema.items():
        if name not in (*contents, "meta") and not name.startswith(below) and "VIRTUAL" not in sql:
            contents[name] = list(writer.db.execute(f'SELECT * FROM "{name}"'))
    return contents


_FILE_COLUMNS_COMPARED = (
    "id", "path", "size", "mtime_ns", "content_hash", "is_text", "kind", "collection", "chunks", "imports",
    "symbols_id",
)  # fmt: skip
