"""Sends hostile messages over LSP's socket to `cairn serve`, and judges its answers.

Before `initialize`: bytes that are not LSP, other first messages, wrong tokens. After it: bodies that are not
JSON, wrong envelopes, unknown methods, ill-typed params of every method of LSP and of Cairn, paths that lead
out of the workspace, requests that are cancelled at once, the wrong order, frames in pieces; at last bytes
that are not a frame, or a lost connection. The same seed makes the same messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from hostile_traffic import (
    ESCAPES,
    INVALID_JSON,
    NEVER_DRAWN,
    PATIENCE_SECONDS,
    STRINGS,
    URIS,
    Report,
    Values,
    escaped,
)
from lsprotocol import types

_MESSAGES_A_CONNECTION = 40
_STRAYS_IN_A_ROW = 20
_STRAY_CONNECTIONS = 0.4
"""The share of connections that never get to speak; these make a quarter of all traffic."""
_INTERNAL_ERROR = -32603
_OPENS_FOLDERS = frozenset({"workspace/didChangeWorkspaceFolders", "initialize"})
"""A client may open any folder, so these name only folders that do not exist."""
_ENDS = frozenset({"exit", "shutdown"})
_NO_FOLDERS = ("file:///no/such/folder", "file://[", "untitled:x", "http://evil.example/", 5, None)
_INVALID_LSP = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b'POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"exit"}',
    b"\x16\x03\x01\x02\x00\x01\x00\r\n",
    b"\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: -5\r\n\r\n{}",
    b"Content-Length: x\r\n\r\n{}",
    b"Content-Length: 99999999999999\r\n\r\n",
    b"Content-Length: 99999999\r\n\r\n",
    b"Content-Length: 2000\r\n\r\n{}",
    b"Content-Length: 3\r\n\r\n{}\r\n\r\n",
    b"Content-Length: 1\r\nContent-Length: 2\r\nX-Evil: 1\r\n\r\n{}",
    b"X: " + b"a" * 1_000_000 + b"\r\n\r\n",
    b"Content-Type: a\r\n" * 1_000,
    b"Content-Type: " + b"\xff" * 100 + b"\r\n\r\n",
)
"""After each of these the server closes the connection, at the latest when no more bytes come."""
_WRONG_ENVELOPES: tuple[Any, ...] = (
    {},
    [],
    17,
    None,
    "text",
    [{"jsonrpc": "2.0", "id": 1, "method": "cairn/status"}],
    {"jsonrpc": "1.0", "id": 900, "method": "cairn/status"},
    {"jsonrpc": "2.0", "id": {}, "method": "cairn/status"},
    {"jsonrpc": "2.0", "id": True, "method": "cairn/status"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "cairn/status"},
    {"jsonrpc": "2.0", "id": 901, "method": 5},
    {"jsonrpc": "2.0", "id": 902, "method": "cairn/status", "params": 5},
    {"jsonrpc": "2.0", "id": 903},
    {"jsonrpc": "2.0", "id": 904, "result": {"a": 1}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
    {"jsonrpc": "2.0", "id": 905, "result": 1, "error": {"code": "x"}},
)

_INITIALIZED = {"jsonrpc": "2.0", "method": "initialized", "params": {}}


@frozen
class Target:
    """The server under attack."""

    host: str
    port: int
    token: str
    folder: Path
    methods: Sequence[tuple[str, Mapping[str, Any]]]
    """Cairn's own methods, each with the schema of its params."""
    schemas: Mapping[str, Any]


def target_of(host: str, port: int, token: str, folder: Path, description: Mapping[str, Any]) -> Target:
    """Return the server at `port`; the process's OpenAPI description has the params of its methods."""
    methods = []
    for path, operations in description["paths"].items():
        first, *words = path.rpartition("/")[2].split("_")
        name = first + "".join(word.capitalize() for word in words)
        if "post" in operations and name not in NEVER_DRAWN:
            content = operations["post"]["requestBody"]["content"]
            methods.append((f"cairn/{name}", content["application/json"]["schema"]))
    return Target(host, port, token, folder, methods, description["components"]["schemas"])


