"""Requests of other processes wait in the index until the writer drops them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cairn.errors import IndexUnavailableError
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store import database as database_module
from cairn.index.store.coordination import (
    RequestKind,
    ask_for_check,
    check_is_marked,
    drop_requests,
    leave_request,
    take_check_mark,
    waiting_requests,
)
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.writer import IndexWriter


def test_requests_wait_in_order_for_the_writer_to_drop_them(
    writer: IndexWriter, reader: SqliteReader, tmp_path: Path
) -> None:
    assert not reader.has_requests()
    first = leave_request(tmp_path, RequestKind.REINDEX, "src")
    second = leave_request(tmp_path, RequestKind.PAUSE, "")
    waiting = waiting_requests(writer.db)
    assert [(request.id, request.kind, request.path) for request in waiting] == [
        (first, RequestKind.REINDEX, "src"),
        (second, RequestKind.PAUSE, ""),
    ]
    assert waiting_requests(writer.db) == waiting
    late = leave_request(tmp_path, RequestKind.RECONCILE, "")
    drop_requests(writer.db, [waiting[0].id])
    assert [request.id for request in waiting_requests(writer.db)] == [second, late]
    assert reader.has_requests()
    drop_requests(writer.db, [request.id for request in waiting_requests(writer.db)])
    assert not reader.has_requests()


def test_requests_outlive_their_process_and_the_writer(tmp_path: Path) -> None:
    IndexWriter(tmp_path).close()
    leave_request(tmp_path, RequestKind.REINDEX, "a.md")
    again = IndexWriter(tmp_path)
    assert [request.path for request in waiting_requests(again.db)] == ["a.md"]
    again.close()


def test_missing_index_takes_no_requests(tmp_path: Path) -> None:
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"no database at all" * 500])
def test_unusable_index_says_what_to_do_about_a_request(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / DATABASE_NAME).mkdir()
    else:
        (tmp_path / DATABASE_NAME).write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"CAIRN_DATA_DIR|Try again"):
        leave_request(tmp_path, RequestKind.PAUSE, "")


def test_busy_index_says_to_try_again(
    writer: IndexWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_BUSY_MS", 20)
    with writer.db:
        writer.db.execute("INSERT INTO requests(kind, path) VALUES ('pause', '')")
        with pytest.raises(IndexUnavailableError, match="Try again"):
            leave_request(tmp_path, RequestKind.PAUSE, "")
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is not None


def test_other_threads_run_while_a_request_waits(writer: IndexWriter, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with writer.db:
            writer.db.execute("INSERT INTO requests(kind, path) VALUES ('pause', '')")
            request = threads.submit(leave_request, tmp_path, RequestKind.PAUSE, "")
            time.sleep(0.1)  # meanwhile it begins to wait for this transaction
        assert request.result() is not None


def test_request_of_a_newer_version_causes_a_scan(writer: IndexWriter) -> None:
    writer.db.execute("INSERT INTO requests(kind, path) VALUES ('polish', '')")
    (request,) = waiting_requests(writer.db)
    assert request.kind is RequestKind.RECONCILE


def test_check_is_requested_beside_the_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask_for_check(tmp_path / "nowhere")
    assert "cannot be marked for a check" in caplog.text
    assert not check_is_marked(tmp_path)
    ask_for_check(tmp_path)
    assert check_is_marked(tmp_path)
    assert take_check_mark(tmp_path)
    assert not take_check_mark(tmp_path)
