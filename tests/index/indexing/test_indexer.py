"""The indexing thread indexes changes, handles requests, recovers from failures, and stops."""

from __future__ import annotations

import itertools
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from attrs import evolve
from tests.git_repository import GitRepository
from tests.index.index_builders import MadeUpEncoder, MadeUpModels, numbers, small_table

from cairn.index.indexing import indexer as indexer_module
from cairn.index.indexing import intake, writing_session
from cairn.index.indexing.folder_state import BURST, Activity, Intervals, QueryGate, Work
from cairn.index.indexing.indexer import Indexer, Role
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import database
from cairn.index.store.coordination import RequestKind, leave_request
from cairn.index.store.database import DATABASE_NAME, Maintenance, connect_read_only
from cairn.index.store.meta import CHECK_IS_DUE, Facts
from cairn.index.store.writer import IndexWriter
from cairn.paths import workspace_dir
from cairn.settings.tree import EmbeddingSettings, IndexSettings, Settings

BARE = Settings(index=IndexSettings(watch=False, history=False), embedding=EmbeddingSettings(enabled=False))
EMBEDDING = evolve(BARE, embedding=EmbeddingSettings())
QUICK = Intervals(takeover=0.02, request=0.02, retry=(0.02, 0.2))


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class ClosedGate(QueryGate):
    """A gate at which indexing waits between two files until a test opens it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.open = threading.Event(), threading.Event()

    def step_aside(self, urgent: Callable[[], bool] = lambda: False) -> None:
        self.reached.set()
        assert self.open.wait(60)


class Folder:
    """A workspace folder and its indexers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir()
        self.models = MadeUpModels()
        self.intervals = QUICK
        self.started: list[Indexer] = []
        self.reader = SqliteReader(workspace_dir(root))

    def indexer(self, settings: Settings = BARE, gate: QueryGate | None = None) -> Indexer:
        gate = gate or QueryGate()
        indexer = Indexer(self.root, lambda: settings, self.models, lambda: None, gate, self.intervals)
        self.started.append(indexer)
        return indexer

    def run(self, settings: Settings = BARE) -> Indexer:
        """Start an indexer and wait until it has indexed everything."""
        indexer = self.indexer(settings)
        indexer.start()
        wait_until(lambda: indexer.role is Role.WRITER and indexer.idle)
        return indexer

    def write(self, path: str, text: str) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        return path

    def save(self, indexer: Indexer, path: str, text: str = "# Crane\n") -> None:
        """Write a file, report it, and wait until it is indexed."""
        indexer.queue.changed([self.write(path, text)])
        wait_until(lambda: indexer.idle)

    def paths(self) -> set[str]:
        with self.database() as db:
            return {str(row[0]) for row in db.execute("SELECT path FROM files")}

    def database(self) -> closing[apsw.Connection]:
        return closing(connect_read_only(workspace_dir(self.root) / DATABASE_NAME))

    def facts(self) -> Facts:
        return self.reader.facts()

    def chunk_ids(self, path: str) -> list[int]:
        return [stored.id for stored in self.reader.page(path)]


@pytest.fixture
def folder(tmp_path: Path, bare_data_dir: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "port")
    for name in ("ships", "tides"):
        folder.write(f"{name}.md", f"# {name}\n\nAll about {name}.\n")
    yield folder
    for indexer in folder.started:
        indexer.stop()


def pause(indexer: Indexer) -> None:
    indexer.request(RequestKind.PAUSE)
    wait_until(lambda: indexer.progress.activity is Activity.PAUSED)


def stops_soon(indexer: Indexer) -> bool:
    began = time.monotonic()
    indexer.stop()
    return indexer.role is Role.STOPPED and time.monotonic() - began < 30


# --- changes ---------------------------------------------------------------------------------------


