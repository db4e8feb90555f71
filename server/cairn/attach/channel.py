"""A connection to an engine of another process: one JSON message a line, the first of which says what is wanted.

The first line is an object with `cairn`, the number of this protocol; `token`, that of the record; and `want`:

- `mcp`: the other lines are MCP's, in both directions;
- `method`: the engine answers with one line, `{"answer": …}` or `{"error": {…}}`, and closes;
- `command`: the same for a command line, whose answer is `{"stdout", "stderr", "code"}`;
- `yield`: an engine in the background gives the workspace to the process that asks, and ends.

The engine answers the first line with `{"ok": true}` where a dialogue follows, or with an error.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cairn.attach.records import Record
from cairn.paths import data_dir

PROTOCOL = 1
_CONNECT_SECONDS = 2.0
_LONGEST_PATH = 100
"""Bytes of a Unix socket's path; macOS takes 104."""
_HAS_UNIX_SOCKETS = sys.platform != "win32"


class AttachError(Exception):
    """No engine of another process can be asked; the text says why."""


class SilentEngineError(AttachError):
    """An engine is there and does not answer: its process is stopped, or hangs."""


class Channel:
    """One connection. One thread may read from it while another one writes."""

    def __init__(self, connection: socket.socket, record: Record | None = None) -> None:
        """`record` is that of the engine, where other connections to it can be made."""
        self.record = record
        self._socket = connection
        self._lines = connection.makefile("rb")

    def send(self, line: bytes) -> None:
        """Send a line, whose end is added. Raises OSError where nobody reads any more."""
        self._socket.sendall(line + b"\n")

    def receive(self) -> bytes:
        """The next line without its end; empty where there is none. Raises OSError."""
        line = self._lines.readline()
        return line[:-1] if line.endswith(b"\n") else b""

    def __iter__(self) -> Iterator[bytes]:
        """The lines until the other side, or this one, closes."""
        with suppress(OSError, ValueError):
            while line := self.receive():
                yield line

    def patient(self, seconds: float | None) -> None:
        """Wait so long for each line, or for ever."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close it, also under a thread that is reading."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def opened(record: Record, wish: dict[str, Any], seconds: float) -> tuple[Channel, dict[str, Any]]:
    """A channel to the engine of the record, after its first line went out, and what came back within so many seconds.

    Raises SilentEngineError where the engine does not answer in time, AttachError where it is gone or answers something else than JSON.
    """
    try:
        connection = _connected(record.address)
    except (OSError, ValueError) as problem:
        raise AttachError(f"{record.address} cannot be reached: {problem}") from None
    return _first_answer(Channel(connection, record), record, wish, seconds)


def answers(record: Record, seconds: float) -> bool:
    """Whether the engine of the record answers within so many seconds."""
    try:
        opened(record, {"want": "hello"}, seconds)[0].close()
    except AttachError:
        return False
    return True


def dialogue(connection: socket.socket, record: Record, wish: dict[str, Any]) -> Channel:
    """A channel over a connection that is there, once the engine has agreed to `wish`. Raises AttachError."""
    channel, answer = _first_answer(Channel(connection), record, wish, None)
    if not answer.get("ok"):
        channel.close()
        raise AttachError(str(answer.get("error", "the engine refused")))
    return channel


def _first_answer(
    channel: Channel, record: Record, wish: dict[str, Any], seconds: float | None
) -> tuple[Channel, dict[str, Any]]:
    try:
        channel.patient(seconds)
        channel.send(json.dumps({"cairn": PROTOCOL, "token": record.token, **wish}).encode())
        answer = json.loads(channel.receive())
        if not isinstance(answer, dict):
            raise ValueError("it sent no JSON object")
        channel.patient(None)
    except TimeoutError:
        channel.close()
        raise SilentEngineError(f"the process {record.process_id} does not answer") from None
    except (OSError, ValueError) as problem:
        channel.close()
        raise AttachError(f"the process {record.process_id} does not answer: {problem}") from None
    return channel, answer


def _connected(address: str) -> socket.socket:
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
    """A socket that only this user's processes of this machine can connect to, and its address. Raises OSError.

    Where there are Unix sockets, the file's permissions keep others out; on Windows, the token of the record does.
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
    """Remove the file of a Unix socket that is closed."""
    if address.startswith("unix:"):
        with suppress(OSError):
            Path(address.removeprefix("unix:")).unlink()


def _socket_folder() -> Path:
    """A folder that is this user's alone, with a path that leaves room for a socket's name. Files of dead processes are removed.

    Raises OSError where there is no such folder.
    """
    folder = data_dir() / "engines"
    if len(os.fsencode(folder)) > _LONGEST_PATH - 24:
        import tempfile  # It imports a good deal, for processes that have engines alone.

        folder = Path(tempfile.gettempdir()) / f"cairn-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.stat(follow_symlinks=False)
    if facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise PermissionError(f"{folder} can be used by others")
    for left in folder.glob("*.sock"):
        owner = left.name.partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            left.unlink(missing_ok=True)
    return folder


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
