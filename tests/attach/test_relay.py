"""The relay between an agent's client and engines that start and end."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.attach.channel import AttachError, Channel
from cairn.attach.greeting import Greeting
from cairn.attach.relay import MOVE, Relay, lines

PATIENCE_SECONDS = 30.0
INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
INITIALIZED = {"method": "notifications/initialized"}


class Engine:
    """The engine's end of a channel to the relay."""

    def __init__(self) -> None:
        mine, other = socket.socketpair()
        mine.settimeout(PATIENCE_SECONDS)
        self.channel, self._socket, self._lines = Channel(other), mine, mine.makefile("rb")

    def receive(self) -> Any:
        return json.loads(self._lines.readline())

    def send(self, **message: Any) -> None:
        self._socket.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def die(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Session:
    """A client of a relay, and the engines to which the relay attaches."""

    def __init__(self, greeting: Greeting | None = None) -> None:
        self._engines: list[Engine | AttachError] = []
        self._attached = threading.Semaphore(0)
        self.folders: list[list[str]] = []
        to_relay, stdin = os.pipe()
        self._stdin: int | None = stdin
        from_relay, to_client = os.pipe()
        self._answers = os.fdopen(from_relay, "rb")
        self.relay = Relay(self._attach, os.fdopen(to_client, "wb"), greeting)
        self._thread = threading.Thread(target=self.relay.run, args=(os.fdopen(to_relay, "rb"),))
        self._thread.start()

    def _attach(self, folders: list[str]) -> Channel:
        self.folders.append(folders)
        assert self._attached.acquire(timeout=PATIENCE_SECONDS)
        engine = self._engines.pop(0)
        if isinstance(engine, AttachError):
            raise engine
        return engine.channel

    def engine(self) -> Engine:
        """Let the relay find a new engine."""
        engine = Engine()
        self._engines.append(engine)
        self._attached.release()
        return engine

    def no_engine(self, why: str) -> None:
        self._engines.append(AttachError(why))
        self._attached.release()

    def send(self, **message: Any) -> None:
        assert self._stdin is not None
        os.write(self._stdin, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def receive(self) -> Any:
        return json.loads(self._answers.readline())

    def end_input(self) -> None:
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    def end(self) -> None:
        self.relay.ended.set()
        self.end_input()
        self._engines.append(AttachError("the test is over"))
        self._attached.release()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()


GREETING = Greeting(
    ["2024-11-05", "2025-06-18"], {"serverInfo": {"name": "cairn"}}, {"tools": [{"name": "search"}]}
)


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Session]:
    session = Session(getattr(request, "param", None))
    yield session
    session.end()


def test_second_engine_gets_initialization_and_open_requests(client: Session) -> None:
    first = client.engine()
    client.send(**INITIALIZE)
    assert first.receive()["method"] == "initialize"
    first.send(id=0, result={"from": "first"})
    assert client.receive()["result"] == {"from": "first"}
    client.send(**INITIALIZED)
    client.send(id=1, method="tools/call", params={"name": "status"})
    client.send(id="2", method="tools/call", params={"name": "search"})
    assert [first.receive().get("id") for _ in range(3)] == [None, 1, "2"]
    first.send(id=1, result={"from": "first"})
    assert client.receive()["id"] == 1
    first.die()

    second = client.engine()
    methods = [second.receive()["method"] for _ in range(3)]
    assert methods == ["initialize", INITIALIZED["method"], "tools/call"]
    second.send(id=0, result={"from": "second"})
    second.send(id="2", result={"from": "second"})
    answer = client.receive()  # The client does not get a second answer to `initialize`.
    assert (answer["id"], answer["result"]) == ("2", {"from": "second"})


def test_cancelled_request_is_not_repeated(client: Session) -> None:
    first = client.engine()
    for number in (1, 2):
        client.send(id=number, method="tools/call")
        assert first.receive()["id"] == number
    client.send(method="notifications/cancelled", params={"requestId": 1})
    assert first.receive()["method"] == "notifications/cancelled"
    first.die()
    assert client.engine().receive()["id"] == 2


def test_request_fails_after_three_engines_have_ended(client: Session) -> None:
    engine = client.engine()
    client.send(id=7, method="tools/call")
    for attempt in range(3):
        assert engine.receive()["id"] == 7, attempt
        engine.die()
        engine = client.engine()
    refused = client.receive()
    assert refused["id"] == 7
    assert "ended 3 times" in refused["error"]["message"]
    client.send(id=8, method="ping")
    assert engine.receive()["id"] == 8


def test_missing_engine_is_an_error_with_the_reason(client: Session) -> None:
    client.send(id=1, method="ping")
    while not client.relay._requests:  # Only waiting requests are refused.
        pass
    client.no_engine("the disk is full")
    assert "the disk is full" in client.receive()["error"]["message"]
    client.send(id=2, method="ping")
    assert client.engine().receive()["id"] == 2


def test_answer_to_an_ended_engine_does_not_reach_the_next(client: Session) -> None:
    first = client.engine()
    first.send(id=0, method="roots/list")
    assert client.receive()["method"] == "roots/list"
    first.die()
    second = client.engine()
    client.send(id=0, result={"roots": []})
    client.send(id=1, method="ping")
    assert second.receive()["id"] == 1
    second.send(id=0, method="roots/list")
    assert client.receive()["id"] == 0
    client.send(id=0, result={"roots": []})
    assert second.receive()["result"] == {"roots": []}


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/initialized", "no/such/method"])
def test_request_with_any_name_is_answered(client: Session, method: str) -> None:
    engine = client.engine()
    client.send(id=5, method=method, params={})
    assert engine.receive()["id"] == 5
    engine.send(id=5, error={"code": -32601, "message": "there is none"})
    assert client.receive()["error"]["code"] == -32601


def test_engine_sends_the_relay_to_other_folders(client: Session) -> None:
    first = client.engine()
    client.send(**INITIALIZE)
    first.receive()
    first.send(**{MOVE: ["/harbour"]})
    assert client.engine().receive()["method"] == "initialize"
    assert client.folders[:2] == [[], ["/harbour"]]


@pytest.mark.parametrize("client", [GREETING], indirect=True)
def test_relay_greets_the_client_without_an_engine(client: Session) -> None:
    client.send(**INITIALIZE)
    assert client.receive()["result"] == {"serverInfo": {"name": "cairn"}, "protocolVersion": "2025-06-18"}
    client.send(**INITIALIZED)
    client.send(id=1, method="tools/list")
    assert client.receive()["result"] == GREETING.tools
    client.send(id=2, method="ping")
    engine = client.engine()
    assert [engine.receive()["method"] for _ in range(3)] == ["initialize", INITIALIZED["method"], "ping"]
    engine.send(id=0, result={})
    engine.send(id=2, result={})
    assert client.receive()["id"] == 2


class Pieces(io.RawIOBase):
    """A stream that returns one of the given pieces per read."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


@given(st.lists(st.binary(max_size=6)), st.integers(1, 7))
def test_lines_are_independent_of_reads(pieces: list[bytes], longest: int) -> None:
    whole = b"".join(pieces)
    expected = [line.removesuffix(b"\n") for line in io.BytesIO(whole)]
    assert list(lines(io.BufferedReader(Pieces(*pieces)), longest)) == [
        line if len(line) <= longest else None for line in expected
    ]


def test_requests_are_answered_after_the_end_of_the_input(client: Session) -> None:
    client.send(id=1, method="tools/call")
    client.end_input()
    engine = client.engine()
    assert engine.receive()["id"] == 1
    engine.send(id=1, result={})
    assert client.receive()["id"] == 1
    assert client.relay.ended.wait(PATIENCE_SECONDS)