def test_idle_indexer_has_indexed_everything(folder: Folder) -> None:
    indexer = folder.run()
    assert folder.paths() == {"ships.md", "tides.md"}
    facts = folder.facts()
    assert (facts.scanned, facts.files_total, facts.complete) == (1, 2, True)
    assert (indexer.problem, indexer.writer_is_alive()) == (None, True)
    assert stops_soon(indexer)
    assert not indexer.writer_is_alive()


def test_reported_and_opened_files_are_indexed(folder: Folder) -> None:
    indexer = folder.run()
    (folder.root / "ships.md").unlink()
    indexer.queue.changed(["ships.md", folder.write("docs/crane.md", "# Crane\n")])
    wait_until(lambda: indexer.idle)
    assert folder.paths() == {"tides.md", "docs/crane.md"}
    folder.write("unreported.md", "# Unreported\n")
    indexer.queue.rescan()
    wait_until(lambda: indexer.idle)
    assert "unreported.md" in folder.paths()
    indexer.queue.opened([folder.write("opened.md", "# Opened\n")])
    wait_until(lambda: indexer.idle)
    assert "opened.md" in folder.paths()


class Releases(threading.Condition):
    """A condition that calls `look` whenever its lock is released, when other threads may look."""

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__()
        self._look = look
        self._is_looking = threading.local()

    def __exit__(self, *problem: object) -> None:
        super().__exit__(*problem)  # type: ignore[arg-type]
        if not getattr(self._is_looking, "now", False):
            self._is_looking.now = True
            self._look()
            self._is_looking.now = False


def test_indexer_is_not_idle_between_taking_and_doing_work(folder: Folder) -> None:
    indexer = folder.indexer()
    reported, too_early = set[str](), list[str]()

    def look() -> None:
        before = set(reported)  # more may be reported while this looks
        if indexer.idle:
            too_early.extend(before - folder.reader.contents(before).keys())

    indexer.queue._changed = Releases(look)
    indexer.start()
    wait_until(lambda: indexer.role is Role.WRITER and indexer.idle)
    for number in range(5):
        path = folder.write(f"{number}.md", f"# {number}\n")
        with indexer.queue._changed:
            indexer.queue.changed([path])
            reported.add(path)
        wait_until(lambda: indexer.idle)
    assert too_early == []
    assert len(folder.reader.contents(reported)) == 5


def test_query_after_a_save_waits_for_it(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, saves=60.0)
    indexer = folder.run()
    for number in range(20):
        path = folder.write(f"{number}.md", f"# {number}\n")
        indexer.queue.changed([path])
        indexer.catch_up()
        assert folder.reader.contents([path])


def test_queries_do_not_wait_for_scans_or_many_files(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, saves=60.0)
    gate = ClosedGate()
    indexer = folder.indexer(gate=gate)
    indexer.catch_up()  # before the first scan
    indexer.start()
    assert gate.reached.wait(60)  # between two files of the first scan
    began = time.monotonic()
    indexer.catch_up()
    indexer.queue.changed(f"{number}.md" for number in range(BURST + 1))
    indexer.catch_up()
    assert time.monotonic() - began < 30
    gate.open.set()