class Attacker:
    """Makes the traffic of one connection."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._values = Values(self._random, target.schemas)
        self._kinds: list[tuple[int, Callable[[], tuple[str, Any]]]] = [
            (30, self._wrong_params),
            (14, self._any_method),
            (10, self._documents),
            (10, self._escape),
            (8, self._invalid_json),
            (8, self._wrong_envelope),
            (8, self._cancelled),
            (4, self._unknown_method),
            (4, self._wrong_order),
            (4, self._settings_or_folders),
        ]

    def opening(self) -> dict[str, Any]:
        """Return the params of a valid `initialize`."""
        root = self._target.folder
        return {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "initializationOptions": {"token": self._target.token, "embedding": {"enabled": False}},
        }

    def stray(self) -> bytes:
        """Return the first bytes of a connection that must not be served."""
        chance = self._random.random()
        if chance < 0.4:
            noise = self._random.randbytes(self._random.randrange(1, 300)) + b"\r\n\r\n"
            return self._random.choice([*_INVALID_LSP, noise])
        if chance < 0.6:
            return framed(
                self._random.choice([*INVALID_JSON, *(json.dumps(e).encode() for e in _WRONG_ENVELOPES)])
            )
        method = self._random.choice(
            ["initialize", "initialize", "cairn/search", "initialized", "shutdown", "exit"]
        )
        params: Any = {
            **self.opening(),
            "initializationOptions": self._random.choice(
                [
                    None,
                    {},
                    5,
                    {"token": self._target.token[:-1]},
                    {"token": 17},
                    {"token": ["a"]},
                    {"token": "\xe4" * 43},
                ]
            ),
        }
        whole = framed(
            json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": self._random.choice([1, "x", None]),
                    "method": method,
                    "params": params,
                }
            ).encode()
        )
        return whole if chance < 0.85 else whole[: self._random.randrange(len(whole))]

    def begins_after(self, count: int) -> int:
        """Return how many of `count` messages come before `initialized`: mostly none."""
        return self._random.choice([0, 0, 0, 0, self._random.randrange(count)])

    def next(self) -> tuple[str, list[Any]]:
        """Return the kind, and messages: data, or bytes of a body. A request with the id `...` needs an
        answer."""
        weights = [weight for weight, _ in self._kinds]
        kind, made = self._random.choices([make for _, make in self._kinds], weights)[0]()
        return kind, made if isinstance(made, list) else [made]

    def pieces(self, data: bytes) -> list[bytes]:
        """Return the bytes of a frame, whole or cut."""
        if self._random.random() > 0.1 or len(data) > 10_000:
            return [data]
        cuts = sorted(self._random.randrange(len(data)) for _ in range(3))
        return [data[a:b] for a, b in itertools.pairwise([0, *cuts, len(data)])]

    def last(self) -> bytes | None:
        """Return the last bytes of a connection; None if it is simply lost."""
        return self._random.choice([None, *_INVALID_LSP])

    def reply(self) -> Any:
        """Return the reply to a request of the server."""
        return self._random.choice([None, None, None, [], {"a": 1}, 5, "x"])

    def _wrong_params(self) -> tuple[str, Any]:
        method, schema = self._random.choice(self._target.methods)
        return "wrong params", self._request(method, self._values.like(dict(schema), 0))

    def _any_method(self) -> tuple[str, Any]:
        known = [name for name in types.METHOD_TO_TYPES if name not in _OPENS_FOLDERS | _ENDS]
        method = self._random.choice([*known, *(name for name, _ in self._target.methods)])
        document = {"uri": self._random.choice(URIS), "version": self._values.anything(3)}
        place = {"line": self._random.choice([0, -1, 10**12, "1"]), "character": 0}
        params = self._random.choice(
            [
                self._values.anything(0),
                {"textDocument": document, "position": place, "range": {"start": place, "end": place}},
                {"query": self._values.anything(4), "textDocument": self._values.anything(2)},
            ]
        )
        message = self._request(method, params)
        return "any method", message if self._random.random() < 0.7 else self._notification(method, params)

    def _documents(self) -> tuple[str, Any]:
        """Return documents that are opened, changed, saved and closed in any order, with any names."""
        inside = (self._target.folder / self._random.choice(["README.md", "new.py"])).as_uri()
        uri = self._random.choice([inside, inside, *URIS])
        text = self._random.choice([*STRINGS, "a\n" * 10_000, "def f(:\n" * 50])
        place = {
            "line": self._random.choice([0, 5, 10**9, -1]),
            "character": self._random.choice([0, 10**9, -1]),
        }
        changes = [{"text": text}, {"range": {"start": place, "end": place}, "text": text}, {"range": 5}]
        made = {
            "didOpen": {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}},
            "didChange": {
                "textDocument": {"uri": uri, "version": self._random.choice([0, 1, 2**31])},
                "contentChanges": [self._random.choice(changes)],
            },
            "didSave": {"textDocument": {"uri": uri}, "text": text},
            "didClose": {"textDocument": {"uri": uri}},
        }
        names = self._random.sample([*made], self._random.randrange(1, 5))
        return "documents", [self._notification(f"textDocument/{name}", made[name]) for name in names]

    def _escape(self) -> tuple[str, Any]:
        outside = self._random.choice([*ESCAPES, "link.txt"])
        method = self._random.choice(["fetchPage", "fetchPage", "reindex", "related", "context"])
        if method in ("fetchPage", "reindex"):
            return "escape", self._request(f"cairn/{method}", {"path": outside})
        place = {"line": 0, "character": 0}
        secret = (self._target.folder.parent / "secret.txt").as_uri()
        uri = self._random.choice([*URIS, secret, f"file:///{outside}"])
        params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}}
        return "escape", self._request(f"cairn/{method}", params)

    def _invalid_json(self) -> tuple[str, Any]:
        return "no JSON", self._random.choice([body for body in INVALID_JSON if body])

    def _wrong_envelope(self) -> tuple[str, Any]:
        return "wrong envelope", json.dumps(self._random.choice(_WRONG_ENVELOPES)).encode()

    def _cancelled(self) -> tuple[str, Any]:
        method = self._random.choice(["search", "discover", "context", "related", "status"])
        request = self._request(f"cairn/{method}", {"query": f"moor a ship {self._random.random()}"})
        wrong = self._notification(
            "$/cancelRequest", self._random.choice([{}, {"id": "unknown"}, {"id": []}, 5])
        )
        return "cancelled", [request, self._notification("$/cancelRequest", {"id": ...}), wrong]

    def _unknown_method(self) -> tuple[str, Any]:
        name = self._random.choice(
            [*STRINGS, "cairn/", "cairn/serach", "$/nothing", "rpc.exit", "initialise"]
        )
        message = self._request(name, self._values.anything(0))
        return "unknown method", message if self._random.random() < 0.7 else self._notification(name, {})

    def _wrong_order(self) -> tuple[str, Any]:
        again = self._request("initialize", self.opening())
        return "wrong order", self._random.choice(
            [again, self._notification("initialized", {}), self._notification("initialize", {})]
        )

    def _settings_or_folders(self) -> tuple[str, Any]:
        folder = {"uri": self._random.choice(_NO_FOLDERS), "name": "x"}
        settings = {self._random.choice(["cairn", "search", ""]): self._values.anything(0)}
        return "settings and folders", self._random.choice(
            [
                self._notification(
                    "workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}}
                ),
                self._notification(
                    "workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}}
                ),
                self._notification("workspace/didChangeWorkspaceFolders", self._values.anything(4)),
                self._notification("workspace/didChangeConfiguration", {"settings": settings}),
                self._notification("workspace/didChangeWatchedFiles", {"changes": self._values.anything(0)}),
            ]
        )

    @staticmethod
    def _request(method: str, params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": ..., "method": method, "params": params}

    @staticmethod
    def _notification(method: str, params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": method, "params": params}


def framed(body: bytes) -> bytes:
    """Return a message with LSP's header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


