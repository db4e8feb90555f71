"""Answers `initialize` before the language server's libraries are imported.

Importing lsprotocol alone takes 0.3 s, which an editor would wait for at every start. What the server can
do does not depend on the editor or the workspace, so the answer is a constant; the request is then read
again by the server proper, which keeps its own answer to itself. A test compares the two.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any, BinaryIO

from attrs import frozen

from cairn import __version__

INITIALIZE_RESULT: dict[str, Any] = {
    "capabilities": {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2, "save": True},
        "workspaceSymbolProvider": {},
        "executeCommandProvider": {
            "commands": [
                "cairn.pause",
                "cairn.resume",
                "cairn.reindex",
                "cairn.resetFeedback",
                "cairn.refresh",
            ]
        },
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    },
    "serverInfo": {"name": "cairn", "version": __version__},
}


class ReplayedInput:
    """A stream that yields `first` and then what `rest` has left."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = BytesIO(first)
        self._rest = rest

    def readline(self) -> bytes:
        """The next line; empty at the end."""
        return self._first.readline() or self._rest.readline()

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        return self._first.read(size) or self._rest.read(size)


@frozen
class Answered:
    """What is left to do after the first message was looked at."""

    input: ReplayedInput
    """Everything the editor sends, the first message included."""
    request_id: int | str | None
    """The request that is answered already."""


def answer_initialize(stdin: BinaryIO, stdout: BinaryIO) -> Answered:
    """Read the first message and answer it if it is `initialize`. Any other is left to the server."""
    header, body = _read_message(stdin)
    try:
        message = json.loads(body)
        capabilities = message["params"]["capabilities"]
        known = message["method"] == "initialize" and isinstance(capabilities, dict)
        request_id = message["id"] if known and isinstance(message["id"], int | str) else None
    except (ValueError, KeyError, TypeError):
        request_id = None
    if request_id is None:
        return Answered(ReplayedInput(header + body, stdin), None)
    _write_message(stdout, {"jsonrpc": "2.0", "id": request_id, "result": INITIALIZE_RESULT})
    # Every client supports UTF-16; the server must not choose another encoding than the answer named.
    capabilities.pop("general", None)
    body = json.dumps(message).encode()
    return Answered(ReplayedInput(_header(body) + body, stdin), request_id)


def _read_message(stdin: BinaryIO) -> tuple[bytes, bytes]:
    """Header and body of a message as they stand; shorter where the stream ends."""
    header, length = b"", 0
    while line := stdin.readline():
        header += line
        if line.lower().startswith(b"content-length:") and line[15:].strip().isdigit():
            length = int(line[15:])
        if not line.strip() and length:
            break
    return header, stdin.read(length) if length else b""


def _write_message(stdout: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    stdout.write(_header(body) + body)
    stdout.flush()


def _header(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body)
