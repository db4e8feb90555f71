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
from functools import partial
from pathlib import Path

import pytest

from cairn.attach.channel import (
    CLIENT,
    GREETING,
    GREETING_LENGTH,
    AttachError,
    _connect,
    _received,
    answers,
    listening,
    opened,
    remove_socket,
)
from cairn.attach.engine_records import (
    EDITOR,
    PROTOCOL,
    Record,
    acquire_lock,
    read_record,
    remove_record,
    write_record,
)
from cairn.attach.finding import find
from cairn.attach.proof import proof
from cairn.engine.host import Host
from cairn.paths import workspace_dir
from cairn.serve import engine_socket
from cairn.serve.engine_socket import _MOST_UNPROVED, EngineSocket
from cairn.serve.shared_engine import _Thread
from cairn.settings.tree import EmbeddingSettings

needs_unix = pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets")


@pytest.fixture(params=[True, False], ids=["unix", "tcp"])
def engine(
    request: pytest.FixtureRequest, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Record]:
    """The record of a running engine of another process, as far as the record says."""
    if request.param and sys.platform == "win32":
        pytest.skip("no Unix sockets")
    monkeypatch.setattr(engine_socket, "listening", partial(listening, unix=request.param))
    running = EngineSocket(lambda: Host(EmbeddingSettings()), tuple, 60, EDITOR)
    thread = _Thread(running)
    yield running.announcements.record._replace(process_id=os.getpid() + 1)
    thread.stop()


def test_each_side_proves_itself_to_the_other(engine: Record) -> None:
    channel, answer = opened(engine, {"want": "hello"}, 10)
    channel.close()
    assert answer == {"ok": True}
    channel, answer = opened(engine, {"want": "nonsense"}, 10)
    channel.close()
    assert "nonsense" in answer["error"]
    with pytest.raises(AttachError, match="is not the engine of the record"):
        opened(engine._replace(token="guessed"), {"want": "hello"}, 10)


class Impostor:
    """A program at the port of an engine that has ended. It keeps everything that it receives."""

    def __init__(self, connection: socket.socket, other_engine: Record) -> None:
        self._connection, self._other_engine = connection, other_engine
        self.received = b""

    def receive(self) -> bytes:
        data = self._connection.recv(4_096)
        self.received += data
        return data

    def echo(self) -> None:
        self._connection.sendall(self.receive() * 9)

    def guess(self) -> None:
        self.receive()
        self._connection.sendall(b"0" * 96)

    def accept_everything(self) -> None:
        self._connection.sendall(b'{"ok": true}\n' * 100)

    def relay(self) -> None:
        """Let an engine of the same user at another port answer."""
        with _connect(self._other_engine.address) as other:
            other.sendall(self.receive())
            self._connection.sendall(other.recv(4_096))

    def trickle(self) -> None:
        self._connection.settimeout(0.1)
        while True:
            self._connection.sendall(b"0")
            with suppress(TimeoutError):
                self.receive()

    def wait(self) -> None:
        while self.receive():
            pass


@pytest.mark.parametrize("behaviour", ["echo", "guess", "accept_everything", "relay", "trickle", "wait"])
@pytest.mark.parametrize("engine", [False], indirect=True, ids=["tcp"])
def test_impostor_gets_neither_token_nor_request(engine: Record, behaviour: str) -> None:
    impostors: list[Impostor] = []

    def impersonate() -> None:
        connection, _ = bound.accept()
        with connection, suppress(OSError):
            impostors.append(Impostor(connection, engine))
            getattr(impostors[0], behaviour)()
            impostors[0].wait()

    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=impersonate)
        thread.start()
        ended = engine._replace(address=f"tcp:{bound.getsockname()[1]}", token="the token of the ended one")
        with pytest.raises(AttachError):
            opened(ended, {"want": "command", "arguments": ["secret question"]}, 1)
        thread.join()
    assert impostors[0].received.startswith(GREETING)
    assert len(impostors[0].received) == GREETING_LENGTH, "nothing follows the client's nonce"


