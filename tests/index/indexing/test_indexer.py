"""The indexing thread: takes in what is reported, does what is asked, recovers from failures, and ends when told."""

from __future__ import annotations

import itertools
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from attrs import evolve
from tests.index.index_builders import MadeUpModels, Repository, numbers, small_table

from cairn.chunking.model import content_key
from cairn.index.indexing import background
from cairn.index.indexing import indexer as indexer_module
from cairn.index.indexing.folder_state import Activity, Intervals, QueryGate
from cairn.index.indexing.indexer import Indexer, Role
from cairn.index.indexing.work_queue import BURST, Work
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store import database
from cairn.index.store.database import DATABASE_NAME, connect_read_only
from cairn.index.store.maintenance import Maintenance
from cairn.index.store.meta import CHECK_IS_DUE
from cairn.index.store.requests import RequestKind, leave_request
from cairn.index.store.writer import IndexWriter
from cairn.settings.tree import EmbeddingSettings, IndexSettings, Settings

BARE = Settings(index=IndexSettings(watch=False, history=False), embedding=EmbeddingSettings(enabled=False))
EMBEDDING = evolve(BARE, embedding=EmbeddingSettings())
QUICK = Intervals(takeover=0.02, request=0.02, retry=(0.02, 0.2))
"""What takes seconds for people takes moments here."""


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for a state that must come."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what or "it did not come to that"
        time.sleep(0.005)


class HeldGate(QueryGate):
    """Stops indexing between two files until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.open = threading.Event(), threading.Event()

    def step_aside(self, urgent: Callable[[], bool] = lambda: False) -> None:
        self.reached.set()
        assert self.open.wait(60)


class Folder:
    """A workspace folder and the indexers that were started for it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir()
        self.models = MadeUpModels()
        self.intervals = QUICK
        self.started: list[Indexer] = []

    def indexer(self, settings: Settings = BARE, gate: QueryGate | None = None) -> Indexer:
        gate = gate or QueryGate()
        indexer = Indexer(self.root, lambda: settings, self.models, lambda: None, gate, self.intervals)
        self.started.append(indexer)
        return indexer

    def run(self, settings: Settings = BARE) -> Indexer:
        """An indexer that has taken in everything there is."""
        indexer = self.indexer(settings)
        indexer.start()
        until(lambda: indexer.role is Role.WRITER and indexer.idle, "it never had everything")
        return indexer

    def write(self, path: str, text: str) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        return path


@pytest.fixture
def folder(tmp_path: Path, bare_data_dir: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "port")
    for name in ("ships", "tides"):
        folder.write(f"{name}.md", f"# {name}\n\nAll about {name}.\n")
    yield folder
    for indexer in folder.started:
        indexer.stop()


def paths(indexer: Indexer) -> set[str]:
    with_db = connect_read_only(indexer.data / DATABASE_NAME)
    found = {str(row[0]) for row in with_db.execute("SELECT path FROM files")}
    with_db.close()
    return found


def chunk_ids(indexer: Indexer, path: str) -> list[int]:
    return [stored.id for stored in SqliteReader(indexer.data).page(path)]


def stops_soon(indexer: Indexer) -> bool:
    began = time.monotonic()
    indexer.stop()
    return indexer.role is Role.STOPPED and time.monotonic() - began < 30


# --- taking in -------------------------------------------------------------------------------------


def test_once_idle_everything_is_in_the_index(folder: Folder) -> None:
    indexer = folder.run()
    assert paths(indexer) == {"ships.md", "tides.md"}
    facts = SqliteReader(indexer.data).facts()
    assert (facts.scanned, facts.files_total, facts.complete) == (1, 2, True)
    assert (indexer.problem, indexer.writer_is_alive()) == (None, True)
    assert stops_soon(indexer)
    assert not indexer.writer_is_alive()


def test_what_is_reported_is_taken_in(folder: Folder) -> None:
    indexer = folder.run()
    (folder.root / "ships.md").unlink()
    indexer.queue.changed(["ships.md", folder.write("docs/crane.md", "# Crane\n")])
    until(lambda: indexer.idle)
    assert paths(indexer) == {"tides.md", "docs/crane.md"}
    folder.write("unreported.md", "# Unreported\n")
    indexer.queue.rescan()
    until(lambda: indexer.idle)
    assert "unreported.md" in paths(indexer)


