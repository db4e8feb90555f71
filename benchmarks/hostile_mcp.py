"""Sends hostile MCP messages over HTTP to `cairn serve` and over stdio to `cairn mcp`, and judges their
answers.

The messages have arguments with wrong values, types and names for every tool, paths that lead out of the
workspace, unknown methods and tools, wrong envelopes, invalid JSON, and sizes and depths beyond the limits.
The same seed makes the same messages.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen
from hostile_http import Judgement, RawRequest, read, send
from hostile_traffic import ESCAPES, INVALID_JSON, PATIENCE_SECONDS, STRINGS, URIS, Report, Values, escaped

from cairn.agents.tools import TOOLS

_MESSAGES_A_PROCESS = 250
_BATCH = 25
"""The number of messages between two valid requests."""
_INTERNAL_ERROR = -32603
_METHODS = (
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "ping",
    "prompts/get",
    "resources/list",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
    "sampling/createMessage",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "nothing/of/the/kind",
)
_WRONG_ENVELOPES: tuple[Any, ...] = (
    {},
    [],
    17,
    None,
    "text",
    [{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 3,
    {"jsonrpc": "1.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": {}, "method": "ping"},
    {"jsonrpc": "2.0", "id": None, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": 5},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 5},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []},
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": "a"}},
)
_LARGE = (
    b"[" * 50_000,
    b"x" * 6_000_000,
    b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 9_000 + b'"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"'
    + b"a " * 200_000
    + b'"}}}',
)
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "hostile", "version": "1"},
}
STATUS = {"name": "status", "arguments": {}}


@frozen
class Target:
    """The address of `cairn serve`."""

    host: str
    port: int
    path: str
    token: str


def target_of(url: str, token: str) -> Target:
    """Return the server that speaks MCP at `url`."""
    parts = urlsplit(url)
    return Target(parts.hostname or "", parts.port or 80, parts.path, token)


@frozen
class Message:
    """One message, as bytes without a line's end."""

    kind: str
    data: bytes
    answered: str | None = None
    """The id of the request, if it must be answered."""


class Attacker:
    """Makes messages for a server of `workspace`."""

    def __init__(self, workspace: Path, seed: int) -> None:
        self._workspace = workspace
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._tools = [(name, tool.input_schema) for name, tool in TOOLS.items()]
        self._kinds: list[tuple[int, Callable[[], Message]]] = [
            (40, self._wrong_arguments),
            (14, self._escape),
            (14, self._any_method),
            (10, self._wrong_envelope),
            (10, self._invalid_json),
            (6, self._unknown_tool),
            (4, self._noise),
            (2, self._large),
        ]

    def next(self) -> Message:
        weights = [weight for weight, _ in self._kinds]
        return self._random.choices([make for _, make in self._kinds], weights)[0]()

    def _wrong_arguments(self) -> Message:
        name, schema = self._random.choice(self._tools)
        values = Values(self._random, schema.get("$defs", {}))
        return self._call("wrong arguments", name, values.like(dict(schema), 0))

    def _escape(self) -> Message:
        outside = self._random.choice([*ESCAPES, "link.txt"])
        if self._random.random() < 0.7:
            return self._call("escape", "read", {"path": outside})
        place = {"line": 0, "character": 0}
        secret = (self._workspace.parent / "secret.txt").as_uri()
        uri = self._random.choice([*URIS, secret, f"file:///{outside}"])
        arguments = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}}
        return self._call("escape", "related", arguments)

    def _any_method(self) -> Message:
        method = self._random.choice([*_METHODS, *STRINGS])
        params = Values(self._random, {}).anything(0)
        if self._random.random() < 0.3:
            return Message("any method", _dumped(method, params))
        # A message that no server can read as a request needs no answer to its id.
        number = self._number() if isinstance(params, dict) and "\ufffe" not in method else None
        return Message(
            "any method", _dumped(method, params, self._number() if number is None else number), number
        )

    def _unknown_tool(self) -> Message:
        name = self._random.choice([*STRINGS, "serch", "cairn_search", "set_phase", "reindex"])
        return self._call("unknown tool", name, {"query": "a", "phase": 0})

    def _wrong_envelope(self) -> Message:
        return Message("wrong envelope", json.dumps(self._random.choice(_WRONG_ENVELOPES)).encode())

    def _invalid_json(self) -> Message:
        return Message("no JSON", self._random.choice(INVALID_JSON).replace(b"\n", b" "))

    def _noise(self) -> Message:
        return Message("noise", self._random.randbytes(self._random.randrange(1, 400)).replace(b"\n", b" "))

    def _large(self) -> Message:
        return Message("large", self._random.choice(_LARGE))

    def _call(self, kind: str, name: str, arguments: Any) -> Message:
        number = self._number()
        return Message(kind, _dumped("tools/call", {"name": name, "arguments": arguments}, number), number)

    def _number(self) -> str:
        return f"hostile {next(self._numbers)}"


def _dumped(method: str, params: Any, number: str | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if number is None else {**message, "id": number}).encode()


# --- over HTTP ------------------------------------------------------------------------------------


async def attack_http(
    target: Target, workspace: Path, count: int, seed: int, at_once: int = 8, report: Report | None = None
) -> Report:
    """Send `count` messages, each as a request, some at once, and judge the answers."""
    attacker, filled = Attacker(workspace, seed), report or Report()
    drawn, left = random.Random(seed), iter(range(count))

    async def client() -> None:
        for number in left:
            message = attacker.next()
            sent = RawRequest(message.kind, _posted(target, message.data, drawn))
            described = f"message {number} (seed {seed}, {message.kind}): {message.data[:300]!r}"
            await send(target.host, target.port, sent, filled, described, _judged)

    await asyncio.gather(*(client() for _ in range(at_once)))
    return filled


