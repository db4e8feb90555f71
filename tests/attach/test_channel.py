"""Channels to the engine of another process, and the records and locks that announce it."""

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
from cairn.attach.records import EDITOR, Record, acquire_lock, read_record, remove_record, write_record
from cairn.paths import workspace_dir

needs_unix = pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets")


@pytest.fixture(params=[True, False], ids=["unix", "tcp"])
def echo_engine(request: pytest.FixtureRequest, bare_data_dir: Path) -> Iterator[Record]:
    """The record of an engine that answers each request with the request itself."""
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
    with suppress(OSError):  # A listening socket of TCP is not connected.
        bound.shutdown(socket.SHUT_RDWR)  # This wakes the thread in `accept`.
    bound.close()
    remove_socket(address)


def test_first_line_has_protocol_token_and_request(echo_engine: Record) -> None:
    channel, answer = opened(echo_engine, {"want": "hello"}, 10)
    channel.close()
    assert answer == {"cairn": 1, "token": "secret", "want": "hello"}


def test_engine_is_found_while_its_record_exists(echo_engine: Record, tmp_path: Path) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, echo_engine)
    assert read_record(tmp_path) == echo_engine
    found = find([tmp_path / "elsewhere", tmp_path], {"want": "hello"}, 10)
    assert found is not None
    found[0].close()
    remove_record(tmp_path, echo_engine._replace(token="another"))
    assert read_record(tmp_path) == echo_engine
    remove_record(tmp_path, echo_engine)
    assert find([tmp_path], {"want": "hello"}, 10) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"address": 3}', b"\xff" * 9_000])
def test_malformed_record_is_ignored(bare_data_dir: Path, tmp_path: Path, content: bytes) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    (workspace_dir(tmp_path) / "engine.json").write_bytes(content)
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("address", ["unix:/nowhere", "tcp:1", "tcp:x", "carrier-pigeon:9", ""])
def test_unreachable_engine_is_an_error(address: str) -> None:
    with pytest.raises(AttachError):
        opened(Record(address, "", 1, "", EDITOR), {}, 1)


def test_folder_has_one_lock(bare_data_dir: Path, tmp_path: Path) -> None:
    lock = acquire_lock(tmp_path)
    assert lock is not None
    assert acquire_lock(tmp_path) is None
    lock.release()
    again = acquire_lock(tmp_path)
    assert again is not None
    again.release()


@needs_unix
def test_permissions_keep_other_users_out(bare_data_dir: Path, tmp_path: Path) -> None:
    bound, address = listening()
    path = Path(address.removeprefix("unix:"))
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, Record(address, "secret", 1, "", EDITOR))
    record = workspace_dir(tmp_path) / "engine.json"
    assert json.loads(record.read_text())["token"] == "secret"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, record)] == [0o600, 0o600]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    bound.close()
    remove_socket(address)
    assert not path.exists()


@needs_unix
def test_deep_data_folder_has_its_socket_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / ("deep" * 30)))
    bound, address = listening()
    bound.close()
    remove_socket(address)
    assert len(address) < 100


@needs_unix
def test_sockets_of_dead_processes_are_deleted(bare_data_dir: Path) -> None:
    first, address = listening()
    leftover = Path(address.removeprefix("unix:")).with_name("999999999-abcdef.sock")
    leftover.touch()
    second, _ = listening()
    assert not leftover.exists()
    assert Path(address.removeprefix("unix:")).exists()
    first.close()
    second.close()