# --- sending --------------------------------------------------------------------------------------


async def attack(
    target: Target, count: int, seed: int, at_once: int = 4, report: Report | None = None
) -> Report:
    """Send `count` messages over connections, some at once, and judge the answers. Each served connection
    must answer a valid request at its end."""
    filled, seeds = report or Report(), itertools.count(seed * 1_000_000)
    left = count

    async def client() -> None:
        nonlocal left
        while left > 0:
            number = next(seeds)
            attacker = Attacker(target, number)
            if random.Random(number).random() < _STRAY_CONNECTIONS:
                share = min(left, _STRAYS_IN_A_ROW)
                left -= share
                for _ in range(share):
                    await _stray(target, attacker.stray(), filled, f"seed {number}")
            else:
                share = min(left, _MESSAGES_A_CONNECTION)
                left -= share
                await _Connection(target, attacker, filled, f"seed {number}").speak(share)

    await asyncio.gather(*(client() for _ in range(at_once)))
    return filled


async def _stray(target: Target, data: bytes, report: Report, where: str) -> None:
    shown = data[:400].replace(target.token.encode(), b"TOKEN")
    described = f"the connection ({where}) that began with {shown!r}"
    report.by_kind["no LSP"] += 1
    began, answer = time.perf_counter(), b""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(target.host, target.port)
            try:
                writer.write(data)
                await writer.drain()
                writer.write_eof()
                answer = await reader.read()
            except OSError:  # The server refused before it had all of it.
                pass
            finally:
                writer.close()
    except TimeoutError:
        report.record_hang(described)
        return
    except OSError as problem:  # No server listens any more.
        report.problems.append(f"{problem} at {described}")
        return
    report.record_answer(time.perf_counter() - began, described)
    report.outcomes["error" if answer else "closed"] += 1
    if escaped(answer) or (answer and b'"error"' not in answer):
        report.problems.append(f"{answer[:200]!r} to {described}")


