"""One place opens the index file: sound, damaged, of another version, or not at all."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.index.index_builders import functions, indexed

from cairn.errors import IndexUnavailableError
from cairn.index.store import database
from cairn.index.store.database import (
    DATABASE_NAME,
    PREVIOUS_NAME,
    connect_read_only,
    open_for_request,
    open_reader,
    open_writer,
    remove_previous,
    set_aside,
)
from cairn.index.store.maintenance import today
from cairn.index.store.schema import SCHEMA_VERSION
from cairn.index.store.writer import IndexWriter

NO_DATABASE = b"no database at all" * 500


def damage_a_page(path: Path) -> None:
    """Overwrite something in the middle, as a failing disk would."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 2048] = bytes(2048)
    path.write_bytes(content)


def test_a_new_index_is_empty_and_of_this_version(tmp_path: Path) -> None:
    connection, remark = open_writer(tmp_path, check=True)
    assert remark is None
    assert connection.pragma("user_version") == SCHEMA_VERSION
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("auto_vacuum") == 2, "free pages can be given back"
    assert connection.execute("SELECT count(*) FROM files").get == 0
    connection.close()


def test_what_was_written_is_there_again_and_nothing_is_said(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([indexed("a.md", "# A\n")], ())
    writer.close()
    again = IndexWriter(tmp_path)
    assert (set(again.files()), again.remark) == ({"a.md"}, None)
    again.close()
    assert not Path(f"{tmp_path / DATABASE_NAME}-wal").exists(), "a closed index is one file"


def test_a_writer_that_died_leaves_what_it_had_written(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([indexed("a.md", "# A\n")], ())
    writer.abandon()
    again = IndexWriter(tmp_path)
    assert (set(again.files()), again.remark) == ({"a.md"}, None)
    again.close()


@pytest.mark.parametrize("check", [True, False])
def test_an_index_whose_writer_died_is_checked(tmp_path: Path, check: bool) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([functions("a.py", 120), indexed("b.md", "# B\n")], ())
    writer.checkpoint()
    writer.abandon()
    damage_a_page(tmp_path / DATABASE_NAME)
    again = IndexWriter(tmp_path, check=check)
    assert ("was damaged" in (again.remark or "")) == check
    assert bool(list(tmp_path.glob("*.damaged-*"))) == check
    again.abandon()


def test_a_large_index_whose_writer_died_is_checked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([functions("a.py", 120)], ())
    writer.note(tidied=1, tidied_on=today(), checked_on=today())
    writer.checkpoint()
    writer.abandon()
    damage_a_page(tmp_path / DATABASE_NAME)
    monkeypatch.setattr(database, "_CHECKED_FIRST_BYTES", 1_000)
    again = IndexWriter(tmp_path)
    assert again.remark is None
    facts = again.facts()
    assert (facts.checked_on, facts.tidied_on) == (1, 0)
    again.abandon()


def test_keywords_that_contradict_themselves_are_found_by_the_check(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([functions("a.py", 60)], ())
    writer.db.execute("UPDATE chunks_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    writer.checkpoint()
    writer.abandon()
    again = IndexWriter(tmp_path)
    assert "was damaged" in (again.remark or "")
    assert again.files() == {}
    again.close()


def test_of_damaged_indexes_the_latest_is_kept_with_its_log(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        (tmp_path / DATABASE_NAME).write_bytes(content)
        Path(f"{tmp_path / DATABASE_NAME}-wal").write_bytes(b"log of " + content)
        name = set_aside(tmp_path / DATABASE_NAME)
        assert (tmp_path / name).read_bytes() == content
    kept = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert kept == [b"log of second", b"second"]


def test_an_index_of_another_version_is_kept_until_it_is_no_longer_needed(tmp_path: Path) -> None:
    for path in ("old.md", "newer.md"):
        writer = IndexWriter(tmp_path)
        writer.write([indexed(path, "# A\n")], ())
        writer.db.pragma("user_version", 7)
        writer.close()
    writer = IndexWriter(tmp_path)
    assert "another version" in str(writer.remark)
    assert writer.files() == {}
    previous = connect_read_only(tmp_path / PREVIOUS_NAME)
    assert previous.execute("SELECT path FROM files").get == "newer.md"
    previous.close()
    writer.close()
    remove_previous(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_NAME]


def test_a_file_that_a_crash_left_empty_becomes_an_index(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"")
    connection, remark = open_writer(tmp_path, check=True)
    assert (remark, connection.pragma("user_version")) == (None, SCHEMA_VERSION)
    assert not (tmp_path / PREVIOUS_NAME).exists()
    connection.close()


@pytest.mark.parametrize("content", [None, b"", NO_DATABASE])
def test_readers_find_no_index_where_there_is_none_yet(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / DATABASE_NAME).write_bytes(content)
    assert open_reader(tmp_path / DATABASE_NAME) is None


def test_readers_and_requests_pass_over_another_version(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.db.pragma("user_version", 7)
    writer.close()
    assert open_reader(tmp_path / DATABASE_NAME) is None
    assert open_for_request(tmp_path / DATABASE_NAME) is None


def test_readers_cannot_write(tmp_path: Path) -> None:
    IndexWriter(tmp_path).close()
    reader = open_reader(tmp_path / DATABASE_NAME)
    assert reader is not None
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM meta")
    reader.close()


@pytest.mark.parametrize("place", ["file/index", "missing"])
def test_a_folder_that_cannot_be_used_says_what_to_do(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnavailableError, match="CAIRN_DATA_DIR"):
        open_writer(tmp_path / place, check=True)


def test_removing_a_file_removes_all_that_hangs_on_it(tmp_path: Path) -> None:
    """Foreign keys and triggers are switched on by the connection."""
    writer = IndexWriter(tmp_path)
    writer.write([functions("a.py", 3)], ())
    writer.db.execute("DELETE FROM files")
    for table in ("chunks", "definitions", "chunks_fts_docsize"):
        assert writer.db.execute(f"SELECT count(*) FROM {table}").get == 0, table
    writer.close()