def test_query_does_not_wait_long_for_a_slow_save(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    indexer = folder.run()
    wait_until(lambda: indexer.progress.activity is Activity.IDLE)
    monkeypatch.setattr(indexer.queue, "_doing", Work(paths={"ships.md"}))
    began = time.monotonic()
    indexer.catch_up()
    assert 0.1 < time.monotonic() - began < 30


# --- requests --------------------------------------------------------------------------------------


def test_reindex_request_indexes_a_file_a_folder_or_everything(folder: Folder) -> None:
    folder.write("docs/crane.md", "# Crane\n")
    indexer = folder.run()
    names = ("ships.md", "tides.md", "docs/crane.md")

    def reindexed(path: str) -> set[str]:
        before = {name: folder.chunk_ids(name) for name in names}
        indexer.request(RequestKind.REINDEX, path)
        wait_until(lambda: indexer.idle)
        return {name for name in names if folder.chunk_ids(name) != before[name]}

    assert reindexed("ships.md") == {"ships.md"}
    assert reindexed("docs") == {"docs/crane.md"}
    assert reindexed("") == set(names)


def test_reconcile_request_keeps_unchanged_files(folder: Folder) -> None:
    indexer = folder.run()
    before = folder.chunk_ids("ships.md")
    folder.write("crane.md", "# Crane\n")
    indexer.request(RequestKind.RECONCILE)
    wait_until(lambda: indexer.idle)
    assert folder.paths() == {"ships.md", "tides.md", "crane.md"}
    assert folder.chunk_ids("ships.md") == before


def test_request_before_the_first_scan_obeys_the_rules(folder: Folder) -> None:
    indexer = folder.indexer(evolve(BARE, index=evolve(BARE.index, exclude=("ships.md",))))
    indexer.request(RequestKind.REINDEX, "ships.md")
    indexer.start()
    wait_until(lambda: indexer.idle)
    assert folder.paths() == {"tides.md"}
    with folder.database() as db:
        assert db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").get == 1


def test_second_process_reads_leaves_requests_and_takes_over(folder: Folder) -> None:
    writer = folder.run()
    reader = folder.indexer()
    reader.start()
    wait_until(lambda: reader.role is Role.READER)
    assert reader.writer_is_alive()
    before = folder.chunk_ids("ships.md")
    reader.request(RequestKind.REINDEX, "ships.md")
    wait_until(lambda: reader.idle)
    assert folder.chunk_ids("ships.md") != before
    reader.request(RequestKind.PAUSE)
    wait_until(lambda: writer.progress.activity is Activity.PAUSED)
    writer.stop()
    wait_until(lambda: reader.role is Role.WRITER and reader.idle)
    folder.save(reader, "crane.md", "# Crane\n")
    assert "crane.md" in folder.paths()


def test_request_waits_in_the_index_while_it_is_done(folder: Folder) -> None:
    folder.run().stop()
    gate = ClosedGate()
    indexer = folder.indexer(gate=gate)
    # The gate is passed between two files, so the request is for the whole folder.
    assert leave_request(indexer.data, RequestKind.REINDEX, "") is not None
    indexer.start()
    assert gate.reached.wait(60)
    assert folder.reader.has_requests()
    gate.open.set()
    wait_until(lambda: not folder.reader.has_requests())


def test_interrupted_request_is_left_to_the_next_writer(folder: Folder) -> None:
    first = folder.run()
    before = {name: folder.chunk_ids(name) for name in ("ships.md", "tides.md")}
    first.stop()
    leave_request(first.data, RequestKind.REINDEX, "")
    gate = ClosedGate()
    cut_short = folder.indexer(gate=gate)
    cut_short.start()
    assert gate.reached.wait(60)
    stopping = threading.Thread(target=cut_short.stop)
    stopping.start()
    wait_until(cut_short.queue.is_stopped)
    gate.open.set()
    stopping.join()
    assert folder.reader.has_requests()
    folder.run()
    assert not folder.reader.has_requests()
    for name, ids in before.items():
        assert folder.chunk_ids(name) != ids


# --- pausing ---------------------------------------------------------------------------------------


def test_paused_indexer_indexes_saves_without_vectors(folder: Folder) -> None:
    indexer = folder.run(EMBEDDING)
    wait_until(lambda: folder.facts().static)
    pause(indexer)
    assert folder.facts().paused
    done = len(folder.models.embedded)
    indexer.queue.changed([folder.write("crane.md", "# Crane\n\nA crane lifts.\n")])
    wait_until(lambda: indexer.idle and indexer.progress.activity is Activity.PAUSED)
    assert "crane.md" in folder.paths()
    assert (len(folder.models.embedded), folder.facts().static, folder.facts().static_queued) == (done, 0, 1)
    indexer.request(RequestKind.RESUME)
    wait_until(lambda: folder.facts().static)
    assert len(folder.models.embedded) == done + 1
    wait_until(lambda: not folder.facts().paused)


def test_paused_indexer_does_not_scan_for_changes(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, focus=0.0)
    indexer = folder.run()
    pause(indexer)
    folder.write("crane.md", "# Crane\n")
    indexer.look_again()
    assert indexer.idle
    indexer.request(RequestKind.RESUME)
    indexer.look_again()
    wait_until(lambda: indexer.idle)
    assert "crane.md" in folder.paths()


def test_indexer_continues_after_many_pauses(folder: Folder) -> None:
    indexer = folder.run(EMBEDDING)
    for number in range(40):
        indexer.request(RequestKind.PAUSE)
        if number % 2:
            wait_until(lambda: indexer.progress.activity is Activity.PAUSED)
        indexer.request(RequestKind.RESUME)
        indexer.queue.changed([folder.write("crane.md", f"# Crane {number}\n")])
    wait_until(lambda: indexer.idle and folder.facts().static and not folder.facts().paused)


# --- failures --------------------------------------------------------------------------------------


def test_data_folder_replaced_by_a_file_is_a_problem_that_passes(folder: Folder) -> None:
    indexer = folder.run()
    shutil.rmtree(indexer.data)
    indexer.data.write_text("")
    wait_until(lambda: indexer.role is Role.FAILED and "CAIRN_DATA_DIR" in str(indexer.problem))
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    assert not indexer.idle
    indexer.data.unlink()
    wait_until(lambda: indexer.role is Role.WRITER and indexer.idle)
    assert folder.paths() == {"ships.md", "tides.md", "crane.md"}
    assert indexer.problem is None


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
@pytest.mark.parametrize("replaced", [False, True])
def test_removed_database_is_created_again(folder: Folder, replaced: bool) -> None:
    indexer = folder.run()
    problems: list[str] = []
    indexer._state.on_change = lambda: problems.append(str(indexer.problem))
    file = indexer.data / DATABASE_NAME
    if replaced:
        shutil.copy(file, indexer.data / "copy")
        (indexer.data / "copy").replace(file)
    else:
        for path in indexer.data.glob(f"{DATABASE_NAME}*"):
            path.unlink()
    wait_until(lambda: any("was removed" in problem for problem in problems))
    wait_until(lambda: indexer.role is Role.WRITER and indexer.idle and indexer.problem is None)
    assert folder.paths() == {"ships.md", "tides.md"}


def hiding(failure: Exception) -> Exception:
    """Return the error of a rollback after SQLite has already rolled back because of `failure`."""
    rollback = apsw.SQLError("cannot rollback - no transaction is active")
    rollback.__context__ = failure
    return rollback


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (apsw.FullError("database or disk is full"), "Free space there"),
        (hiding(apsw.FullError("database or disk is full")), "Free space there"),
        (OSError(28, "No space left on device"), "Free space there"),
        (apsw.CorruptError("database disk image is malformed"), "was damaged"),
        (RuntimeError("a bug"), "failed (a bug)"),
    ],
)
def test_indexer_reports_a_failure_and_tries_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    folder.intervals = evolve(folder.intervals, retry=(0.02, 60.0))
    indexer = folder.run()
    problems: list[str] = []
    indexer._state.on_change = lambda: problems.append(f"{indexer.role} {indexer.problem}")
    before = folder.chunk_ids("ships.md")
    write, failures = IndexWriter.write, iter([failure, failure])

    def fail_twice(self: IndexWriter, *arguments: Any, **options: Any) -> list[int]:
        for problem in failures:
            raise problem
        return write(self, *arguments, **options)

    monkeypatch.setattr(IndexWriter, "write", fail_twice)
    indexer.request(RequestKind.REINDEX, "ships.md")
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    wait_until(lambda: indexer.idle and indexer.role is Role.WRITER)
    assert any(problem.startswith("failed") and message in problem for problem in problems)
    remark = message if isinstance(failure, apsw.CorruptError) else "None"
    assert remark in str(indexer.problem)
    assert folder.paths() == {"ships.md", "tides.md", "crane.md"}
    assert folder.chunk_ids("ships.md") != before


