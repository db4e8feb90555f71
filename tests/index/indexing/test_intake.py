"""The index follows the folder: changed files are indexed, unchanged ones are not."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workspace.secret_files import token

from cairn.chunking.model import content_key
from cairn.index.indexing import intake as intake_module
from cairn.index.indexing.folder_state import Progress, needs_rescan
from cairn.index.indexing.intake import Intake
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.deadline import never
from cairn.index.store.writer import FileRecord, IndexedFile, IndexWriter
from cairn.settings.tree import IndexSettings
from cairn.workspace.scan import FileEntry, scan

UNPRIVILEGED = 65_534


class Folder:
    """A folder of documents, its index, and the intake between them."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.root.mkdir()
        (base / "data").mkdir()
        self.writer = IndexWriter(base / "data")
        self.reader = SqliteReader(base / "data")
        self.progress = Progress()
        self.batches = 0
        self.intake = self.new_intake()

    def new_intake(self, stopped: Callable[[], bool] = never, **callbacks: Any) -> Intake:
        return Intake(self.root, self.writer, self.progress, stopped, self._count_batch, **callbacks)

    def _count_batch(self) -> None:
        self.batches += 1

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def write_all(self, *paths: str) -> None:
        for path in paths:
            self.write(path, f"# {path}\n")

    def reconcile(self) -> set[str]:
        self.intake.reconcile(IndexSettings())
        return self.paths()

    def update(self, *paths: str) -> set[str]:
        self.intake.update(paths)
        return self.paths()

    def paths(self) -> set[str]:
        return set(self.writer.files())

    def chunk_ids(self, path: str) -> list[int]:
        return [stored.id for stored in self.reader.page(path)]


@pytest.fixture
def folder() -> Iterator[Folder]:
    base = Path(tempfile.mkdtemp())
    folder = Folder(base)
    yield folder
    folder.writer.close()
    shutil.rmtree(base)


@pytest.fixture
def ordinary_user(folder: Folder) -> Iterator[None]:
    """Run as another user than root, who may read everything."""
    if os.geteuid() != 0:
        yield
        return
    base = folder.root.parent
    for path in (base, *base.rglob("*")):
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
    os.seteuid(UNPRIVILEGED)
    yield
    os.seteuid(0)


def test_reconcile_writes_only_changed_files(folder: Folder) -> None:
    names = ("same", "touched", "edited")
    folder.write_all(*(f"{name}.md" for name in names))
    folder.reconcile()
    before = {name: folder.chunk_ids(f"{name}.md") for name in names}
    os.utime(folder.root / "touched.md", (1, 1))
    folder.write("edited.md", "# Another text\n")
    folder.reconcile()
    assert folder.chunk_ids("same.md") == before["same"]
    assert folder.chunk_ids("touched.md") == before["touched"]
    assert folder.writer.files()["touched.md"].mtime_ns == 1_000_000_000
    assert folder.chunk_ids("edited.md") != before["edited"]


def test_file_loses_its_text_when_a_secret_is_saved_in_it(folder: Folder) -> None:
    folder.write("crane.yaml", "tide: low\n")
    folder.write("secrets-prod.yaml", "tide: high\n")
    assert folder.reconcile() == {"crane.yaml"}
    assert folder.reader.page("crane.yaml")
    before = folder.writer.facts().paths
    folder.write("crane.yaml", f"tide: low\ntoken: {token(random.Random(5))}\n")
    folder.update("crane.yaml")
    assert folder.reader.page("crane.yaml") == []
    assert folder.progress.skipped["built-in: may hold secrets"] == 2
    assert folder.writer.facts().paths > before


def test_update_follows_changed_files_and_directories(folder: Folder) -> None:
    folder.write_all("a.md", "docs/b.md", "docs/deep/c.md")
    assert folder.reconcile() == {"a.md", "docs/b.md", "docs/deep/c.md"}
    (folder.root / "docs").rename(folder.root / "manual")
    assert folder.update("docs", "manual") == {"a.md", "manual/b.md", "manual/deep/c.md"}
    (folder.root / "a.md").unlink()
    (folder.root / "a.md").mkdir()
    folder.write("a.md/inner.md", "# Inner\n")
    assert folder.update("a.md") == {"a.md/inner.md", "manual/b.md", "manual/deep/c.md"}
    shutil.rmtree(folder.root / "manual")
    assert folder.update("manual/deep/c.md", "manual") == {"a.md/inner.md"}
    assert folder.update("never/was.md") == {"a.md/inner.md"}


