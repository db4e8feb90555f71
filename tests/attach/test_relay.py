"""The relay between an agent's client and engines that come and go."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
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
    """The other end of a channel: what the relay sent to it, and what it sends."""

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
    """A client of a relay, and the engines that it attaches to, one after the other."""

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
        """The next engine that the relay finds."""
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


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def make(*arguments: Any) -> Session:
        made.append(Session(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.end()


def test_another_engine_is_told_and_asked_what_the_first_one_knew(session: Callable[..., Session]) -> None:
    client = session()
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
    assert [second.receive()["method"] for _ in range(3)] == [
        "initialize",
        INITIALIZED["method"],
        "tools/call",
    ]
    second.send(id=0, result={"from": "second"})
    second.send(id="2", result={"from": "second"})
    answer = client.receive()
    assert (answer["id"], answer["result"]) == ("2", {"from": "second"})  # Not `initialize` once more.


def test_a_cancelled_request_is_not_asked_again(session: Callable[..., Session]) -> None:
    client = session()
    first = client.engine()
    for number in (1, 2):
        client.send(id=number, method="tools/call")
        assert first.receive()["id"] == number
    client.send(method="notifications/cancelled", params={"requestId": 1})
    assert first.receive()["method"] == "notifications/cancelled"
    first.die()
    assert client.engine().receive()["id"] == 2


def test_a_request_over_which_engines_end_is_given_up(session: Callable[..., Session]) -> None:
    client = session()
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


def test_no_engine_means_an_answer_that_says_why(session: Callable[..., Session]) -> None:
    client = session()
    client.send(id=1, method="ping")
    while not client.relay._requests:  # The refusal is of what waits then.
        pass
    client.no_engine("the disk is full")
    assert "the disk is full" in client.receive()["error"]["message"]
    client.send(id=2, method="ping")
    assert client.engine().receive()["id"] == 2


def test_an_answer_to_an_engine_that_is_gone_does_not_reach_the_next(session: Callable[..., Session]) -> None:
    client = session()
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
def test_a_request_of_any_name_gets_its_answer(session: Callable[..., Session], method: str) -> None:
    client = session()
    engine = client.engine()
    client.send(id=5, method=method, params={})
    assert engine.receive()["id"] == 5
    engine.send(id=5, error={"code": -32601, "message": "there is none"})
    assert client.receive()["error"]["code"] == -32601


def test_an_engine_sends_the_relay_to_that_of_other_folders(session: Callable[..., Session]) -> None:
    client = session()
    first = client.engine()
    client.send(**INITIALIZE)
    first.receive()
    first.send(**{MOVE: ["/harbour"]})
    assert client.engine().receive()["method"] == "initialize"
    assert client.folders[:2] == [[], ["/harbour"]]


def test_the_client_is_greeted_without_an_engine(session: Callable[..., Session]) -> None:
    told = Greeting(
        ["2024-11-05", "2025-06-18"], {"serverInfo": {"name": "cairn"}}, {"tools": [{"name": "search"}]}
    )
    client = session(told)
    client.send(**INITIALIZE)
    assert client.receive()["result"] == {"serverInfo": {"name": "cairn"}, "protocolVersion": "2025-06-18"}
    client.send(**INITIALIZED)
    client.send(id=1, method="tools/list")
    assert client.receive()["result"] == told.tools
    client.send(id=2, method="ping")
    engine = client.engine()
    assert [engine.receive()["method"] for _ in range(3)] == ["initialize", INITIALIZED["method"], "ping"]
    engine.send(id=0, result={})
    engine.send(id=2, result={})
    assert client.receive()["id"] == 2


class Pieces(io.RawIOBase):
    """A stream that yields the given pieces, one a read."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


@given(st.lists(st.binary(max_size=6)), st.integers(1, 7))
def test_lines_do_not_depend_on_where_reads_end(pieces: list[bytes], longest: int) -> None:
    whole = b"".join(pieces)
    expected = [line.removesuffix(b"\n") for line in io.BytesIO(whole)]
    assert list(lines(io.BufferedReader(Pieces(*pieces)), longest)) == [
        line if len(line) <= longest else None for line in expected
    ]


def test_what_was_asked_before_the_input_ended_is_answered(session: Callable[..., Session]) -> None:
    client = session()
    client.send(id=1, method="tools/call")
    client.end_input()
    engine = client.engine()
    assert engine.receive()["id"] == 1
    engine.send(id=1, result={})
    assert client.receive()["id"] == 1
    assert client.relay.ended.wait(PATIENCE_SECONDS)