def test_indexer_waits_longer_after_each_failure(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.intervals = evolve(folder.intervals, retry=(0.1, 60.0))
    tries: list[float] = []

    def fail(*_: object, **__: object) -> IndexWriter:
        tries.append(time.monotonic())
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(indexer_module, "IndexWriter", fail)
    indexer = folder.indexer()
    indexer.start()
    wait_until(lambda: len(tries) == 4)
    waits = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert all(wait >= least for wait, least in zip(waits, (0.1, 0.2, 0.4), strict=True))
    assert indexer.role is Role.FAILED


# --- stopping --------------------------------------------------------------------------------------


def test_indexer_stops_unstarted_asleep_or_paused(folder: Folder) -> None:
    folder.indexer().stop()
    assert stops_soon(folder.run())
    paused = folder.run()
    pause(paused)
    assert stops_soon(paused)
    assert not folder.facts().paused


def test_indexer_stops_while_it_reads_and_continues_later(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_WORTH_WORKERS_BYTES", 0)
    settings = evolve(BARE, index=evolve(BARE.index, workers=2))
    for number in range(20):
        folder.write(f"{number}.md", f"# Part {number}\n")
    gate = ClosedGate()
    indexer = folder.indexer(settings, gate)
    indexer.start()
    assert gate.reached.wait(60)
    stopping = threading.Thread(target=indexer.stop)
    stopping.start()
    wait_until(indexer.queue.is_stopped)
    gate.open.set()
    stopping.join()
    assert not folder.facts().scanned
    assert len(folder.paths()) < 22
    folder.run(settings)
    assert len(folder.paths()) == 22
    assert folder.facts().scanned


def test_indexer_stops_while_it_embeds_and_continues_later(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        folder.write(f"{number}.md", f"# Part {number}\n")
    embed, steps = MadeUpEncoder.embed_int8, threading.Event()

    def slowly(encoder: MadeUpEncoder, *texts: Any) -> object:
        steps.set()
        time.sleep(0.02)
        return embed(encoder, *texts)

    monkeypatch.setattr(MadeUpEncoder, "embed_int8", slowly)
    indexer = folder.indexer(EMBEDDING)
    indexer.start()
    assert steps.wait(60)
    assert stops_soon(indexer)
    done = len(folder.models.embedded)
    assert 0 < done < 202
    folder.run(EMBEDDING)
    wait_until(lambda: folder.facts().complete)
    assert len(folder.models.embedded) == 202


def test_indexer_stops_as_a_reader_and_after_a_failure(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, takeover=60.0, retry=(60.0, 60.0))
    writer, reader = folder.run(), folder.indexer()
    reader.start()
    wait_until(lambda: reader.role is Role.READER)
    assert stops_soon(reader)
    writer.stop()
    shutil.rmtree(writer.data)
    writer.data.write_text("")
    failed = folder.indexer()
    failed.start()
    wait_until(lambda: failed.role is Role.FAILED)
    assert stops_soon(failed)


# --- background work ---------------------------------------------------------------------------------


def test_background_work_completes_the_index(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, tidy_after=0.0, tidy_every=0.0, count_after=0.0)
    folder.models.name, folder.models.table = None, small_table()
    GitRepository(folder.root).commit("Build the port", {"port.py": "SIZE = 1\n", "ship.py": "import port\n"})
    indexer = folder.run(evolve(EMBEDDING, index=IndexSettings(watch=False)))

    def is_made() -> bool:
        with folder.database() as db:
            touched = numbers(db, "SELECT count FROM file_history")
            imported = db.execute("SELECT path, in_degree FROM file_imports").fetchall()
        facts = folder.facts()
        return bool(facts.static and facts.complete) and touched == [1] * 4 and imported == [("port.py", 1)]

    wait_until(is_made)
    (folder.root / "ships.md").unlink()
    indexer.queue.changed(["ships.md"])

    wait_until(lambda: folder.facts().tidied == folder.facts().content)
    wait_until(lambda: indexer.progress.activity is Activity.IDLE)


def test_next_process_does_not_repeat_maintenance(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[None] = []
    run = Maintenance.run

    def counted(self: Maintenance, interrupted: Callable[[], bool]) -> bool:
        runs.append(None)
        return run(self, interrupted)

    monkeypatch.setattr(Maintenance, "run", counted)
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    indexer = folder.run()
    wait_until(lambda: folder.facts().tidied == folder.facts().content)
    indexer.stop()
    again = folder.run()
    wait_until(lambda: again.progress.activity is Activity.IDLE)
    assert len(runs) == 1
    again.queue.changed([folder.write("crane.md", "# Crane\n")])
    wait_until(lambda: folder.facts().tidied == folder.facts().content and again.idle)
    assert len(runs) == 2


def test_large_index_of_a_dead_writer_is_checked_in_the_background(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = folder.run()
    indexer.stop()
    writer = IndexWriter(indexer.data)
    writer.db.execute("UPDATE chunks_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    writer.checkpoint()
    writer.abandon()
    monkeypatch.setattr(database, "_CHECKED_FIRST_BYTES", 1_000)
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    again = folder.run()
    wait_until(lambda: "was damaged" in str(again.problem))
    wait_until(lambda: folder.facts().scanned and bool(folder.facts().chunks))


def test_interrupted_check_is_not_repeated_soon(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[None] = []

    def interrupted_check(*_: object) -> bool:
        checks.append(None)
        return False

    monkeypatch.setattr(writing_session, "check_soundness", interrupted_check)
    indexer = folder.run()
    indexer.stop()
    writer = IndexWriter(indexer.data)
    writer.note(**CHECK_IS_DUE)
    writer.close()
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    again = folder.run()
    wait_until(lambda: bool(checks))
    for number in range(3):
        folder.save(again, f"crane{number}.md", "# Crane\n")
    assert len(checks) == 1


def test_unreadable_history_is_a_problem_that_passes(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = GitRepository(folder.root)
    repository.commit("Build the port")
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", "")
        indexer = folder.run(evolve(BARE, index=IndexSettings(watch=False)))
        wait_until(lambda: "git was not found" in str(indexer.problem))
    repository.commit("Dig", {"dock.md": "# Dock\n"})
    indexer.queue.rescan()
    wait_until(lambda: indexer.problem is None)


def test_changed_settings_apply_from_the_next_step(folder: Folder) -> None:
    settings = EMBEDDING
    indexer = Indexer(folder.root, lambda: settings, folder.models, lambda: None, QueryGate(), QUICK)
    folder.started.append(indexer)
    indexer.start()
    wait_until(lambda: folder.facts().complete)
    settings = evolve(EMBEDDING, embedding=EmbeddingSettings(text_tokens=16))
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    wait_until(lambda: len(folder.models.embedded) >= 5 and folder.facts().complete)
    assert len(folder.models.embedded) == 5
    settings = BARE
    indexer.queue.changed([folder.write("crane.md", "# Crane\n\nA crane lifts.\n")])
    wait_until(lambda: not folder.facts().has_static)


def test_background_work_ends_in_spite_of_queries(folder: Folder) -> None:
    for number in range(100):
        folder.write(f"{number}.md", f"# Part {number}\n")
    gate, asking = QueryGate(), threading.Event()

    def ask() -> None:
        while not asking.is_set():
            with gate.query():
                asking.wait(0.01)

    users = [threading.Thread(target=ask) for _ in range(3)]
    for user in users:
        user.start()
    indexer = folder.indexer(EMBEDDING, gate)
    indexer.start()
    try:
        wait_until(lambda: indexer.idle and folder.facts().complete)
    finally:
        asking.set()
        for user in users:
            user.join()
