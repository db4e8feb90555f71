"""Passes MCP's messages between an agent's client and an engine of another process.

The client sees a single server, whichever engine answers. When an engine ends, the relay finds or starts
another one and sends it the client's initialization and all unanswered requests. Repeating them is safe,
since every tool only reads.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

from cairn.attach.channel import AttachError, Channel, answers
from cairn.attach.greeting import Greeting
from cairn.startup.streams import guarded_bytes

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The maximum length of a client's message in bytes, as in MCP's SDK. Stages take 500,000 characters."""
MOVE = "cairn/move"
"""The key of a message that names folders, to whose engine the relay should attach instead."""

_MOST_TRIES = 3
"""The maximum number of engines that may end during a request, before the relay fails the request."""
_POLL_SECONDS = 2.0
"""The interval of checks that the client and the engine still run."""
_SILENT_SECONDS = 10.0
"""After this wait for an answer, the relay checks whether the engine answers at all."""
_GREETING_SECONDS = 5.0
_LAST_ANSWERS_SECONDS = 10.0
"""The timeout for answers after the client's input ends. A client that cannot wait sends a signal."""
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603


class _Request:
    def __init__(self, line: bytes) -> None:
        self.line = line
        self.tries = 0
        self.sent_at = time.monotonic()


class Relay:
    """The connection of one client to the engines that answer it. Call `run` once."""

    def __init__(
        self,
        attach: Callable[[list[str]], Channel],
        stdout: BinaryIO,
        greeting: Greeting | None = None,
    ) -> None:
        """Create a relay that answers `greeting` itself.

        `attach` returns a channel to the engine of the given folders. An empty list means the folders of the
        command line. It raises AttachError if there is no engine.
        """
        self._attach = attach
        self._greeting = greeting
        self._stdout = stdout
        self._writing = threading.Lock()
        self._sending = threading.Lock()
        """Protects the order of messages to an engine. Acquire it before `_state`."""
        self._state = threading.Lock()
        self._channel: Channel | None = None
        self._folders: list[str] = []
        self._initialize: _Request | None = None
        self._initialized: bytes | None = None
        self._requests: dict[Any, _Request] = {}
        self._engine_requests: set[Any] = set()
        """The ids of requests that the current engine sent to the client."""
        self._has_work = threading.Event()
        self._input_ended = False
        self.ended = threading.Event()
        """Setting this event ends `run`."""

    def run(self, stdin: BinaryIO) -> None:
        """Pass messages on until the client's input has ended and everything is answered."""
        for work in (lambda: self._read(stdin), self._pump, self._watch):
            # A thread that waits for a pipe cannot be interrupted, so the process does not wait for these
            # threads.
            threading.Thread(target=work, name="cairn-relay", daemon=True).start()
        self.ended.wait()
        with self._state:
            channel = self._channel
        if channel is not None:
            channel.close()

    # --- from the client ---------------------------------------------------------------------------

    def _read(self, stdin: BinaryIO) -> None:
        with suppress(OSError, ValueError):
            for line in lines(stdin):
                if line is None:
                    problem = f"a message has more than {MAX_LINE_BYTES:,} bytes"
                    self._write(_error(None, _INVALID_REQUEST, problem))
                elif line.strip():
                    self._take(line)
        self._input_ended = True
        self._has_work.set()
        # The engine is not notified of the end of the input earlier, since it would then stop answering.
        if self._requests:
            self.ended.wait(_LAST_ANSWERS_SECONDS)
        self.ended.set()

    def _take(self, line: bytes) -> None:
        message = _object(line)
        early = self._early_answer(message)
        if early is not None:
            self._write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": early}).encode())
        with self._sending:
            if self._note(message, line, is_answered=early is not None) and self._channel is not None:
                # If the engine is gone, `_pump` notices it and attaches to another one.
                with suppress(OSError):
                    self._channel.send(line)
        self._has_work.set()

    def _early_answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a request that needs no engine; None for other messages."""
        if self._greeting is None or _key(message.get("id")) is None:
            return None
        params = message.get("params", {})
        if message.get("method") == "initialize" and isinstance(params, dict):
            known = {"protocolVersion": str, "capabilities": dict, "clientInfo": dict}
            is_sound = all(isinstance(params.get(name), kind) for name, kind in known.items())
            return self._greeting.initialized(params) if is_sound else None
        is_greeted = self._initialize is not None and message.get("method") == "tools/list"
        is_first_page = params is None or (isinstance(params, dict) and not params.get("cursor"))
        return self._greeting.tools if is_greeted and is_first_page else None

    def _note(self, message: dict[str, Any], line: bytes, *, is_answered: bool) -> bool:
        """Record what a later engine has to know. Return whether the current engine needs the line.

        An engine needs `initialize` even if the relay has answered it.
        """
        method, request_id = message.get("method"), _key(message.get("id"))
        with self._state:
            if method == "notifications/initialized" and request_id is None:
                self._initialized = line
            elif method == "notifications/cancelled" and request_id is None:
                params = message.get("params")
                self._requests.pop(_key(params.get("requestId")) if isinstance(params, dict) else None, None)
            elif method is None and request_id is not None:
                # The current engine must not get answers to requests of an earlier one.
                is_expected = request_id in self._engine_requests
                self._engine_requests.discard(request_id)
                return is_expected
            elif method is not None and request_id is not None:
                request = _Request(line)
                request.tries = 1 if self._channel is not None else 0
                if method == "initialize":
                    self._initialize = request
                elif is_answered:
                    return False
                if not is_answered:
                    self._requests[request_id] = request
        return True

    # --- from the engine ---------------------------------------------------------------------------

    def _pump(self) -> None:
        while not self.ended.is_set():
            self._has_work.clear()
            try:
                channel = self._attach(self._folders)
            except AttachError as problem:
                self._refuse(f"Cairn has no engine: {problem}.")
                if self._input_ended:
                    break
                self._has_work.wait()
                continue
            if self._replay(channel):
                for line in channel:
                    if not self._deliver(line) or (self._input_ended and not self._requests):
                        break
            with self._sending, self._state:
                self._channel = None
                self._engine_requests.clear()
            channel.close()
            if self._input_ended and not self._requests:
                break
        self.ended.set()

    def _watch(self) -> None:
        """Disconnect from an engine that is stopped or hangs, so that it answers neither requests nor
        connections.

        Ctrl-Z in a terminal also stops the daemons of some editors.
        """
        while not self.ended.wait(_POLL_SECONDS):
            with self._state:
                channel = self._channel
                oldest = min((each.sent_at for each in self._requests.values()), default=math.inf)
            if channel is None or channel.record is None or time.monotonic() < oldest + _SILENT_SECONDS:
                continue
            if not answers(channel.record, _GREETING_SECONDS):
                channel.close()

    def _replay(self, channel: Channel) -> bool:
        """Send the client's initialization and unanswered requests; return False if the channel closed."""
        with self._sending:
            with self._state:
                self._channel = channel
                exhausted = [key for key, each in self._requests.items() if each.tries >= _MOST_TRIES]
                given_up = [self._requests.pop(key) for key in exhausted]
                greeting = [self._initialize] if self._initialize is not None else []
                others = [each for each in self._requests.values() if each is not self._initialize]
                for request in (*greeting, *others):
                    request.tries += 1
                    request.sent_at = time.monotonic()
                first = [each.line for each in greeting]
                if self._initialized is not None:
                    first.append(self._initialized)
                again = [*first, *(each.line for each in others)]
            for request in given_up:
                problem = f"Cairn's engine ended {_MOST_TRIES} times over this request. Ask in another way."
                self._write(_error(_object(request.line).get("id"), _INTERNAL_ERROR, problem))
            try:
                for line in again:
                    channel.send(line)
            except OSError:
                return False
        return True

    def _deliver(self, line: bytes) -> bool:
        """Write the engine's line to the client. Return False if it sends the relay to another engine."""
        message = _object(line)
        if isinstance(folders := message.get(MOVE), list):
            self._folders = [str(folder) for folder in folders]
            with self._state:
                for request in self._requests.values():
                    request.tries = 0
            return False
        key = _key(message.get("id"))
        with self._state:
            if "method" in message and key is not None:
                self._engine_requests.add(key)
            elif key is not None:
                if key not in self._requests:  # An earlier engine answered it, or the client cancelled it.
                    return True
                del self._requests[key]
        self._write(line)
        return True

    def _refuse(self, why: str) -> None:
        with self._state:
            waiting = list(self._requests.values())
            self._requests.clear()
        for request in waiting:
            self._write(_error(_object(request.line).get("id"), _INTERNAL_ERROR, why))

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._stdout.write(line + b"\n")
                self._stdout.flush()
            except (OSError, ValueError):  # The client is gone.
                self.ended.set()