def test_what_nobody_reported_is_taken_in_when_it_is_opened(folder: Folder) -> None:
    indexer = folder.run()
    indexer.queue.opened([folder.write("crane.md", "# Crane\n")])
    until(lambda: indexer.idle)
    assert "crane.md" in paths(indexer)


def test_idle_is_never_said_while_something_reported_is_not_taken_in(folder: Folder) -> None:
    indexer = folder.run()
    missed: list[str] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def save(worker: int) -> None:
        reader = SqliteReader(indexer.data)
        for number in range(25):
            path = f"{worker}-{number}.md"
            indexer.queue.changed([folder.write(path, f"# {path}\n")])
            until(lambda: indexer.idle)
            if reader.contents([path]).get(path, ("",))[0] != content_key(f"# {path}\n"):
                missed.append(path)

    threads = [threading.Thread(target=save, args=(worker,)) for worker in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert missed == []
    assert len(paths(indexer)) == 102


class Releases(threading.Condition):
    """Calls `look` whenever the lock was let go: that is when others may look."""

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


def test_between_taking_work_and_doing_it_it_is_not_idle(folder: Folder) -> None:
    indexer = folder.indexer()
    reader, reported, too_early = SqliteReader(indexer.data), set[str](), list[str]()

    def look() -> None:
        before = set(reported)  # more may be reported while this looks
        if indexer.idle:
            too_early.extend(before - reader.contents(before).keys())

    indexer.queue._changed = Releases(look)
    indexer.start()
    until(lambda: indexer.role is Role.WRITER and indexer.idle)
    for number in range(5):
        path = folder.write(f"{number}.md", f"# {number}\n")
        with indexer.queue._changed:
            indexer.queue.changed([path])
            reported.add(path)
        until(lambda: indexer.idle)
    assert too_early == []
    assert len(reader.contents(reported)) == 5


def test_who_asks_after_a_save_waits_until_it_is_in(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, saves=60.0)
    indexer = folder.run()
    reader = SqliteReader(indexer.data)
    for number in range(20):
        path = folder.write(f"{number}.md", f"# {number}\n")
        indexer.queue.changed([path])
        indexer.wait_for_saves()
        assert reader.contents([path])


def test_nobody_waits_for_a_scan_or_for_many_files(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, saves=60.0)
    gate = HeldGate()
    indexer = folder.indexer(gate=gate)
    indexer.wait_for_saves()  # it has not begun
    indexer.start()
    assert gate.reached.wait(60)  # between two files of the first scan
    began = time.monotonic()
    indexer.wait_for_saves()
    indexer.queue.changed(f"{number}.md" for number in range(BURST + 1))
    indexer.wait_for_saves()
    assert time.monotonic() - began < 30
    gate.open.set()


def test_for_a_save_that_takes_long_nobody_waits_long(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = folder.run()
    until(lambda: indexer.progress.activity is Activity.IDLE)
    busy = Work(paths={"ships.md"})
    monkeypatch.setattr(indexer.queue, "_doing", busy)
    began = time.monotonic()
    indexer.wait_for_saves()
    assert 0.1 < time.monotonic() - began < 30


# --- requests --------------------------------------------------------------------------------------


def test_a_file_a_folder_or_everything_is_indexed_anew_when_asked_for(folder: Folder) -> None:
    folder.write("docs/crane.md", "# Crane\n")
    indexer = folder.run()
    names = ("ships.md", "tides.md", "docs/crane.md")

    def anew(path: str) -> set[str]:
        before = {name: chunk_ids(indexer, name) for name in names}
        indexer.request(RequestKind.REINDEX, path)
        until(lambda: indexer.idle)
        return {name for name in names if chunk_ids(indexer, name) != before[name]}

    assert anew("ships.md") == {"ships.md"}
    assert anew("docs") == {"docs/crane.md"}
    assert anew("") == set(names)


def test_looking_for_changes_leaves_alone_what_is_the_same(folder: Folder) -> None:
    indexer = folder.run()
    before = chunk_ids(indexer, "ships.md")
    folder.write("crane.md", "# Crane\n")
    indexer.request(RequestKind.RECONCILE)
    until(lambda: indexer.idle)
    assert paths(indexer) == {"ships.md", "tides.md", "crane.md"}
    assert chunk_ids(indexer, "ships.md") == before


def test_what_is_asked_for_before_the_first_scan_obeys_the_rules(folder: Folder) -> None:
    indexer = folder.indexer(evolve(BARE, index=evolve(BARE.index, exclude=("ships.md",))))
    indexer.request(RequestKind.REINDEX, "ships.md")
    indexer.start()
    until(lambda: indexer.idle)
    db = connect_read_only(indexer.data / DATABASE_NAME)
    ever_written = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").get
    db.close()
    assert paths(indexer) == {"tides.md"}
    assert ever_written == 1


def test_a_second_process_reads_asks_and_takes_over(folder: Folder) -> None:
    writer = folder.run()
    reader = folder.indexer()
    reader.start()
    until(lambda: reader.role is Role.READER)
    assert reader.writer_is_alive()
    before = chunk_ids(writer, "ships.md")
    reader.request(RequestKind.REINDEX, "ships.md")
    until(lambda: reader.idle)
    assert chunk_ids(writer, "ships.md") != before
    reader.request(RequestKind.PAUSE)
    until(lambda: writer.progress.activity is Activity.PAUSED)
    writer.stop()
    until(lambda: reader.role is Role.WRITER and reader.idle)
    reader.queue.changed([folder.write("crane.md", "# Crane\n")])
    until(lambda: reader.idle)
    assert "crane.md" in paths(reader)


def test_a_request_waits_until_it_is_done(folder: Folder) -> None:
    folder.run().stop()
    gate = HeldGate()
    held = folder.indexer(gate=gate)
    # The whole folder: of a single file that did not change, nothing would wait at the gate.
    assert leave_request(held.data, RequestKind.REINDEX, "") is not None
    reader = SqliteReader(held.data)
    held.start()
    assert gate.reached.wait(60)
    assert reader.has_requests()
    gate.open.set()
    until(lambda: not reader.has_requests())


def test_a_request_that_a_stop_cut_short_is_left_to_the_next_writer(folder: Folder) -> None:
    first = folder.run()
    before = {name: chunk_ids(first, name) for name in ("ships.md", "tides.md")}
    first.stop()
    leave_request(first.data, RequestKind.REINDEX, "")
    gate = HeldGate()
    cut_short = folder.indexer(gate=gate)
    cut_short.start()
    assert gate.reached.wait(60)
    stopping = threading.Thread(target=cut_short.stop)
    stopping.start()
    until(cut_short.queue.is_stopped)
    gate.open.set()
    stopping.join()
    assert SqliteReader(first.data).has_requests()
    last = folder.run()
    assert not SqliteReader(first.data).has_requests()
    for name, ids in before.items():
        assert chunk_ids(last, name) != ids


# --- pausing ---------------------------------------------------------------------------------------


def test_while_paused_saves_are_taken_in_and_no_vectors_are_made(folder: Folder) -> None:
    indexer, facts = folder.run(EMBEDDING), SqliteReader(folder.started[0].data).facts
    until(lambda: facts().embedded)
    indexer.request(RequestKind.PAUSE)
    until(lambda: indexer.progress.activity is Activity.PAUSED)
    assert facts().paused
    done = len(folder.models.embedded)
    indexer.queue.changed([folder.write("crane.md", "# Crane\n\nA crane lifts.\n")])
    until(lambda: indexer.idle and indexer.progress.activity is Activity.PAUSED)
    assert "crane.md" in paths(indexer)
    assert (len(folder.models.embedded), facts().embedded, facts().queued) == (done, 0, 1)
    indexer.request(RequestKind.RESUME)
    until(lambda: facts().embedded)
    assert len(folder.models.embedded) == done + 1
    until(lambda: not facts().paused)


def test_while_paused_nobody_looks_for_changes_but_who_asks_for_it(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, focus=0.0)
    indexer = folder.run()
    indexer.request(RequestKind.PAUSE)
    until(lambda: indexer.progress.activity is Activity.PAUSED)
    folder.write("crane.md", "# Crane\n")
    indexer.look_again()
    assert indexer.idle
    indexer.request(RequestKind.RESUME)
    indexer.look_again()
    until(lambda: indexer.idle)
    assert "crane.md" in paths(indexer)


def test_however_fast_it_is_paused_and_resumed_it_goes_on_in_the_end(folder: Folder) -> None:
    indexer, facts = folder.run(EMBEDDING), SqliteReader(folder.started[0].data).facts
    for number in range(40):
        indexer.request(RequestKind.PAUSE)
        if number % 2:
            until(lambda: indexer.progress.activity is Activity.PAUSED)
        indexer.request(RequestKind.RESUME)
        indexer.queue.changed([folder.write("crane.md", f"# Crane {number}\n")])
    until(lambda: indexer.idle and facts().embedded and not facts().paused)


# --- failures --------------------------------------------------------------------------------------


def test_a_data_folder_that_turned_into_a_file_is_named_until_it_is_a_folder_again(folder: Folder) -> None:
    indexer = folder.run()
    shutil.rmtree(indexer.data)
    indexer.data.write_text("")
    until(lambda: indexer.role is Role.FAILED and "CAIRN_DATA_DIR" in str(indexer.problem))
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    assert not indexer.idle
    indexer.data.unlink()
    until(lambda: indexer.role is Role.WRITER and indexer.idle)
    assert paths(indexer) == {"ships.md", "tides.md", "crane.md"}
    assert indexer.problem is None


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_database_that_is_removed_under_it_is_made_anew(folder: Folder, replaced: bool) -> None:
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
    until(lambda: any("was removed" in problem for problem in problems))
    until(lambda: indexer.role is Role.WRITER and indexer.idle and indexer.problem is None)
    assert paths(indexer) == {"ships.md", "tides.md"}


def hiding(failure: Exception) -> Exception:
    """What is raised where SQLite has ended the transaction itself, and it is ended once more."""
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
def test_after_a_failure_it_says_so_tries_again_and_does_what_was_asked(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    indexer = folder.run()
    problems: list[str] = []
    indexer._state.on_change = lambda: problems.append(f"{indexer.role} {indexer.problem}")
    before = chunk_ids(indexer, "ships.md")
    write, failures = IndexWriter.write, iter([failure, failure])

    def fail_twice(self: IndexWriter, *arguments: Any, **options: Any) -> list[int]:
        for problem in failures:
            raise problem
        return write(self, *arguments, **options)

    monkeypatch.setattr(IndexWriter, "write", fail_twice)
    indexer.request(RequestKind.REINDEX, "ships.md")
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    until(lambda: indexer.idle and indexer.role is Role.WRITER)
    assert any(problem.startswith("failed") and message in problem for problem in problems)
    remark = message if isinstance(failure, apsw.CorruptError) else "None"
    assert remark in str(indexer.problem)
    assert paths(indexer) == {"ships.md", "tides.md", "crane.md"}
    assert chunk_ids(indexer, "ships.md") != before


def test_what_goes_on_failing_is_tried_less_and_less_often(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.intervals = evolve(folder.intervals, retry=(0.1, 60.0))
    tries: list[float] = []

    def fail(*_: object, **__: object) -> IndexWriter:
        tries.append(time.monotonic())
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(indexer_module, "IndexWriter", fail)
    indexer = folder.indexer()
    indexer.start()
    until(lambda: len(tries) == 4)
    waits = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert [wait >= least for wait, least in zip(waits, (0.1, 0.2, 0.4), strict=True)] == [True] * 3
    assert indexer.role is Role.FAILED


# --- stopping --------------------------------------------------------------------------------------


def test_it_stops_before_it_starts_and_while_it_sleeps_or_is_paused(folder: Folder) -> None:
    never_started = folder.indexer()
    never_started.stop()
    assert stops_soon(folder.run())
    paused = folder.run()
    paused.request(RequestKind.PAUSE)
    until(lambda: paused.progress.activity is Activity.PAUSED)
    assert stops_soon(paused)
    assert not SqliteReader(paused.data).facts().paused


def test_it_stops_while_it_reads_files_and_goes_on_from_there(folder: Folder) -> None:
    # So many that a busy machine, too, sees the first one done long before the last.
    for number in range(1_500):
        folder.write(f"{number}.md", f"# Part {number}\n\n{'word ' * 300}\n")
    indexer = folder.indexer()
    indexer.start()
    until(lambda: indexer.progress.files_done > 0)
    assert stops_soon(indexer)
    assert not SqliteReader(indexer.data).facts().scanned
    known = paths(indexer)
    assert len(known) < 1_502
    again = folder.run()
    assert len(paths(again)) == 1_502
    assert SqliteReader(again.data).facts().scanned


def test_it_stops_while_it_embeds_and_goes_on_from_there(folder: Folder) -> None:
    for number in range(200):
        folder.write(f"{number}.md", f"# Part {number}\n")
    embed, steps = folder.models.embed, threading.Event()

    def slowly(texts: list[str], max_tokens: int) -> object:
        steps.set()
        time.sleep(0.02)
        return embed(texts, max_tokens)

    folder.models.embed = slowly  # type: ignore[assignment,method-assign]
    indexer = folder.indexer(EMBEDDING)
    indexer.start()
    assert steps.wait(60)
    assert stops_soon(indexer)
    done = len(folder.models.embedded)
    assert 0 < done < 202
    again = folder.run(EMBEDDING)
    until(lambda: SqliteReader(again.data).facts().complete)
    assert len(folder.models.embedded) == 202


def test_it_stops_while_another_process_writes_and_while_it_cannot_write(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, takeover=60.0, retry=(60.0, 60.0))
    writer, reader = folder.run(), folder.indexer()
    reader.start()
    until(lambda: reader.role is Role.READER)
    assert stops_soon(reader)
    writer.stop()
    shutil.rmtree(writer.data)
    writer.data.write_text("")
    failed = folder.indexer()
    failed.start()
    until(lambda: failed.role is Role.FAILED)
    assert stops_soon(failed)


# --- in the background -------------------------------------------------------------------------------


def test_what_an_index_lacks_is_made_in_the_background(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, tidy_after=0.0, tidy_every=0.0, count_after=0.0)
    folder.models.table = small_table()
    Repository(folder.root).commit("Build the port", {"port.py": "SIZE = 1\n", "ship.py": "import port\n"})
    indexer = folder.run(evolve(EMBEDDING, index=IndexSettings(watch=False)))
    reader = SqliteReader(indexer.data)

    def is_made() -> bool:
        db = connect_read_only(indexer.data / DATABASE_NAME)
        touched = numbers(db, "SELECT count FROM file_history")
        imported = db.execute("SELECT path, in_degree FROM file_imports").fetchall()
        db.close()
        facts = reader.facts()
        return bool(facts.static and facts.complete) and touched == [1] * 4 and imported == [("port.py", 1)]

    until(is_made)
    (folder.root / "ships.md").unlink()
    indexer.queue.changed(["ships.md"])

    def is_tidied() -> bool:
        db = connect_read_only(indexer.data / DATABASE_NAME)
        unused = numbers(db, "SELECT count(*) FROM embeddings WHERE unreferenced NOT NULL")
        db.close()
        return unused == [1]

    until(is_tidied)
    until(lambda: indexer.progress.activity is Activity.IDLE)


def test_what_is_tidy_is_not_tidied_again_by_the_next_process(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[None] = []
    run = Maintenance.run

    def counted(self: Maintenance, settings: IndexSettings, interrupted: Callable[[], bool]) -> bool:
        runs.append(None)
        return run(self, settings, interrupted)

    monkeypatch.setattr(Maintenance, "run", counted)
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    indexer = folder.run()
    reader = SqliteReader(indexer.data)
    until(lambda: reader.facts().tidied == reader.facts().content)
    indexer.stop()
    again = folder.run()
    until(lambda: again.progress.activity is Activity.IDLE)
    assert len(runs) == 1
    again.queue.changed([folder.write("crane.md", "# Crane\n")])
    until(lambda: reader.facts().tidied == reader.facts().content and again.idle)
    assert len(runs) == 2


def test_a_large_index_whose_writer_died_is_followed_at_once_and_checked_when_there_is_time(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer = folder.run()
    until(lambda: indexer.idle)
    indexer.stop()
    writer = IndexWriter(indexer.data)
    writer.db.execute("UPDATE chunks_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    writer.checkpoint()
    writer.abandon()
    monkeypatch.setattr(database, "_CHECKED_FIRST_BYTES", 1_000)
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    again = folder.run()
    until(lambda: "was damaged" in str(again.problem))
    reader = SqliteReader(again.data)
    until(lambda: reader.facts().scanned and bool(reader.facts().chunks))


def test_a_check_that_was_interrupted_is_not_begun_again_at_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[None] = []

    def interrupted_check(*_: object) -> bool:
        checks.append(None)
        return False

    monkeypatch.setattr(background, "check_soundness", interrupted_check)
    indexer = folder.run()
    until(lambda: indexer.idle)
    indexer.stop()
    writer = IndexWriter(indexer.data)
    writer.note(**CHECK_IS_DUE)
    writer.close()
    folder.intervals = evolve(folder.intervals, tidy_after=0.0)
    again = folder.run()
    until(lambda: bool(checks))
    for number in range(3):
        again.queue.changed([folder.write(f"crane{number}.md", "# Crane\n")])
        until(lambda: again.idle)
    assert len(checks) == 1


def test_a_history_that_cannot_be_read_is_a_problem_that_passes(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(folder.root)
    repository.commit("Build the port")
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", "")
        indexer = folder.run(evolve(BARE, index=IndexSettings(watch=False)))
        until(lambda: "git was not found" in str(indexer.problem))
    repository.commit("Dig", {"dock.md": "# Dock\n"})
    indexer.queue.rescan()
    until(lambda: indexer.problem is None)


def test_a_model_that_is_installed_later_is_found(folder: Folder) -> None:
    folder.intervals = evolve(folder.intervals, model=0.02)
    folder.models.name = None
    indexer = folder.run(EMBEDDING)
    until(lambda: indexer.progress.activity is Activity.IDLE)
    assert not SqliteReader(indexer.data).facts().model_id
    folder.models.name = "m"
    until(lambda: SqliteReader(indexer.data).facts().embedded)


def test_settings_that_change_count_from_the_next_step_on(folder: Folder) -> None:
    """What is embedded under one name is embedded alike."""
    settings = EMBEDDING
    indexer = Indexer(folder.root, lambda: settings, folder.models, lambda: None, QueryGate(), QUICK)
    folder.started.append(indexer)
    indexer.start()
    reader = SqliteReader(indexer.data)
    until(lambda: reader.facts().complete)
    settings = evolve(EMBEDDING, embedding=EmbeddingSettings(text_tokens=16))
    indexer.queue.changed([folder.write("crane.md", "# Crane\n")])
    until(lambda: reader.facts().model_id == 2 and reader.facts().complete)
    assert len(folder.models.embedded) == 5
    settings = BARE
    indexer.queue.changed([folder.write("crane.md", "# Crane\n\nA crane lifts.\n")])
    until(lambda: not reader.facts().model_id)


def test_background_work_steps_aside_for_questions_and_is_done_in_the_end(folder: Folder) -> None:
    for number in range(100):
        folder.write(f"{number}.md", f"# Part {number}\n")
    gate, asking = QueryGate(), threading.Event()

    def ask() -> None:
        while not asking.is_set():
            with gate.query():
                asking.wait(0.01)

    people = [threading.Thread(target=ask) for _ in range(3)]
    for person in people:
        person.start()
    indexer = folder.indexer(EMBEDDING, gate)
    indexer.start()
    try:
        until(lambda: indexer.idle and SqliteReader(indexer.data).facts().complete)
    finally:
        asking.set()
        for person in people:
            person.join()
