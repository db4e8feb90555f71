"""A connection to an engine of another process: first both sides prove themselves, then the client asks.

A Unix socket is closed to other users. A port of loopback is not, and another user's program may listen at
the port of an engine that has ended. So both sides prove that they know the token of the record. The token
itself never travels, and it belongs to one engine, so that another engine cannot be made to prove itself for
a program in between. Each message of this exchange has a fixed length:

1. client: `cairn`, the number of this protocol, and a nonce;
2. engine: a nonce of its own, and its proof;
3. client: its proof.

All further messages are JSON, one a line. The first one is the request, an object with `want`:

- `hello`: the engine answers `{"ok": true}` and closes;
- `mcp`: the engine answers `{"ok": true}`, and all further lines are MCP's, in both directions;
- `method`: the engine answers with one line, `{"answer": …}` or `{"error": {…}}`, and closes;
- `command`: the same for a command line, and the content of its input file or of stdin, if it has any; the
  answer is `{"stdout", "stderr", "code"}`;
- `yield`: a background engine gives its workspaces to the requesting process, answers `{"ok": true}`, and
  ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cairn.attach.engine_records import PROTOCOL, Record
from cairn.attach.proof import NONCE_LENGTH, PROOF_LENGTH, fresh_nonce, is_equal, proof
from cairn.paths import data_dir

CLIENT, ENGINE = "client", "engine"
"""The roles of proofs. They differ, so that no side can send the other's proof back."""
GREETING = b"cairn %d " % PROTOCOL
GREETING_LENGTH = len(GREETING) + NONCE_LENGTH
_CONNECT_SECONDS = 2.0
_LONGEST_PATH = 100
"""The maximum length of a Unix socket's path in bytes; macOS allows 104."""
_HAS_UNIX_SOCKETS = sys.platform != "win32"


class AttachError(Exception):
    """No engine of another process can be used. The message says why."""


class SilentEngineError(AttachError):
    """An engine exists but does not answer: its process is stopped or hangs."""


