"""What other processes ask of the writer waits in the index until it is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.errors import IndexUnavailableError
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store import database as database_module
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.requests import (
    RequestKind,
    ask_for_check,
    check_is_marked,
    drop_requests,
    leave_request,
    take_check_mark,
    waiting_requests,
)
from cairn.index.store.writer import IndexWriter


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[IndexWriter]:
    writer = IndexWriter(tmp_path)
    yield writer
    writer.close()


def test_requests_reach_the_writer_in_their_order_and_wait_until_they_are_dropped(
    writer: IndexWriter, tmp_path: Path
) -> None:
    reader = SqliteReader(tmp_path)
    assert not reader.has_requests()
    first = leave_request(tmp_path, RequestKind.REINDEX, "src")
    second = leave_request(tmp_path, RequestKind.PAUSE, "")
    waiting = waiting_requests(writer.db)
    assert [(request.id, request.kind, request.path) for request in waiting] == [
        (first, RequestKind.REINDEX, "src"),
        (second, RequestKind.PAUSE, ""),
    ]
    assert waiting_requests(writer.db) == waiting
    drop_requests(writer.db, [waiting[0].id])
    assert [request.id for request in waiting_requests(writer.db)] == [second]
    assert reader.has_requests()
    drop_requests(writer.db, [waiting[1].id])
    assert not reader.has_requests()


def test_dropping_what_is_done_leaves_what_came_meanwhile(writer: IndexWriter, tmp_path: Path) -> None:
    leave_request(tmp_path, RequestKind.RECONCILE, "")
    taken = waiting_requests(writer.db)
    late = leave_request(tmp_path, RequestKind.RECONCILE, "")
    drop_requests(writer.db, [request.id for request in taken])
    assert [request.id for request in waiting_requests(writer.db)] == [late]


def test_requests_outlive_the_process_that_left_them_and_the_writer(tmp_path: Path) -> None:
    IndexWriter(tmp_path).close()
    leave_request(tmp_path, RequestKind.REINDEX, "a.md")
    again = IndexWriter(tmp_path)
    assert [request.path for request in waiting_requests(again.db)] == ["a.md"]
    again.close()


def test_while_there_is_no_index_nothing_can_be_left(tmp_path: Path) -> None:
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is None
    assert not (tmp_path / DATABASE_NAME).exists()


def test_an_index_of_another_version_takes_no_requests(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    writer.db.pragma("user_version", 7)
    writer.close()
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is None


@pytest.mark.parametrize("content", [None, b"no database at all" * 500])
def test_what_cannot_take_a_request_says_what_to_do(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / DATABASE_NAME).mkdir()
    else:
        (tmp_path / DATABASE_NAME).write_bytes(content)
    with pytest.raises(IndexUnavailableError, match=r"CAIRN_DATA_DIR|Try again"):
        leave_request(tmp_path, RequestKind.PAUSE, "")


def test_an_index_that_stays_busy_says_so(
    writer: IndexWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_BUSY_MS", 20)
    with writer.db:
        writer.db.execute("INSERT INTO requests(kind, path) VALUES ('pause', '')")
        with pytest.raises(IndexUnavailableError, match="Try again"):
            leave_request(tmp_path, RequestKind.PAUSE, "")
    assert leave_request(tmp_path, RequestKind.PAUSE, "") is not None


def test_what_only_a_newer_version_can_ask_for_makes_for_a_look_and_is_done(writer: IndexWriter) -> None:
    writer.db.execute("INSERT INTO requests(kind, path) VALUES ('polish', '')")
    (request,) = waiting_requests(writer.db)
    assert request.kind is RequestKind.RECONCILE
    drop_requests(writer.db, [request.id])
    assert waiting_requests(writer.db) == []


def test_a_check_is_asked_for_even_where_requests_lie_in_what_is_damaged(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path)
    page = int(writer.db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'requests'").get)
    size = int(writer.db.execute("PRAGMA page_size").get)
    writer.close()
    ask_for_check(tmp_path)
    assert not check_is_marked(tmp_path)  # the index itself takes the request
    with (tmp_path / DATABASE_NAME).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    ask_for_check(tmp_path)
    assert check_is_marked(tmp_path)
    assert take_check_mark(tmp_path)
    assert not take_check_mark(tmp_path)


def test_without_an_index_no_check_is_asked_for(tmp_path: Path) -> None:
    ask_for_check(tmp_path)
    assert list(tmp_path.iterdir()) == []