def test_the_index_is_incomplete_during_an_update_of_many_files(folder: Folder) -> None:
    seen: list[tuple[int, bool]] = []
    folder.intake = folder.new_intake(
        step_aside=lambda: seen.append((folder.reader.facts().scanned, folder.progress.files_done > 60))
    )
    folder.reconcile()
    paths = [f"{number}.md" for number in range(60)]
    folder.write_all(*paths)
    assert folder.update(*paths) == set(paths)
    assert set(seen) == {(0, False)}
    assert folder.reader.facts().scanned


def test_update_obeys_the_rules(folder: Folder) -> None:
    folder.write(".gitignore", "build/\n*.log\n")
    folder.reconcile()
    folder.write("build/out.md", "# Out\n")
    folder.write("run.log", "x\n")
    folder.write(".env", "SECRET=1\n")
    assert folder.update("build/out.md", "build", "run.log", ".env") == {".gitignore"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [("src/.gitignore", True), (".cairn.toml", True), ("sub/package.json", True), ("src/a.py", False)],
)
def test_changes_of_deciding_files_need_a_rescan(path: str, expected: bool) -> None:
    assert needs_rescan([path, "b.py"]) is expected


def test_long_scan_writes_batches(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "_BATCH_CHUNKS", 20)
    for number in range(10):
        folder.write(f"{number}.md", "".join(f"# Part {part}\n\n{'word ' * 200}\n\n" for part in range(8)))
    folder.reconcile()
    assert folder.batches >= 2


