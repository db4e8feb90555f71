"""Reads and writes messages with pygls's protocol, and handles malformed ones, which pygls does not."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from functools import partial
from io import BufferedReader
from typing import Any

import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
)
from pygls.protocol.language_server import lsp_method

logger = logging.getLogger(__name__)

NOTIFICATION_SUFFIX = " (notification)"
"""The suffix of a feature that handles a method as a notification, beside one that handles requests."""
_PARSE_ERROR, _INVALID_REQUEST, _BUSY = -32700, -32600, -32000
_MOST_IN_FLIGHT = 1_000
"""The maximum number of requests of one client that wait at once; an editor has about a dozen."""
_LARGE_BYTES = 1_000_000
"""The size in bytes from which a message is parsed on a thread. Parsing 1 MB takes 10 ms."""
_HEADER_LINES = 10
"""The maximum number of header lines of a message; LSP defines two."""
_CONTENT_LENGTH = re.compile(rb"content-length: *(\d{1,10}) *\r?\n", re.IGNORECASE)
_CONTENT_TYPE = re.compile(rb"content-type: *[ -~]{0,200}\r?\n", re.IGNORECASE)

_READ_BYTES = 65_536
"""How many bytes are read from stdin at once: a pipe holds so many."""


class StdinReader:
    """Reads stdin on threads. pygls's reader changes to a thread for each line, not for what has arrived."""

    def __init__(self, stdin: BufferedReader, executor: Executor) -> None:
        self._stdin, self._executor = stdin, executor
        self._read = bytearray()

    async def readline(self) -> bytes:
        """Return the next line, without its end at the end of the stream."""
        while (end := self._read.find(b"\n") + 1) == 0:
            more = await self._on_thread(partial(self._stdin.read1, _READ_BYTES))
            self._read += more
            if not more:
                end = len(self._read)
                break
        return self._taken(end)

    async def readexactly(self, count: int) -> bytes:
        """Return `count` bytes, fewer at the end of the stream."""
        if (missing := count - len(self._read)) > 0:
            self._read += await self._on_thread(partial(self._stdin.read, missing))
        return self._taken(count)

    async def _on_thread(self, read: Callable[[], bytes]) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._executor, read)

    def _taken(self, count: int) -> bytes:
        taken = bytes(self._read[:count])
        del self._read[:count]
        return taken


Reader = asyncio.StreamReader | StdinReader


class FramingError(Exception):
    """The received data is not LSP."""