class _Connection:
    """A connection that is served."""

    def __init__(self, target: Target, attacker: Attacker, report: Report, where: str) -> None:
        self._target, self._attacker, self._report, self._where = target, attacker, report, where
        self._waiting: dict[str, tuple[asyncio.Future[Any], float, str]] = {}
        self._numbers = itertools.count()

    async def speak(self, count: int) -> None:
        """Send `count` messages and a valid request, and leave."""
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS):
                await self._speak(count)
        except TimeoutError:
            waiting = [described for _, _, described in self._waiting.values()]
            self._report.record_hang(f"{waiting or 'the end'} on the connection ({self._where})")
        except (OSError, asyncio.IncompleteReadError) as problem:
            self._report.problems.append(
                f"{type(problem).__name__} on the connection ({self._where}): {problem}"
            )

    async def _speak(self, count: int) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._target.host, self._target.port)
        listening = asyncio.create_task(self._listen())
        try:
            await self._ask("initialize", self._attacker.opening())
            pending, begins = [], self._attacker.begins_after(count)
            for place in range(count):
                if place == begins:
                    await self._send(_INITIALIZED, "", "sound")
                kind, messages = self._attacker.next()
                self._report.by_kind[kind] += 1
                number = f"hostile {next(self._numbers)}"
                for message in messages:
                    pending += await self._send(message, number, kind)
            await asyncio.gather(*pending)
            sound = await self._ask("cairn/status", {})
            if "state" not in (sound.get("result") or {}):
                self._report.problems.append(f"{sound} to a sound request ({self._where})")
            await self._leave(listening)
        finally:
            self._writer.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _send(self, message: Any, number: str, kind: str) -> list[asyncio.Future[Any]]:
        """Send a message, and return the expected answers."""
        pending: list[asyncio.Future[Any]] = []
        if isinstance(message, dict):
            if message.get("id") is ...:
                message = {**message, "id": number}
                pending.append(self._expect(number, f"{kind} ({self._where}): {message!r:.300}"))
            if message.get("params") == {"id": ...}:
                message = {**message, "params": {"id": number}}
            message = json.dumps(message).encode()
        for piece in self._attacker.pieces(framed(message)):
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)
        return pending

    def _expect(self, number: str, described: str) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (future, time.perf_counter(), described)
        return future

    async def _ask(self, method: str, params: Any) -> Any:
        (answer,) = await self._send(
            {"jsonrpc": "2.0", "id": ..., "method": method, "params": params},
            f"sound {next(self._numbers)}",
            "sound",
        )
        return await answer

    async def _leave(self, listening: asyncio.Task[None]) -> None:
        """End the connection in some way, and check that the server closes it."""
        last = self._attacker.last()
        if last is None:
            self._writer.transport.abort()
            return
        with contextlib.suppress(OSError):  # The server closed before it had all of it.
            self._writer.write(last)
            await self._writer.drain()
            self._writer.write_eof()
        await asyncio.wait_for(asyncio.shield(listening), PATIENCE_SECONDS)

    async def _listen(self) -> None:
        try:
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                (line,) = (each for each in head.split(b"\r\n") if each.startswith(b"Content-Length:"))
                self._receive(await self._reader.readexactly(int(line[15:])))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        for number, (future, _, described) in self._waiting.items():
            self._report.problems.append(
                f"the connection was closed without an answer to {number}, {described}"
            )
            future.set_result({})
        self._waiting.clear()

    def _receive(self, body: bytes) -> None:
        if escaped(body):
            self._report.problems.append(f"text from outside the workspace ({self._where}): {body[:300]!r}")
        message = json.loads(body)
        if "method" in message:
            if "id" in message:
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": self._attacker.reply()}
                self._writer.write(framed(json.dumps(reply).encode()))
            return
        outcome = str(message["error"]["code"]) if "error" in message else "result"
        self._report.outcomes[outcome] += 1
        future, began, described = self._waiting.pop(message["id"], (None, 0.0, ""))
        if outcome == str(_INTERNAL_ERROR):
            self._report.failures += 1
            self._report.problems.append(f"{message['error']} to {described or self._where}")
        if future is not None:
            self._report.record_answer(time.perf_counter() - began, described)
            future.set_result(message)