def lines(stream: BinaryIO, longest: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """Yield the lines of a stream without their ends; None for a line of more than `longest` bytes."""
    while line := stream.readline(longest + 1):
        too_long = len(line) > longest and not line.endswith(b"\n")
        while too_long and line and not line.endswith(b"\n"):
            line = stream.readline(longest + 1)
        yield None if too_long else line.removesuffix(b"\n")


def relay(attach: Callable[[list[str]], Channel], greeting: Greeting | None) -> NoReturn:
    """Pass messages on between stdin, stdout and the engine until stdin ends, the client dies, or a signal.

    This ends the process, since threads may be waiting for pipes.
    """
    real = guarded_bytes(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # Accidental prints would break the protocol.
    sys.stdout = sys.stderr
    carrier = Relay(attach, real, greeting)
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, lambda *_: carrier.ended.set())
    threading.Thread(target=_end_with, args=(os.getppid(), carrier.ended), daemon=True).start()
    with open(0, "rb", closefd=False) as stdin:
        carrier.run(stdin)
        os._exit(0)


def _end_with(client: int, ended: threading.Event) -> None:
    """Set `ended` when the parent process `client` has ended, since another process may keep its pipe
    open."""
    while not ended.wait(_POLL_SECONDS):
        if sys.platform == "win32":
            from cairn.startup.ending import runs

            if not runs(client):  # On Windows, the number of the parent process stays the same after its end.
                ended.set()
        elif os.getppid() != client:
            ended.set()


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or an empty one for any other content."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(request_id: Any) -> Any:
    """Return a key that differs for the ids 1 and "1"; None if the id is neither a number nor a string."""
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    return (type(request_id), request_id)


def _error(request_id: Any, code: int, message: str) -> bytes:
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    return json.dumps(error).encode()