async def status_over_http(target: Target) -> str:
    """Return the fault of the answer to a valid request; "" if there is none."""
    report = Report()
    sent = RawRequest("sound", _posted(target, _dumped("tools/call", STATUS, "sound"), None))
    await send(target.host, target.port, sent, report, "a sound request", _judged)
    return "" if report.outcomes["200"] else f"{[*report.outcomes, *report.problems]} to a sound request"


def _posted(target: Target, body: bytes, drawn: random.Random | None) -> bytes:
    """Return a message as the bytes of a request; with `drawn`, some have headers that no client sends."""
    headers = {
        "Host": f"localhost:{target.port}",
        "Authorization": f"Bearer {target.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    if drawn is not None and drawn.random() < 0.2:
        wrong: Sequence[tuple[str, str]] = (
            ("Accept", "text/html"),
            ("Accept", ""),
            ("Content-Type", "text/plain"),
            ("Mcp-Session-Id", "evil\tone"),
            ("Mcp-Session-Id", "a" * 3_000),
            ("MCP-Protocol-Version", "1999-01-01"),
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Last-Event-ID", "17"),
            ("Mcp-Method", "tools/list"),
            ("Origin", "https://evil.example"),
            ("Authorization", "Bearer wrong"),
        )
        headers.update([drawn.choice(wrong)])
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _judged(answer: bytes, kind: str) -> Judgement:
    """Return the status of an answer of MCP over HTTP, and its fault."""
    status, body, problem = read(answer, kind)
    if problem or not isinstance(body, dict):
        return status, problem
    return status, _failure(body)


def _failure(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    if isinstance(error, dict) and error.get("code") == _INTERNAL_ERROR:
        return f"a failure, {error},"
    return ""


# --- over stdio -----------------------------------------------------------------------------------


async def attack_stdio(
    workspace: Path,
    count: int,
    seed: int,
    report: Report | None = None,
    environment: Mapping[str, str] | None = None,
) -> Report:
    """Send `count` messages to `cairn mcp`, a new process every few hundred, and a valid request after every
    batch. A process gets the first batch before it is initialized, and must exit with 0 once its stdin ends.
    `environment` is that of the processes, by default that of this one."""
    filled = report or Report()
    for number, sent in enumerate(range(0, count, _MESSAGES_A_PROCESS)):
        attacker = Attacker(workspace, seed * 1_000_000 + number)
        where = f"process {number} of seed {seed}"
        async with _process(workspace, environment, filled, where) as agent:
            left = min(_MESSAGES_A_PROCESS, count - sent)
            for begun in range(0, left, _BATCH):
                if not await agent.take([attacker.next() for _ in range(min(_BATCH, left - begun))]):
                    break
                if not begun:
                    await agent.initialize()
    return filled


class _Agent:
    """One process with its unanswered requests."""

    def __init__(self, process: asyncio.subprocess.Process, report: Report, where: str) -> None:
        self._process, self._report, self._where = process, report, where
        self._sound = itertools.count()

    async def initialize(self) -> None:
        await self._exchange(_dumped("initialize", _HELLO, "hello"), {"hello": "initialize"})
        self._write(_dumped("notifications/initialized", {}))

    async def take(self, messages: Sequence[Message]) -> bool:
        """Send the messages, then a valid request, and return whether all required answers came."""
        for message in messages:
            self._report.by_kind[message.kind] += 1
        number = f"sound {next(self._sound)}"
        waiting = {
            message.answered: f"{message.kind} ({self._where}): {message.data[:300]!r}"
            for message in messages
            if message.answered is not None
        }
        lines = [message.data for message in messages] + [_dumped("tools/call", STATUS, number)]
        return await self._exchange(b"\n".join(lines), {**waiting, number: "a sound request"})

    async def _exchange(self, data: bytes, waiting: dict[str, str]) -> bool:
        began = time.perf_counter()
        self._write(data)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while waiting:
                    line = await _pipe(self._process.stdout).readline()
                    if not line:
                        code = await self._process.wait()
                        self._report.problems.append(
                            f"`cairn mcp` ended with {code} before it answered {waiting!r:.500}"
                        )
                        return False
                    self._receive(line, waiting, began)
        except TimeoutError:
            self._report.record_hang(f"{waiting!r:.500}")
            return False
        return True

    def _receive(self, line: bytes, waiting: dict[str, str], began: float) -> None:
        answer = json.loads(line)
        described = waiting.pop(answer.get("id"), "") if isinstance(answer.get("id"), str) else ""
        outcome = str(answer["error"]["code"]) if "error" in answer else "result"
        self._report.outcomes[outcome] += 1
        if described:
            self._report.record_answer(time.perf_counter() - began, described)
        wrong = _failure(answer)
        self._report.failures += bool(wrong)
        if escaped(line):
            wrong = f"what is outside of the workspace, {line[:300]!r},"
        if wrong:
            self._report.problems.append(f"{wrong} to {described or self._where}")

    def _write(self, data: bytes) -> None:
        _pipe(self._process.stdin).write(data + b"\n")


@asynccontextmanager
async def _process(
    workspace: Path, environment: Mapping[str, str] | None, report: Report, where: str
) -> AsyncIterator[_Agent]:
    """Run `cairn mcp`; it must end once its stdin ends."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cairn",
        "mcp",
        str(workspace),
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        limit=2**26,
    )
    try:
        yield _Agent(process, report, where)
        _pipe(process.stdin).close()
        reading = asyncio.create_task(_pipe(process.stdout).read())
        try:
            code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            report.record_hang(f"the end of stdin ({where})")
        else:
            if code:
                report.problems.append(f"`cairn mcp` ended with {code} ({where})")
        reading.cancel()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
