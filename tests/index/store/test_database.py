"""One place opens the index file, whether it is sound, damaged, of another version, or missing."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.index.index_builders import functions, indexed

from cairn.errors import IndexUnavailableError
from cairn.index.store import database
from cairn.index.store.coordination import RequestKind, leave_request
from cairn.index.store.database import (
    DATABASE_NAME,
    open_for_request,
    open_reader,
    open_writer,
    set_aside,
    today,
)
from cairn.index.store.schema import SCHEMA, SCHEMA_VERSION, schema_version
from cairn.index.store.writer import IndexWriter

NO_DATABASE = b"no database at all" * 500


def written(folder: Path, chunks: int, *, sql: str = "") -> IndexWriter:
    """A writer of an index with `chunks` chunks, changed by `sql`, whose log is empty."""
    writer = IndexWriter(folder)
    writer.write([functions("a.py", chunks), indexed("b.md", "# B\n")], ())
    writer.db.execute(sql)
    writer.checkpoint()
    return writer


def damage_a_page(path: Path) -> None:
    """Overwrite half a page of chunks in the last third, as a failing disk does."""
    content = bytearray(path.read_bytes())
    start = len(content) * 3 // 4 // 4096 * 4096
    content[start : start + 2048] = bytes(2048)
    path.write_bytes(content)


def test_new_index_is_empty_and_of_this_version(tmp_path: Path) -> None:
    connection, remark = open_writer(tmp_path, check=True)
    assert remark is None
    pragmas = [connection.pragma(name) for name in ("user_version", "journal_mode", "auto_vacuum")]
    assert pragmas == [SCHEMA_VERSION, "wal", 2]
    assert connection.execute("SELECT count(*) FROM files").get == 0
    connection.close()


@pytest.mark.parametrize("end", ["close", "abandon"])
def test_index_has_the_same_files_after_its_writer_ends(tmp_path: Path, end: str) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([indexed("a.md", "# A\n")], ())
    getattr(writer, end)()
    again = IndexWriter(tmp_path)
    assert (set(again.files()), again.remark) == ({"a.md"}, None)
    again.close()
    assert not Path(f"{tmp_path / DATABASE_NAME}-wal").exists(), "a closed index is one file"


@pytest.mark.parametrize("check", [True, False])
def test_writer_checks_an_index_whose_last_writer_died(tmp_path: Path, check: bool) -> None:
    written(tmp_path, 120).abandon()
    damage_a_page(tmp_path / DATABASE_NAME)
    again = IndexWriter(tmp_path, check=check)
    assert ("was damaged" in (again.remark or "")) == check
    assert bool(list(tmp_path.glob("*.damaged-*"))) == check
    again.abandon()


def test_writer_defers_the_check_of_a_large_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = written(tmp_path, 120)
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


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chunks_fts_data SET block = zeroblob(length(block)) WHERE id > 10",
        "DELETE FROM chunks_fts",
        "DELETE FROM paths_fts",
        "INSERT INTO chunks_fts(rowid, text) VALUES (9999, 'ship')",
        "INSERT INTO paths_fts(rowid, stem) VALUES (9999, 'ship')",
        "UPDATE meta SET value = 1 WHERE key = 'chunks'",
    ],
)
def test_check_finds_inconsistent_tables(tmp_path: Path, sql: str) -> None:
    written(tmp_path, 60, sql=sql).abandon()
    again = IndexWriter(tmp_path)
    assert "was damaged" in (again.remark or "")
    assert again.files() == {}
    again.close()


def test_writer_replaces_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(NO_DATABASE)
    writer = IndexWriter(tmp_path)
    assert "was damaged" in str(writer.remark)
    assert [path.read_bytes() for path in tmp_path.glob(f"{DATABASE_NAME}.damaged-*")] == [NO_DATABASE]
    writer.close()


def test_latest_damaged_index_is_kept_with_its_log(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        (tmp_path / DATABASE_NAME).write_bytes(content)
        Path(f"{tmp_path / DATABASE_NAME}-wal").write_bytes(b"log of " + content)
        name = set_aside(tmp_path / DATABASE_NAME)
        assert (tmp_path / name).read_bytes() == content
    kept = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert kept == [b"log of second", b"second"]


def test_index_of_another_version_is_deleted(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.write([indexed("secret.yaml", "password: mountain\n")], ())
    writer.db.pragma("user_version", 7)
    writer.close()
    (tmp_path / "previous.db").touch()  # Cairn 0.2 could leave it.
    writer = IndexWriter(tmp_path)
    assert "another version" in str(writer.remark)
    assert writer.files() == {}
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_NAME]


def test_only_a_change_of_the_tables_changes_the_schema_version() -> None:
    assert schema_version(SCHEMA) == SCHEMA_VERSION
    for same in (f"-- A remark.\n{SCHEMA}", SCHEMA.replace("\n", "\r\n").replace(" ", "  ")):
        assert schema_version(same) == SCHEMA_VERSION
    assert schema_version(SCHEMA.replace("size INTEGER", "size REAL")) != SCHEMA_VERSION


def test_empty_file_becomes_an_index(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"")
    connection, remark = open_writer(tmp_path, check=True)
    assert (remark, connection.pragma("user_version")) == (None, SCHEMA_VERSION)
    connection.close()


@pytest.mark.parametrize("content", [None, b"", NO_DATABASE])
def test_reader_finds_no_index_in_a_missing_or_invalid_file(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / DATABASE_NAME).write_bytes(content)
    assert open_reader(tmp_path / DATABASE_NAME) is None


def test_readers_and_requests_ignore_another_version(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.db.pragma("user_version", 7)
    writer.close()
    assert open_reader(tmp_path / DATABASE_NAME) is None
    assert open_for_request(tmp_path / DATABASE_NAME) is None
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is None


def test_reader_cannot_write(tmp_path: Path) -> None:
    IndexWriter(tmp_path).close()
    reader = open_reader(tmp_path / DATABASE_NAME)
    assert reader is not None
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM meta")
    reader.close()


@pytest.mark.parametrize("place", ["file", "file/index", "missing"])
def test_unusable_folder_says_what_to_do(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnavailableError, match="CAIRN_DATA_DIR"):
        open_writer(tmp_path / place, check=True)


def test_removing_a_file_removes_its_chunks_and_keywords(tmp_path: Path) -> None:
    writer = written(tmp_path, 3, sql="DELETE FROM files")
    for table in ("chunks", "definitions", "chunks_fts_docsize"):
        assert writer.db.execute(f"SELECT count(*) FROM {table}").get == 0, table
    writer.close()