class WireProtocol(LanguageServerProtocol):
    """The protocol of pygls. It omits the answer of `cairn.lsp.early`, and answers malformed requests."""

    answered: int | str | None = None
    """The id of the request that `cairn.lsp.early` has answered."""
    ends_process = True
    """Whether `exit` ends the process, rather than only this connection."""
    left = False
    """Whether the client has sent `exit`."""

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if msg_id == self.answered and self.answered is not None:
            self.answered = None
        else:
            super()._send_response(msg_id, result, error)

    def _handle_notification(self, method_name: str, params: Any) -> None:
        feature = f"{method_name}{NOTIFICATION_SUFFIX}"
        super()._handle_notification(feature if feature in self.fm.features else method_name, params)

    def _handle_request(self, msg_id: Any, method_name: str, params: Any) -> None:
        if method_name == types.INITIALIZE and self._workspace is not None:
            self.refuse(msg_id, _INVALID_REQUEST, "this connection is initialized already")
        elif len(self._request_futures) >= _MOST_IN_FLIGHT:
            self.refuse(msg_id, _BUSY, f"{_MOST_IN_FLIGHT} requests wait for an answer")
        else:
            super()._handle_request(msg_id, method_name, params)

    def refuse(self, msg_id: Any, code: int, reason: str) -> None:
        if msg_id is None:  # lsprotocol would omit this field.
            self._send_data({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": reason}})
        else:
            self._send_response(msg_id, None, types.ResponseError(code, reason))

    def take(self, data: Any) -> None:
        """Handle one message, given as JSON data. This never raises."""
        problem = _envelope_problem(data)
        if problem is None and self._shutdown and "method" in data and "id" in data:
            problem = "the server was asked to shut down"
        if problem is not None:
            msg_id = data.get("id") if isinstance(data, dict) else None
            self.refuse(msg_id if _is_id(msg_id) else None, _INVALID_REQUEST, problem)
            return
        try:
            self.handle_message(self.structure_message(data))
        except Exception as failure:
            logger.debug("a message was not handled", exc_info=failure)
            self._server._report_server_error(failure, JsonRpcException)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        self.left = True
        if self.ends_process:
            yield from super().lsp_exit(*args)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Ignore changes of a document that is not open. pygls would read its file, even an endless pipe."""
        if params.text_document.uri in self.workspace.text_documents:
            yield from super().lsp_text_document__did_change(params)
        else:
            logger.warning("a document changed that is not open: %s", params.text_document.uri[:200])

    def cancel_requests(self) -> None:
        """Cancel all requests, those of the client and those of the server."""
        for future in tuple(self._request_futures.values()):
            future.cancel()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Convert a message. Answer a request with unreadable params, which pygls would not answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                cause = error.__cause__
                reason = "; ".join(cattrs.transform_error(cause)) if isinstance(cause, BaseException) else ""
                self._send_response(
                    data["id"], None, JsonRpcInvalidParams(reason or None).to_response_error()
                )
            elif (future := self._request_futures.pop(data.get("id", ""), None)) is not None:
                future.set_exception(JsonRpcException("the client's answer cannot be read"))
            raise


async def speak(protocol: WireProtocol, reader: Reader, first: bytes, *, most: int | None = None) -> None:
    """Handle the message `first` and all further messages of the reader.

    With `most`, a longer message (in bytes) or data that is not LSP raises FramingError. Without it, as on
    stdin, lines that are not headers are skipped. pygls's own loop mistakes objects in params for messages,
    and does not answer malformed JSON.
    """
    body: bytes | None = first
    while body:
        try:
            data = json.loads(body) if len(body) < _LARGE_BYTES else await asyncio.to_thread(json.loads, body)
        except (ValueError, RecursionError) as problem:
            protocol.refuse(None, _PARSE_ERROR, f"the message is not JSON: {problem}"[:200])
        else:
            protocol.take(data)
        body = None if protocol.left else await read_message(reader, most=most)


async def read_message(reader: Reader, *, most: int | None = None) -> bytes | None:
    """Return the body of the next message; None at the end of the stream. `most` is described at `speak`."""
    length, lines = None, 0
    while line := await reader.readline():
        lines += 1
        if most is not None and lines > _HEADER_LINES:
            raise FramingError("too many headers")
        if found := _CONTENT_LENGTH.fullmatch(line):
            length = int(found[1])
        elif not line.strip():
            if length:
                break
            if most is not None:
                raise FramingError("no Content-Length")
        elif most is not None and not _CONTENT_TYPE.fullmatch(line):
            raise FramingError("not a header of LSP")
    if not line or not length:
        return None
    if most is not None and length > most:
        raise FramingError(f"a message of {length:,} bytes")
    try:
        return await reader.readexactly(length) or None
    except asyncio.IncompleteReadError:
        return None


def _envelope_problem(data: Any) -> str | None:
    """Return why the data is not a message of JSON-RPC; None if it is one."""
    if not isinstance(data, dict):
        return "a message is an object"
    if data.get("jsonrpc") != "2.0":
        return 'jsonrpc: expected "2.0"'
    if "id" in data and not _is_id(data["id"]) and not ("error" in data and data["id"] is None):
        return "id: expected a string or a whole number"
    if "method" in data:
        if not isinstance(data["method"], str):
            return "method: expected a string"
        if "id" in data and _is_notification(data["method"]):
            return "id: a notification has none"
        if not isinstance(data.get("params", {}), dict | list | None):
            return "params: expected an object or a list"
    elif "id" not in data:
        return "method: is required"
    return None


def _is_notification(method: str) -> bool:
    """Return whether the method is a notification. pygls would not answer a request with such a name."""
    return method in types.METHOD_TO_TYPES and types.METHOD_TO_TYPES[method][1] is None


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def raw_data_converter() -> cattrs.Converter:
    """Return a converter like pygls's that keeps the params and results of Cairn's own methods as JSON data.

    pygls would convert params to named tuples, without the keys that are not valid names in Python, and would
    look through all of a result for objects, which takes 0.8 ms for ten passages.
    """
    converter: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda data, _: JsonRPCRequestMessage(
            data["id"], data["method"], data["jsonrpc"], data.get("params")
        ),
    )
    converter.register_structure_hook(
        JsonRPCNotification,
        lambda data, _: JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params")),
    )
    converter.register_unstructure_hook(
        JsonRPCResponseMessage,
        lambda message: {"id": message.id, "jsonrpc": message.jsonrpc, "result": message.result},
    )
    return converter
