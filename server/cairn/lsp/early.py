"""Answers `initialize` before the language server's libraries are imported.

Importing lsprotocol alone takes 0.3 s, for which an editor would wait at every start. The capabilities depend
only on a few of the editor's options, so the answer is nearly a constant. The language server
handles the request later as well, but does not send its answer. A test compares the two answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, BinaryIO

from cairn import __version__

INITIALIZE_RESULT: dict[str, Any] = {
    "capabilities": {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2, "save": True},
        "workspaceSymbolProvider": {},
        "executeCommandProvider": {
            "commands": [
                f"cairn.{name}" for name in ("pause", "resume", "reindex", "resetFeedback", "refresh", "show")
            ]
        },
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    },
    "serverInfo": {"name": "cairn", "version": __version__},
}

_NAVIGATION = ("definition", "references", "implementation", "callHierarchy")
"""LSP's names of the capabilities that the setting `lsp.navigation` enables."""
_BESIDE: dict[str, Any] = {"codeLens": {"resolveProvider": True}, "hover": True}
"""The capabilities that settings can enable later, with their options."""


def announced(options: Any, is_dynamic: Callable[[str], bool]) -> dict[str, Any]:
    """Return the capabilities that the answer to `initialize` announces besides the constant ones.

    These are the ones that the server cannot register later, without navigation unless the editor's `options`
    request it. `is_dynamic(name)` returns whether the server can.
    """
    section = options.get("lsp") if isinstance(options, dict) else None
    wants_navigation = isinstance(section, dict) and bool(section.get("navigation"))
    navigation = dict.fromkeys(_NAVIGATION, True) if wants_navigation else {}
    return {name: value for name, value in {**navigation, **_BESIDE}.items() if not is_dynamic(name)}


def _initialize_result(params: dict[str, Any]) -> dict[str, Any]:
    known, options = params["capabilities"].get("textDocument"), params.get("initializationOptions")

    def is_dynamic(name: str) -> bool:
        capability = known.get(name) if isinstance(known, dict) else None
        return isinstance(capability, dict) and capability.get("dynamicRegistration") is True

    constant = INITIALIZE_RESULT["capabilities"]
    capabilities = {f"{name}Provider": value for name, value in announced(options, is_dynamic).items()}
    return {**INITIALIZE_RESULT, "capabilities": {**constant, **capabilities}}


def answer_initialize(stdin: BinaryIO, stdout: BinaryIO) -> tuple[bytes, int | str | None]:
    """Read the first message and answer it if it is `initialize`.

    Return the message's body for the server, which is empty at the end of the stream, and the id of the
    answered request.
    """
    body = _read_message(stdin)
    try:
        message = json.loads(body)
        capabilities = message["params"]["capabilities"]
        known = message["method"] == "initialize" and isinstance(capabilities, dict)
        request_id = message["id"] if known and isinstance(message["id"], int | str) else None
    except (ValueError, KeyError, TypeError):
        request_id = None
    if request_id is None:
        return body, None
    result = _initialize_result(message["params"])
    stdout.write(framed({"jsonrpc": "2.0", "id": request_id, "result": result}))
    stdout.flush()
    # The server must use the encoding that this answer names. Every client supports UTF-16.
    capabilities.pop("general", None)
    return json.dumps(message).encode(), request_id


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _read_message(stdin: BinaryIO) -> bytes:
    """Return the body of a message; b"" if the stream ends before it is complete."""
    length = 0
    while line := stdin.readline():
        if line.lower().startswith(b"content-length:") and line[15:].strip().isdigit():
            length = int(line[15:])
        if not line.strip() and length:
            body = stdin.read(length)
            return body if len(body) == length else b""
    return b""