def exchange(engine: Record, *messages: bytes) -> bytes:
    """Send messages to the engine without waiting for its nonce, and return all that it answers."""
    with _connect(engine.address) as connection:
        connection.settimeout(60)
        with suppress(OSError):  # The engine closes the connection.
            for message in messages:
                connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while part := connection.recv(4_096):
                answer += part
        return answer


def test_engine_does_nothing_for_a_client_without_proof(engine: Record) -> None:
    wish = b'{"want": "hello"}\n'
    greeting = GREETING + b"0" * 32
    old = b'{"cairn": 1, "token": "%s", "want": "hello"}\n' % engine.token.encode()
    replayed = proof(engine.token, CLIENT, "0" * 32, "1" * 32).encode()
    for messages in ((b"",), (wish,), (old,), (b"GET / HTTP/1.1\r\n\r\n" * 9,), (b"\xff" * 1_000_000,)):
        assert exchange(engine, *messages) == b""
    for given in (b"", b"0" * 64, b"\xff" * 64, replayed, b"0" * 1_000_000):
        answer = exchange(engine, greeting, given, wish)
        assert len(answer) in (0, 96)
        assert b"ok" not in answer


def test_client_cannot_prove_itself_with_the_proof_of_the_engine(engine: Record) -> None:
    with _connect(engine.address) as first, _connect(engine.address) as second:
        for connection in (first, second):
            connection.settimeout(60)
        first.sendall(GREETING + b"0" * 32)
        nonce = _received(first, 96, 60)[:32]
        second.sendall(GREETING + nonce)
        first.sendall(_received(second, 96, 60)[32:] + b'{"want": "hello"}\n')
        with suppress(ConnectionError):
            assert first.recv(4_096) == b""


def test_idle_connections_do_not_keep_clients_out(engine: Record) -> None:
    idle = [_connect(engine.address) for _ in range(_MOST_UNPROVED + 50)]
    assert answers(engine, 60)
    for connection in idle[:50]:  # The engine has closed the oldest ones.
        connection.settimeout(60)
        with suppress(ConnectionError):
            assert connection.recv(1) == b""
    for connection in idle:
        connection.close()


def test_engine_of_another_protocol_is_refused_before_it_is_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        record = Record(f"tcp:{bound.getsockname()[1]}", "secret", 1, "0.1.0", EDITOR)
        with pytest.raises(AttachError, match="is a Cairn of another version; restart it"):
            opened(record, {"want": "hello"}, 1)
        bound.settimeout(0.05)
        with pytest.raises(TimeoutError):
            bound.accept()


def test_engine_is_found_while_its_record_exists(engine: Record, tmp_path: Path) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, engine)
    assert read_record(tmp_path) == engine
    found = find([tmp_path / "elsewhere", tmp_path], {"want": "hello"}, 10)
    assert found is not None
    found[0].close()
    remove_record(tmp_path, engine._replace(token="another"))
    assert read_record(tmp_path) == engine
    remove_record(tmp_path, engine)
    assert find([tmp_path], {"want": "hello"}, 10) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"address": 3}', b"\xff" * 9_000])
def test_malformed_record_is_ignored(bare_data_dir: Path, tmp_path: Path, content: bytes) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    (workspace_dir(tmp_path) / "engine.json").write_bytes(content)
    assert read_record(tmp_path) is None


@pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0, reason="only root can give a file to another user"
)
def test_record_of_another_user_is_ignored(bare_data_dir: Path, tmp_path: Path) -> None:
    workspace_dir(tmp_path).mkdir(parents=True)
    write_record(tmp_path, Record("tcp:1", "known to the other user", 1, "", EDITOR, PROTOCOL))
    os.chown(workspace_dir(tmp_path) / "engine.json", 65_534, -1)
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("address", ["unix:/nowhere", "tcp:1", "tcp:x", "carrier-pigeon:9", ""])
def test_unreachable_engine_is_an_error(address: str) -> None:
    with pytest.raises(AttachError):
        opened(Record(address, "", 1, "", EDITOR, PROTOCOL), {}, 1)


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
