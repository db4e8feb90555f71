"""Choices are stored across processes and within bounds, and damage of the file is survived."""

from __future__ import annotations

import logging
import multiprocessing
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import apsw
import pytest

from cairn.errors import InvalidRequestError
from cairn.index.store.database import DATABASE_NAME, set_aside
from cairn.index.store.writer import IndexWriter
from cairn.operations import feedback
from cairn.operations.feedback import FeedbackStore, FeedbackUnavailableError, FileChoices, store_of
from cairn.protocol.status_messages import FeedbackAction

DAY_S = 24 * 60 * 60
HASH = "0" * 32
STEMS = frozenset(("moor", "ship"))


class Clock:
    now = 20_000.0 * DAY_S

    def __call__(self) -> float:
        return self.now


def opened(store: FeedbackStore, *paths: str) -> None:
    store.add(STEMS, paths, HASH, FeedbackAction.OPEN)


def values(store: FeedbackStore) -> dict[str, float]:
    learned = store.learned()
    return learned.values(STEMS, {}) if learned else {}


def counts(store: FeedbackStore) -> dict[str, Mapping[FeedbackAction, int]]:
    return {file.path: file.counts for file in store.files()}


def test_no_file_exists_before_the_first_choice(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path / "data")
    assert store.learned() is None
    assert store.files() == ()
    assert store.reset() == 0
    assert list(tmp_path.iterdir()) == []


def test_other_processes_see_a_choice_at_once(tmp_path: Path) -> None:
    here, there = FeedbackStore(tmp_path), FeedbackStore(tmp_path)
    opened(here, "a.py")
    assert values(there)["a.py"] > 0
    before = there.learned()
    assert there.learned() is before  # an unchanged file is not read again
    opened(here, "b.py")
    assert values(there).keys() == values(here).keys() == {"a.py", "b.py"}
    assert values(FeedbackStore(tmp_path)).keys() == {"a.py", "b.py"}


def test_files_are_listed_with_their_actions_most_chosen_first(tmp_path: Path) -> None:
    clock = Clock()
    store = FeedbackStore(tmp_path, clock)
    opened(store, "a.py")
    clock.now += DAY_S
    opened(store, "b.py")
    store.add(STEMS, ["b.py"], HASH, FeedbackAction.NOT_HELPFUL)
    first, second = store.files()
    assert isinstance(first, FileChoices)
    assert (first.path, first.counts) == ("b.py", {FeedbackAction.OPEN: 1, FeedbackAction.NOT_HELPFUL: 1})
    assert (second.path, second.counts) == ("a.py", {FeedbackAction.OPEN: 1})
    assert (first.latest - second.latest).days == 1


def test_the_oldest_choices_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "MOST_CHOICES", 3)
    store = FeedbackStore(tmp_path)
    for number in range(5):
        opened(store, f"{number}.py")
    assert set(counts(store)) == {"2.py", "3.py", "4.py"}
    store.reset()
    opened(store, "a.py", "b.py", "c.py", "d.py")
    assert set(counts(store)) == {"b.py", "c.py", "d.py"}


def test_other_processes_see_a_reset_at_once(tmp_path: Path) -> None:
    here, there = FeedbackStore(tmp_path), FeedbackStore(tmp_path)
    opened(here, "secretive_name.py", "b.py")
    known = there.learned()
    assert known
    assert here.reset() == 2
    after = there.learned()
    assert not after
    assert after is None or after.version != known.version
    assert b"secretive_name" not in here.path.read_bytes()


# --- several at once -------------------------------------------------------------------------------


def _choose(data: Path, process: int, times: int) -> None:
    store = FeedbackStore(data)
    for number in range(times):
        opened(store, f"{process}/{number}.py")


def test_processes_that_write_a_new_file_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_choose, args=(tmp_path, number, 25)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    assert set(counts(FeedbackStore(tmp_path))) == {f"{p}/{n}.py" for p in range(3) for n in range(25)}


def test_a_search_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py")
    assert values(store).keys() == {"a.py"}
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN EXCLUSIVE")
    assert values(store).keys() == {"a.py"}  # the earlier result
    other.execute("ROLLBACK")
    opened(store, "b.py")
    assert values(store).keys() == {"a.py", "b.py"}


