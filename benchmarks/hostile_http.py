"""Sends hostile HTTP requests to `cairn serve`, and judges its answers.

The requests have params with wrong values, types and names, paths that lead out of the workspace, invalid
JSON, bodies that are cut off, announced wrongly or too large, headers of other hosts and origins, wrong
tokens, and bytes that are not HTTP. The same seed makes the same requests.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

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

_UNANSWERED = frozenset({"no HTTP", "wrong length", "large"})
"""Kinds that the server may drop silently: the request has no clear end, or is too much to read."""
_NOT_NOW = frozenset({"unavailable", "busy"})
"""The codes with which a 503 counts as an answer."""
Judgement = tuple[str, str]
"""A short word for the answer, and its fault; "" if there is none."""
_NO_HTTP = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\r\n\r\n\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"exit"}',
)


@frozen
class Target:
    """The server under attack."""

    host: str
    port: int
    token: str
    paths: Sequence[tuple[str, dict[str, Any]]]
    """Addresses of methods, each with the schema of its params."""
    schemas: dict[str, Any]


@frozen
class RawRequest:
    """One request, as bytes."""

    kind: str
    data: bytes
    abandoned: bool = False
    """Whether the client leaves without its answer."""


# --- making requests ------------------------------------------------------------------------------


class Attacker:
    """Makes requests; the same ones for the same seed."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._values = Values(self._random, target.schemas)
        self._kinds: list[tuple[int, Callable[[], RawRequest]]] = [
            (30, self._wrong_params),
            (15, self._any_json),
            (10, self._invalid_json),
            (10, self._escape),
            (8, self._wrong_address),
            (8, self._wrong_headers),
            (6, self._wrong_length),
            (5, self._invalid_http),
            (4, self._large),
            (4, self._abandoned),
        ]

    def next(self) -> RawRequest:
        weights = [weight for weight, _ in self._kinds]
        return self._random.choices([make for _, make in self._kinds], weights)[0]()

    def _wrong_params(self) -> RawRequest:
        path, schema = self._random.choice(self._target.paths)
        return self._post("wrong params", path, json.dumps(self._values.like(schema, 0)).encode())

    def _any_json(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        return self._post("any JSON", path, json.dumps(self._values.anything(0)).encode())

    def _invalid_json(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        return self._post("no JSON", path, self._random.choice(INVALID_JSON))

    def _escape(self) -> RawRequest:
        path, key = self._random.choice(
            [
                ("/api/v1/fetch_page", "path"),
                ("/api/v1/reindex", "path"),
                ("/api/v1/related", "uri"),
                ("/api/v1/context", "uri"),
            ]
        )
        outside = self._random.choice(ESCAPES)
        if key == "path":
            params: dict[str, Any] = {"path": outside}
        else:
            uri = self._random.choice([*URIS, f"file:///{quote(outside)}", f"file:///{outside}"])
            place = {"line": 0, "character": 0}
            params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}}
        return self._post("escape", path, json.dumps(params).encode())

    def _wrong_address(self) -> RawRequest:
        known = self._random.choice(self._target.paths)[0]
        address = self._random.choice(
            [
                f"{known}/",
                f"{known}?workspace={quote(self._random.choice([*ESCAPES, *URIS, *STRINGS[:6]]))}",
                f"{known}?workspace=a&workspace=b",
                f"{known}?a=b",
                f"{known}?%ff=%fe",
                "/api/v1/" + quote(self._random.choice(STRINGS)[:200]),
                "/api/v1/../../etc/passwd",
                "//api/v1/search",
                "/%2e%2e/healthz",
                "/metrics/../api/v1/search",
                "http://evil.example/api/v1/status",
                "*",
                "/" + "a" * 8_000,
            ]
        )
        method = self._random.choice(
            ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "BREW", "TRACE"]
        )
        return self._request("wrong address", method, address, b"{}")

    def _wrong_headers(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        wrong = self._random.choice(
            [
                {"Host": "evil.example"},
                {"Host": f"localhost:{self._target.port + 1}"},
                {"Host": "localhost"},
                {"Host": f"evil@localhost:{self._target.port}"},
                {"Host": ""},
                {"Origin": "null"},
                {"Origin": "https://evil.example"},
                {"Origin": f"https://localhost:{self._target.port}"},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Basic {self._target.token}"},
                {"Authorization": ""},
                {"Authorization": "Bearer " + "\xe4" * 43},
                {"Content-Type": "text/plain"},
                {"Content-Type": "application/json; charset=utf-16"},
                {"Content-Type": "multipart/form-data"},
                {"Content-Encoding": "gzip"},
                {"Expect": "100-continue"},
                {"Upgrade": "websocket", "Connection": "upgrade, close"},
                {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"},
            ]
        )
        return self._request("wrong headers", "POST", path, b'{"query": "a"}', wrong)

    def _wrong_length(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        chunks = b'5\r\n{"que\r\n' + b"0\r\n\r\n"
        body, headers = self._random.choice(
            [
                (b"{}", {"Content-Length": "1"}),
                (b"{}", {"Content-Length": "99999999999999999999"}),
                (b"{}", {"Content-Length": "5000000"}),
                (chunks, {"Transfer-Encoding": "chunked", "Content-Length": None}),
                (b"ffffffffffffffff\r\n", {"Transfer-Encoding": "chunked", "Content-Length": None}),
            ]
        )
        return self._request("wrong length", "POST", path, body, headers)

    def _invalid_http(self) -> RawRequest:
        noise = self._random.randbytes(self._random.randrange(1, 400)) + b"\r\n\r\n"
        return RawRequest("no HTTP", self._random.choice([*_NO_HTTP, noise]))

    def _large(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        body = self._random.choice(
            [
                b'{"query": "' + b"a" * 16_100_000 + b'"}',
                b'{"query": "' + b"a " * 200_000 + b'"}',
                b"[" + b"[]," * 300_000 + b"[]]",
                b'{"query": "a", "include": [' + b'"a*b*",' * 20_000 + b'"c"]}',
            ]
        )
        return self._post("large", path, body)

    def _abandoned(self) -> RawRequest:
        path, _ = self._random.choice(self._target.paths)
        whole = self._post("abandoned", path, b'{"query": "moor a ship"}').data
        return RawRequest("abandoned", whole[: self._random.randrange(1, len(whole) + 1)], abandoned=True)

    # --- values -----------------------------------------------------------------------------------

    # --- bytes ------------------------------------------------------------------------------------

    def _post(self, kind: str, path: str, body: bytes) -> RawRequest:
        return self._request(kind, "POST", path, body)

    def _request(
        self, kind: str, method: str, address: str, body: bytes, changes: dict[str, Any] | None = None
    ) -> RawRequest:
        headers = {
            "Host": f"localhost:{self._target.port}",
            "Authorization": f"Bearer {self._target.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **(changes or {}),
        }
        lines = [f"{method} {address} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return RawRequest(kind, "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body)


# --- sending --------------------------------------------------------------------------------------


async def attack(
    target: Target, count: int, seed: int, at_once: int = 8, report: Report | None = None
) -> Report:
    """Send `count` requests, some at once, and judge the answers."""
    attacker, filled = Attacker(target, seed), report or Report()
    left = iter(range(count))

    async def client() -> None:
        for number in left:
            sent = attacker.next()
            shown = sent.data[:400].replace(target.token.encode(), b"TOKEN")
            request_text = f"request {number} (seed {seed}, {sent.kind}): {shown!r}"
            await send(target.host, target.port, sent, filled, request_text, judged)

    await asyncio.gather(*(client() for _ in range(at_once)))
    return filled


async def send(
    host: str,
    port: int,
    sent: RawRequest,
    report: Report,
    described: str,
    judge: Callable[[bytes, str], Judgement],
) -> None:
    """Send one request on its own connection, and report the answer."""
    report.by_kind[sent.kind] += 1
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await _exchange(host, port, sent)
    except TimeoutError:
        report.record_hang(described)
        return
    except OSError as problem:  # No server listens any more.
        report.problems.append(f"{problem} at {described}")
        return
    if sent.abandoned:
        return
    report.record_answer(time.perf_counter() - began, described)
    status, problem_ = judge(answer, sent.kind)
    report.outcomes[status] += 1
    report.failures += status.startswith("5") and bool(problem_)
    if problem_:
        report.problems.append(f"{problem_} to {described}")


async def _exchange(host: str, port: int, sent: RawRequest) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    answer = b""
    try:
        writer.write(sent.data)
        if sent.abandoned:
            return b""
        await writer.drain()
        if sent.kind in ("no HTTP", "wrong length"):  # The rest of it never comes.
            writer.write_eof()
        while part := await reader.read(2**16):
            answer += part
    except OSError:  # The server refused before it had all of it.
        pass
    finally:
        writer.close()
    return answer


def judged(answer: bytes, kind: str) -> Judgement:
    """Return the status of an answer of REST, and its fault."""
    status, body, problem = read(answer, kind)
    if problem or body is None or status == "200":
        return status, problem
    reason = body.get("error") if isinstance(body, dict) else None
    if not (isinstance(reason, dict) and {"code", "message"} <= reason.keys()):
        return status, f"a refusal without its reason, {body!r:.200},"
    if status == "503" and reason["code"] not in _NOT_NOW:
        return status, f"a failure, {reason},"
    return status, ""


def read(answer: bytes, kind: str) -> tuple[str, Any, str]:
    """Return the status of an answer, its JSON or None, and the fault of the two."""
    if not answer:
        return "closed", None, "" if kind in _UNANSWERED else "no answer but a closed connection"
    if escaped(answer):
        return "escaped", None, f"what is outside of the workspace, {answer[-300:]!r},"
    head, _, body = answer.partition(b"\r\n\r\n")
    first = head.split(b"\r\n")[0].split(b" ")
    if len(first) < 2 or not first[1].isdigit():
        return "?", None, f"bytes that are not HTTP, {answer[:200]!r},"
    status = first[1].decode()
    if status == "100":
        return read(body, kind)
    if status.startswith("5") and status != "503":
        return status, None, f"a failure, {body[:300]!r},"
    if b"application/json" not in head.lower() or not body:
        lost = status == "503" and "a failure without its reason"
        return status, None, lost or ""
    lengths = [
        line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    if lengths:
        body = body[: int(lengths[0])]  # Another answer may follow.
    try:
        return status, json.loads(body, parse_constant=_refuse), ""
    except ValueError:
        return status, None, f"a body that is not JSON, {body[:200]!r},"


def _refuse(name: str) -> None:
    raise ValueError(name)


def target_of(url: str, token: str, description: dict[str, Any]) -> Target:
    """Return the server at `url`, whose OpenAPI description is given."""
    parts = urlsplit(url)
    schemas = description["components"]["schemas"]
    paths = [
        (path, operations["post"]["requestBody"]["content"]["application/json"]["schema"])
        for path, operations in description["paths"].items()
        if "post" in operations and path.rpartition("/")[2] not in NEVER_DRAWN
    ]
    return Target(parts.hostname or "", parts.port or 80, token, paths, schemas)