class Channel:
    """One connection. One thread may read from it while another one writes."""

    def __init__(self, connection: socket.socket, record: Record | None = None) -> None:
        self.record = record
        """The engine's record, if further connections to the engine can be made."""
        self._socket = connection
        self._lines = connection.makefile("rb")

    def send(self, line: bytes) -> None:
        """Send a line, given without its line end. Raises OSError if the connection is closed."""
        self._socket.sendall(line + b"\n")

    def receive(self) -> bytes:
        """Return the next line without its line end, or b"" at the end of the stream. Raises OSError."""
        line = self._lines.readline()
        return line[:-1] if line.endswith(b"\n") else b""

    def __iter__(self) -> Iterator[bytes]:
        with suppress(OSError, ValueError):
            while line := self.receive():
                yield line

    def set_timeout(self, seconds: float | None) -> None:
        """Limit the wait for each line; None removes the limit."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close the connection, even while another thread is reading from it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def opened(record: Record, wish: dict[str, Any], seconds: float) -> tuple[Channel, dict[str, Any]]:
    """Connect to the engine of the record, send the request `wish`, and return the channel and the answer.

    Raises SilentEngineError if there is no answer within `seconds`, and AttachError if the engine has ended,
    is of another version, does not know the record's token, or does not answer in JSON.
    """
    if record.protocol != PROTOCOL:
        raise AttachError(f"the process {record.process_id} is a Cairn of another version; restart it")
    try:
        connection = _connect(record.address)
    except (OSError, ValueError) as problem:
        raise AttachError(f"{record.address} cannot be reached: {problem}") from None
    return _first_answer(connection, record, record, wish, seconds)


def answers(record: Record, seconds: float) -> bool:
    """Return whether the engine of the record answers within `seconds`."""
    try:
        opened(record, {"want": "hello"}, seconds)[0].close()
    except AttachError:
        return False
    return True


def dialogue(connection: socket.socket, record: Record, wish: dict[str, Any]) -> Channel:
    """Return a channel over an open connection once the engine has accepted `wish`. Raises AttachError."""
    return accepted(*_first_answer(connection, record, None, wish, None))


def accepted(channel: Channel, answer: dict[str, Any]) -> Channel:
    """Return the channel if the engine has accepted the request. Raises AttachError."""
    if not answer.get("ok"):
        channel.close()
        raise AttachError(str(answer.get("error", "the engine refused")))
    return channel


def _first_answer(
    connection: socket.socket,
    record: Record,
    reachable: Record | None,
    wish: dict[str, Any],
    seconds: float | None,
) -> tuple[Channel, dict[str, Any]]:
    channel = Channel(connection, reachable)
    try:
        _prove(connection, record.token, seconds)
        channel.set_timeout(seconds)
        channel.send(json.dumps(wish).encode())
        answer = json.loads(channel.receive())
        if not isinstance(answer, dict):
            raise ValueError("it sent no JSON object")
        channel.set_timeout(None)
    except TimeoutError:
        channel.close()
        raise SilentEngineError(f"the process {record.process_id} does not answer") from None
    except (OSError, ValueError) as problem:
        channel.close()
        raise AttachError(f"the process {record.process_id} does not answer: {problem}") from None
    return channel, answer


def _prove(connection: socket.socket, token: str, seconds: float | None) -> None:
    """Let the engine prove itself, and prove this process to it. Raises OSError, also for a wrong proof."""
    own = fresh_nonce()
    connection.settimeout(seconds)
    connection.sendall(GREETING + own.encode())
    answer = _received(connection, NONCE_LENGTH + PROOF_LENGTH, seconds).decode("ascii", "replace")
    other, proved = answer[:NONCE_LENGTH], answer[NONCE_LENGTH:]
    if not is_equal(proved, proof(token, ENGINE, own, other)):
        raise ConnectionError("it is not the engine of the record")
    connection.sendall(proof(token, CLIENT, own, other).encode())


def _received(connection: socket.socket, length: int, seconds: float | None) -> bytes:
    """Return the next `length` bytes. Raises OSError if they have not all arrived after `seconds`."""
    ends = None if seconds is None else time.monotonic() + seconds
    data = b""
    while len(data) < length:
        if ends is not None:
            connection.settimeout(max(0.001, ends - time.monotonic()))
        part = connection.recv(length - len(data))
        if not part:
            raise ConnectionError("it closed the connection")
        data += part
    return data


def _connect(address: str) -> socket.socket:
    scheme, _, place = address.partition(":")
    if scheme == "unix" and _HAS_UNIX_SOCKETS:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: Any = place
    elif scheme == "tcp":
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = ("127.0.0.1", int(place))
    else:
        raise ValueError(f"{address!r} is not an address")
    try:
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(target)
    except BaseException:
        connection.close()
        raise
    return connection


def listening(*, unix: bool = _HAS_UNIX_SOCKETS) -> tuple[socket.socket, str]:
    """Return a listening socket for this user's processes on this machine, and its address. Raises OSError.

    The permissions of a Unix socket keep out other users. On Windows, the proofs do.
    """
    if not unix:
        bound = socket.create_server(("127.0.0.1", 0))
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return bound, f"tcp:{bound.getsockname()[1]}"
    place = _socket_folder() / f"{os.getpid()}-{os.urandom(3).hex()}.sock"
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        bound.bind(str(place))
    except BaseException:
        bound.close()
        raise
    finally:
        os.umask(mask)
    bound.listen(128)
    return bound, f"unix:{place}"


def remove_socket(address: str) -> None:
    if address.startswith("unix:"):
        with suppress(OSError):
            Path(address.removeprefix("unix:")).unlink()


def _socket_folder() -> Path:
    """Return a folder that only this user can read and that is short enough for a socket's path.

    Sockets of ended processes are deleted. Raises OSError if there is no such folder.
    """
    folder = data_dir() / "engines"
    if len(os.fsencode(folder)) > _LONGEST_PATH - 24:
        import tempfile  # Only processes with engines need this slow import.

        folder = Path(tempfile.gettempdir()) / f"cairn-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat(follow_symlinks=False)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} can be used by other users")
    for leftover in folder.glob("*.sock"):
        owner = leftover.name.partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            leftover.unlink(missing_ok=True)
    return folder


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:  # A process of another user has this number.
        pass
    return True