def test_other_threads_run_while_a_choice_waits_for_the_lock(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py")
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(opened, store, "b.py")
        wait([waiting], timeout=0.1)
        other.execute("ROLLBACK")  # It would come too late if the waiting thread kept the GIL.
        waiting.result()
    assert values(store).keys() == {"a.py", "b.py"}


# --- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads_first", [True, False], ids=["read", "written"])
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_a_damaged_file_is_set_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reads_first: bool, is_open: bool
) -> None:
    store, other = FeedbackStore(tmp_path), FeedbackStore(tmp_path)
    opened(store, *(f"{number}.py" for number in range(300)))
    if is_open:
        assert values(store)
        assert values(other)
    text = bytearray(store.path.read_bytes())
    text[4096:] = b"\xa5" * (len(text) - 4096)
    text[24:28] = b"\xff" * 4  # the change counter, so that open connections notice
    store.path.write_bytes(text)
    with caplog.at_level(logging.WARNING):
        if reads_first:
            assert values(store) == {}
        opened(store, "new.py")
    assert "was damaged" in caplog.text
    assert store.remark is not None
    assert "set aside as feedback.db.damaged-" in store.remark
    assert values(store).keys() == values(other).keys() == {"new.py"}
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1
    store.reset()
    assert list(tmp_path.glob("*.damaged-*")) == []
    assert store.remark is None


@pytest.mark.parametrize("text", ["this is not a database\n" * 500, ""], ids=["not a database", "empty"])
def test_a_file_without_choices_is_replaced(tmp_path: Path, text: str) -> None:
    store = FeedbackStore(tmp_path)
    store.path.write_text(text)
    assert store.learned() is None
    assert store.files() == ()
    opened(store, "a.py")
    assert values(store).keys() == set(counts(store)) == {"a.py"}


def test_the_file_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py")
    db = apsw.Connection(str(store.path))
    db.pragma("user_version", 99)
    db.close()
    before = store.path.read_bytes()
    assert store.learned() is None
    assert "another version" in str(store.remark)
    with pytest.raises(FeedbackUnavailableError, match="another version"):
        opened(store, "b.py")
    assert store.path.read_bytes() == before
    store.path.unlink()
    assert store.learned() is None
    assert store.remark is None


def test_an_unknown_action_does_not_count(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py", "b.py")
    apsw.Connection(str(store.path)).execute("UPDATE choices SET action = 'printed' WHERE path = 'a.py'")
    assert values(store).keys() == set(counts(store)) == {"b.py"}


def test_an_unwritable_folder_is_an_error_only_for_writes(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the data folder should be")
    with pytest.raises(FeedbackUnavailableError, match="CAIRN_DATA_DIR"):
        opened(FeedbackStore(blocked), "a.py")
    assert FeedbackStore(blocked).learned() is None


def test_a_read_only_file_is_read(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py")
    store.path.chmod(stat.S_IRUSR)
    assert values(FeedbackStore(tmp_path)).keys() == {"a.py"}


def test_a_missing_folder_has_no_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="folder: "):
        store_of(tmp_path / "nowhere")


def test_setting_the_index_aside_keeps_the_choices(tmp_path: Path) -> None:
    store = FeedbackStore(tmp_path)
    opened(store, "a.py")
    IndexWriter(tmp_path).close()
    set_aside(tmp_path / DATABASE_NAME)
    assert not (tmp_path / DATABASE_NAME).exists()
    assert values(store).keys() == {"a.py"}


def test_a_choice_counts_less_every_day_but_the_same_all_day(tmp_path: Path) -> None:
    clock = Clock()
    store = FeedbackStore(tmp_path, clock)
    opened(store, "a.py")
    fresh, first = values(store)["a.py"], store.learned()
    clock.now += DAY_S - 1
    same_day = store.learned()
    assert values(store)["a.py"] == fresh
    clock.now += 1
    next_day = store.learned()
    assert 0 < values(store)["a.py"] < fresh
    versions = [learned and learned.version for learned in (first, same_day, next_day)]
    assert versions[0] == versions[1] != versions[2]
