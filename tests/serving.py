"""A real `cairn serve` in a process of its own, and clients of it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from attrs import frozen

PATIENCE_SECONDS = 120
"""Timeout for a state to be reached on a busy machine."""


@frozen
class Answer:
    """The response to a request."""

    status: int
    headers: dict[str, str]
    """The headers, by their names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@frozen
class Served:
    """A running `cairn serve`."""

    process: subprocess.Popen[str]
    addresses: dict[str, Any]
    token: str

    @property
    def port(self) -> int:
        return int(self.addresses["url"].rpartition(":")[2])

    def ask(
        self,
        path: str,
        params: Any = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        token: str | None = None,
    ) -> Answer:
        """Send a request with the right token and headers, except for the given ones."""
        data = json.dumps(params).encode() if params is not None else body
        sent = {"Authorization": f"Bearer {self.token if token is None else token}"}
        if data is not None:
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(
                method or ("GET" if data is None else "POST"), path, data, {**sent, **(headers or {})}
            )
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def call(self, name: str, params: Any, **more: Any) -> Any:
        """Call a method and return its answer."""
        answer = self.ask(f"/api/v1/{name}", params, **more)
        assert answer.status == 200, answer
        return answer.json

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


def serve_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cairn", "serve", "--json", "--port", "0", "--lsp-port", "0", *arguments]


@contextmanager
def serving(*arguments: str) -> Iterator[Served]:
    """Start a server, and assert that it ends at SIGTERM and leaves no process behind."""
    process = subprocess.Popen(serve_command(*arguments), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"cairn serve ended with {process.wait(PATIENCE_SECONDS)}"
        addresses = json.loads(line)
        token = Path(addresses["tokenFile"]).read_text(encoding="ascii")
        served = Served(process, addresses, token)
        yield served
        if process.poll() is None:
            children = psutil.Process(process.pid).children(recursive=True)
            assert served.end() == 0
            assert not [child for child in children if child.is_running()]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def wait_for(holds: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Wait until `holds()` is true, for so many seconds at most, and return its value."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "the state was not reached"
        time.sleep(0.05)
    return found


def events_of(body: bytes) -> list[tuple[str, Any]]:
    """Return the name and the JSON of each server-sent event in a body, without comments."""
    events = []
    for block in body.decode("utf-8").split("\n\n")[:-1]:
        lines = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        if lines:
            (event, _, name), (data, _, text) = lines
            assert (event, data) == ("event", "data")
            events.append((name, json.loads(text)))
    return events
