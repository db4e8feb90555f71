"""Channels to the engine of another process: who may connect, and what an engine is told to do."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cairn.attach.channel import AttachError, listening, opened, remove_socket
from cairn.attach.finding import find
from cairn.attach.records import EDITOR, Record, read_record, remove_record, taken_lock, write_record
from cairn.paths import workspace_dir


@pytest.fixture(params=[True, False], ids=["unix", "tcp"])
def answering(request: pytest.FixtureRequest, bare_data_dir: Path) -> Iterator[Record]:
    """A process that answers each connection with what it was sent."""
    if request.param and sys.platform == "win32":
        pytest.skip("no Unix sockets")
    bound, address = listening(unix=request.param)

    def answer() -> None:
        while True:
            try:
                connection, _ = bound.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as lines:
                lines.write(lines.readline())

    threading.Thread(target=answer, daemon=True).start()
    yield Record(address, "secret", os.getpid() + 1, "0.0", EDITOR)
    with suppress(OSError):  # TCP's listening sockets are not connected.
        bound.shutdown(socket.SHUT_RDWR)  # which wakes the thread that accepts
    bound.close()
    remove_socket(address)


def test_the_first_line_has_the_token_and_what_is_wanted(answering: Record) -> None:
    channel, answer = opened(answering, {"want": "hello"}, 10)
    channel.close()
    assert (answer["token"], answer["want"], answer["cairn"]) == ("secret", "hello", 1)


def test_an_engine_is_found_by_its_folder_until_its_record_is_removed(
    answering: Record, tmp_path: Path
) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, answering)
    assert read_record(tmp_path) == answering
    found = find([tmp_path / "elsewhere", tmp_path], {"want": "hello"}, 10)
    assert found is not None
    found[0].close()
    remove_record(tmp_path, answering._replace(token="another"))
    assert read_record(tmp_path) == answering
    remove_record(tmp_path, answering)
    assert find([tmp_path], {"want": "hello"}, 10) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"address": 3}', b"\xff" * 9_000])
def test_a_record_that_cannot_be_read_is_none(bare_data_dir: Path, tmp_path: Path, content: bytes) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    (workspace_dir(tmp_path) / "engine.json").write_bytes(content)
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("address", ["unix:/nowhere", "tcp:1", "tcp:x", "carrier-pigeon:9", ""])
def test_an_engine_that_is_gone_is_an_error_at_once(address: str) -> None:
    with pytest.raises(AttachError):
        opened(Record(address, "", 1, "", EDITOR), {}, 1)


def test_one_process_at_a_time_has_a_folder(bare_data_dir: Path, tmp_path: Path) -> None:
    lock = taken_lock(tmp_path)
    assert lock is not None
    assert taken_lock(tmp_path) is None
    lock.release()
    again = taken_lock(tmp_path)
    assert again is not None
    again.release()


@pytest.mark.skipif(sys.platform == "win32", reason="the token keeps others out there")
def test_nobody_else_can_connect_or_read_the_token(bare_data_dir: Path, tmp_path: Path) -> None:
    bound, address = listening()
    place = Path(address.removeprefix("unix:"))
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, Record(address, "secret", 1, "", EDITOR))
    record = workspace_dir(tmp_path) / "engine.json"
    assert json.loads(record.read_text())["token"] == "secret"
    for path in (place, record):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    bound.close()
    remove_socket(address)
    assert not place.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")
def test_a_deep_data_folder_has_its_socket_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / ("deep" * 30)))
    bound, address = listening()
    bound.close()
    remove_socket(address)
    assert len(address) < 100


@pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")
def test_sockets_of_dead_processes_are_removed(bare_data_dir: Path) -> None:
    bound, address = listening()
    left = Path(address.removeprefix("unix:")).with_name("999999999-abcdef.sock")
    left.touch()
    again, another = listening()
    assert not left.exists()
    assert Path(address.removeprefix("unix:")).exists()
    for each, where in ((bound, address), (again, another)):
        each.close()
        remove_socket(where)