def test_first_files_are_indexed_before_the_scan_ends(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_all(*(f"{number:03}.md" for number in range(150)))
    folder.write("below/deep.md", "# The quay\n")
    folder.write("000.md", "word " * 5_000)
    seen: list[set[str]] = []

    def watched(*args: object, **options: object) -> Iterator[FileEntry]:
        yield from scan(*args, **options)  # type: ignore[arg-type]
        seen.append({path for path in folder.paths() if folder.chunk_ids(path)})

    monkeypatch.setattr(intake_module, "scan", watched)
    monkeypatch.setattr(intake_module, "_FIRST_SCANNED", 120)
    assert len(folder.reconcile()) == 151
    before = {path: folder.chunk_ids(path) for path in sorted(seen[0])}
    assert list(before) == [f"{number:03}.md" for number in range(1, 101)]
    assert before == {path: folder.chunk_ids(path) for path in before}, "these files are not read again"
    folder.write("151.md", "# A new one\n")
    assert len(folder.reconcile()) == 152
    assert len(seen[1]) == 151, "a folder with an index is compared first"


def test_urgent_file_ends_the_batch(folder: Folder) -> None:
    folder.write_all(*(f"{number}.md" for number in range(3)))
    folder.new_intake(is_urgent=lambda: True).reconcile(IndexSettings())
    assert folder.batches == 3


@pytest.mark.parametrize("changes_back", [False, True])
def test_file_saved_during_a_scan_is_indexed_as_it_is_then(folder: Folder, changes_back: bool) -> None:
    folder.write_all("a.md", "z.md")
    first = (folder.root / "z.md").read_text()
    folder.reconcile()
    folder.write_all("m.md")
    folder.write("z.md", "# As listed\n")

    def save() -> None:
        if folder.writer.count_files() == 3 and not saved:
            saved.append("# Saved while the scan reads\n")
            folder.write("z.md", saved[0])
            intake.update(["z.md"])
            if changes_back:
                folder.write("z.md", first)

    saved: list[str] = []
    intake = Intake(folder.root, folder.writer, Progress(), never, save, is_urgent=lambda: True)
    intake.reconcile(IndexSettings())
    text = (folder.root / "z.md").read_text()
    record = folder.writer.files()["z.md"]
    assert saved
    assert (record.size, record.content_hash) == (len(text), content_key(text))


def test_incomplete_scan_removes_nothing(folder: Folder) -> None:
    folder.write("a.md", "# A\n")
    folder.reconcile()
    folder.new_intake(stopped=lambda: True).reconcile(IndexSettings())
    assert folder.paths() == {"a.md"}


def test_unreadable_files_are_named_and_stay_indexed(folder: Folder, request: pytest.FixtureRequest) -> None:
    folder.write_all("open.md", "closed/known.md")
    folder.reconcile()
    folder.write_all("secret.md", "new.md")
    request.getfixturevalue("ordinary_user")
    (folder.root / "secret.md").chmod(0)
    (folder.root / "closed").chmod(0)
    try:
        assert folder.reconcile() == {"open.md", "new.md", "closed/known.md"}
        assert sorted(folder.progress.unreadable) == [
            "closed: Permission denied",
            "secret.md: Permission denied",
        ]
    finally:
        (folder.root / "closed").chmod(0o700)
    assert folder.reader.page("closed/known.md")


# --- callbacks and progress --------------------------------------------------------------------------


def test_intake_reports_new_chunks_and_lets_queries_run_between_files(folder: Folder) -> None:
    reported: list[int] = []
    asides: list[None] = []
    intake = folder.new_intake(on_written=reported.extend, step_aside=lambda: asides.append(None))
    folder.write_all(*(f"{number}.md" for number in range(5)))
    intake.reconcile(IndexSettings())
    assert len(asides) == 5
    assert sorted(reported) == sorted(i for number in range(5) for i in folder.chunk_ids(f"{number}.md"))
    reported.clear()
    intake.reconcile(IndexSettings())
    assert reported == []
    folder.write("3.md", "# Three\n")
    intake.update(["3.md"])
    assert reported == folder.chunk_ids("3.md")


def test_forced_intake_writes_unchanged_files(folder: Folder) -> None:
    folder.write_all(*(f"{name}.md" for name in ("a", "b")))
    folder.reconcile()
    before = {name: folder.chunk_ids(f"{name}.md") for name in ("a", "b")}
    folder.intake.update(["a.md"], force=True)
    assert folder.chunk_ids("a.md") != before["a"]
    assert folder.chunk_ids("b.md") == before["b"]
    folder.intake.reconcile(IndexSettings(), force=True)
    assert folder.chunk_ids("b.md") != before["b"]


def test_progress_ends_with_every_file_done(folder: Folder) -> None:
    folder.write_all(*(f"{number}.md" for number in range(4)))
    folder.reconcile()
    progress = folder.progress
    assert (progress.scanning, progress.files_done, progress.files_total) == (False, 4, 4)
    facts = folder.writer.facts()
    assert (facts.scanned, facts.files_total) == (1, 4)
    (folder.root / "0.md").unlink()
    folder.write_all("new.md", "newer.md")
    folder.update("0.md", "new.md", "newer.md")
    assert (progress.files_done, progress.files_total, folder.writer.facts().files_total) == (5, 5, 5)


def test_incomplete_scan_leaves_the_index_incomplete(folder: Folder) -> None:
    folder.write_all(*(f"{number}.md" for number in range(4)))
    read = list[None]()
    stopping = folder.new_intake(stopped=lambda: len(read) == 2, step_aside=lambda: read.append(None))
    stopping.reconcile(IndexSettings())
    assert len(folder.paths()) == 2
    assert (folder.writer.facts().scanned, folder.progress.scanning) == (0, True)
    folder.reconcile()
    assert (len(folder.paths()), folder.writer.facts().scanned) == (4, 1)


def test_file_removed_before_it_is_read_is_not_a_problem(folder: Folder) -> None:
    folder.write_all("a.md", "b.md")
    removing = folder.new_intake(step_aside=lambda: (folder.root / "b.md").unlink(missing_ok=True))
    removing.reconcile(IndexSettings())
    assert folder.paths() == {"a.md"}
    assert folder.progress.unreadable == []


def test_changed_manifest_renames_collections(folder: Folder) -> None:
    folder.write("package.json", '{"name": "port"}')
    folder.write("src/a.js", "export const a = 1;\n")
    folder.reconcile()
    before = folder.writer.files()["src/a.js"].collection
    folder.write("package.json", '{"name": "harbour"}')
    folder.reconcile()
    after = folder.writer.files()["src/a.js"].collection
    assert before != after
    assert "harbour" in after


def test_file_that_cannot_be_chunked_is_named(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_all("good.md", "bad.md")
    real = IndexedFile.of

    def fails_on_bad(record: FileRecord, text: str) -> IndexedFile:
        if record.path == "bad.md":
            raise RecursionError("too deep")
        return real(record, text)

    monkeypatch.setattr(IndexedFile, "of", fails_on_bad)
    assert folder.reconcile() == {"bad.md", "good.md"}
    assert folder.progress.unreadable == ["bad.md: chunking failed (too deep)"]
    assert folder.reader.page("bad.md") == []
    assert folder.reader.page("good.md")


def test_update_uses_the_settings_of_the_latest_scan(folder: Folder) -> None:
    folder.write("a.md", "# A\n")
    folder.intake.reconcile(IndexSettings(exclude=("private/",)))
    folder.write_all("private/b.md", "c.md")
    assert folder.update("private/b.md", "private", "c.md") == {"a.md", "c.md"}
