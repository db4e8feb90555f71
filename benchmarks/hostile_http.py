"""Sends a running `cairn serve` requests that nobody should send, and says how it took them.

    cairn serve FOLDER --json --port 0 --lsp-port 0     # in one terminal
    python benchmarks/hostile_http.py URL TOKEN_FILE --requests 10000

Params with wrong values, types and names, paths that lead out of the workspace, text that is no JSON, bodies that are cut
off, announced wrongly or too large, headers of other hosts and origins, wrong tokens, and bytes that are no HTTP. The same
seed makes the same requests. Exits with 1 if anything but a refusal or an answer came back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from attrs import define, field, frozen

PATIENCE_SECONDS = 60
"""For an answer; a server that takes longer has failed."""
ESCAPES = (
    "../secret.txt",
    "../../../../../../etc/passwd",
    "src/../../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "..%5csecret.txt",
    "..\\secret.txt",
    "..\\..\\..\\windows\\win.ini",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "c:secret.txt",
    "\\\\localhost\\c$\\secret.txt",
    "//localhost/c$/secret.txt",
    "\\\\?\\C:\\secret.txt",
    "README.md\0.txt",
    "../secret.txt\0README.md",
    "README.md%00",
    "README.md/../../secret.txt",
    "./../secret.txt",
    "....//secret.txt",
    "~/secret.txt",
    "file:///etc/passwd",
    "/proc/self/environ",
    "CON",
    "README.md::$DATA",
    "\u2025/secret.txt",
    "\uff0e\uff0e/secret.txt",
)
"""Paths that lead out of the workspace somewhere, on some system, if they are believed."""
_URIS = (
    "file:///etc/passwd",
    "file://[",
    "file://evil.example/etc/passwd",
    "file:///%00",
    "file:///a%00/b.py",
    "file:///" + "a/" * 3_000,
    "file:///%2e%2e/%2e%2e/etc/passwd",
    "http://[::1",
    "untitled:Untitled-1",
    "file:",
    "file:////",
    "file:///C:/Windows/win.ini",
    "javascript:alert(1)",
)
_STRINGS = (
    "",
    " ",
    "moor a ship",
    "\0",
    "\u202e\u2066abc",
    "😀" * 50,
    "a" * 5_000,
    '"' * 40,
    "(((((((((((",
    "*" * 200,
    "NEAR/2 AND OR NOT ^ : -",
    "'; DROP TABLE chunks; --",
    "${jndi:ldap://x}",
    "\r\nSet-Cookie: a=b",
    "[" * 300,
    "**/" * 100,
    "{" + "a," * 100 + "}",
    "\ufffe\uffff",
)
_NUMBERS = (0, 1, -1, 2, 10, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, -1e-320)
_NO_JSON = (
    b"",
    b"{",
    b"[1,",
    b"nul",
    b'{"query": NaN}',
    b'{"query": -Infinity}',
    b'{"query": 1e999}',
    b'{"query": "a", "query": "b"}',
    b'{"query": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"query": "\xff\xfe"}',
    b'\xef\xbb\xbf{"query": "a"}',
    b'{"query": "a\x00"}',
    b"[" * 100_000,
    b'{"a":' * 5_000,
    b'{"limit": ' + b"9" * 5_000 + b"}",
    b"\x00\x01\x02",
    b'"text"',
    b"[]",
    b"17",
    b"null",
)
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
class Sent:
    """One request, as bytes."""

    kind: str
    data: bytes
    abandoned: bool = False
    """The client leaves without its answer."""


@define
class Report:
    """What came back."""

    statuses: Counter[str] = field(factory=Counter)
    by_kind: Counter[str] = field(factory=Counter)
    times: list[float] = field(factory=list)
    problems: list[str] = field(factory=list)
    slowest: tuple[float, str] = (0.0, "")


# --- making requests -------------------------------------------------------------------------------


class Attacker:
    """Makes requests; the same ones for the same seed."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._kinds: list[tuple[int, Callable[[], Sent]]] = [
            (30, self._wrong_params),
            (15, self._any_json),
            (10, self._no_json),
            (10, self._escape),
            (8, self._wrong_address),
            (8, self._wrong_headers),
            (6, self._wrong_length),
            (5, self._no_http),
            (4, self._large),
            (4, self._abandoned),
        ]

    def next(self) -> Sent:
        weights = [weight for weight, _ in self._kinds]
        return self._random.choices([make for _, make in self._kinds], weights)[0]()

    def _wrong_params(self) -> Sent:
        path, schema = self._random.choice(self._target.paths)
        return self._post("wrong params", path, json.dumps(self._like(schema, 0)).encode())

    def _any_json(self) -> Sent:
        path, _ = self._random.choice(self._target.paths)
        return self._post("any JSON", path, json.dumps(self._anything(0)).encode())

    def _no_json(self) -> Sent:
        path, _ = self._random.choice(self._target.paths)
        return self._post("no JSON", path, self._random.choice(_NO_JSON))

    def _escape(self) -> Sent:
        path, key = self._random.choice(
            [
                ("/api/v1/fetch_page", "path"),
                ("/api/v1/reindex", "path"),
                ("/api/v1/related", "uri"),
                ("/api/v1/context", "uri"),
            ]
        )
        given = self._random.choice(ESCAPES)
        if key == "path":
            params: dict[str, Any] = {"path": given}
        else:
            uri = self._random.choice([*_URIS, f"file:///{quote(given)}", f"file:///{given}"])
            place = {"line": 0, "character": 0}
            params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}}
        return self._post("escape", path, json.dumps(params).encode())

    def _wrong_address(self) -> Sent:
        known = self._random.choice(self._target.paths)[0]
        address = self._random.choice(
            [
                f"{known}/",
                f"{known}?workspace={quote(self._random.choice([*ESCAPES, *_URIS, *_STRINGS[:6]]))}",
                f"{known}?workspace=a&workspace=b",
                f"{known}?a=b",
                f"{known}?%ff=%fe",
                "/api/v1/" + quote(self._random.choice(_STRINGS)[:200]),
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

    def _wrong_headers(self) -> Sent:
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

    def _wrong_length(self) -> Sent:
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

    def _no_http(self) -> Sent:
        noise = self._random.randbytes(self._random.randrange(1, 400)) + b"\r\n\r\n"
        return Sent("no HTTP", self._random.choice([*_NO_HTTP, noise]))

    def _large(self) -> Sent:
        path, _ = self._random.choice(self._target.paths)
        body = self._random.choice(
            [
                b'{"query": "' + b"a" * 4_100_000 + b'"}',
                b'{"query": "' + b"a " * 200_000 + b'"}',
                b"[" + b"[]," * 300_000 + b"[]]",
                b'{"query": "a", "include": [' + b'"a*b*",' * 20_000 + b'"c"]}',
            ]
        )
        return self._post("large", path, body)

    def _abandoned(self) -> Sent:
        path, _ = self._random.choice(self._target.paths)
        whole = self._post("abandoned", path, b'{"query": "moor a ship"}').data
        return Sent("abandoned", whole[: self._random.randrange(1, len(whole) + 1)], abandoned=True)

    # --- values ------------------------------------------------------------------------------------

    def _like(self, schema: dict[str, Any], depth: int) -> Any:
        """Roughly what the schema asks for."""
        chance = self._random.random()
        if chance < 0.06 or depth > 8:
            return self._anything(depth)
        if "$ref" in schema:
            return self._like(self._target.schemas[schema["$ref"].rpartition("/")[2]], depth + 1)
        if "anyOf" in schema:
            return self._like(self._random.choice(schema["anyOf"]), depth + 1)
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        match kind:
            case "object":
                required = schema.get("required", [])
                made = {
                    name: self._like(shape, depth + 1)
                    for name, shape in schema.get("properties", {}).items()
                    if self._random.random() < (0.95 if name in required else 0.3)
                }
                if self._random.random() < 0.05:
                    made[self._random.choice(_STRINGS)[:50]] = self._anything(depth)
                return made
            case "array":
                return [
                    self._like(schema.get("items", {}), depth + 1) for _ in range(self._random.randrange(4))
                ]
            case "string":
                return self._random.choice([*_STRINGS, *_URIS, *ESCAPES])
            case "integer":
                return self._random.choice([0, 1, 2, 5, 10, 100, *_NUMBERS[:9]])
            case "number":
                return self._random.choice(_NUMBERS)
            case "boolean":
                return self._random.random() < 0.5
            case _:
                return self._anything(depth)

    def _anything(self, depth: int) -> Any:
        chance = self._random.random()
        if depth > 5 or chance < 0.5:
            return self._random.choice([*_STRINGS, *_NUMBERS, None, True, False])
        if chance < 0.7:
            return [self._anything(depth + 1) for _ in range(self._random.randrange(5))]
        names = ["query", "limit", "path", "textDocument", "uri", "config", "__proto__", "", *_STRINGS]
        return {
            self._random.choice(names)[:50]: self._anything(depth + 1)
            for _ in range(self._random.randrange(5))
        }

    # --- bytes -------------------------------------------------------------------------------------

    def _post(self, kind: str, path: str, body: bytes) -> Sent:
        return self._request(kind, "POST", path, body)

    def _request(
        self, kind: str, method: str, address: str, body: bytes, changes: dict[str, Any] | None = None
    ) -> Sent:
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
        return Sent(kind, "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body)


# --- sending them ----------------------------------------------------------------------------------


async def attack(target: Target, count: int, seed: int, at_once: int = 8) -> Report:
    """Send so many requests, some at once, and judge what comes back."""
    attacker, report = Attacker(target, seed), Report()
    left = iter(range(count))

    async def client() -> None:
        for number in left:
            sent = attacker.next()
            await _send(
                target, sent, report, f"request {number} (seed {seed}, {sent.kind}): {sent.data[:300]!r}"
            )

    await asyncio.gather(*(client() for _ in range(at_once)))
    return report


async def _send(target: Target, sent: Sent, report: Report, described: str) -> None:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await _exchange(target, sent)
    except TimeoutError:
        report.problems.append(f"no answer to {described}")
        return
    elapsed = time.perf_counter() - began
    report.by_kind[sent.kind] += 1
    if sent.abandoned:
        return
    report.times.append(elapsed)
    report.slowest = max(report.slowest, (elapsed, described))
    status, problem = judged(answer)
    report.statuses[status] += 1
    if problem:
        report.problems.append(f"{problem} to {described}")


async def _exchange(target: Target, sent: Sent) -> bytes:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    try:
        writer.write(sent.data)
        if sent.abandoned:
            return b""
        await writer.drain()
        if sent.kind in ("no HTTP", "wrong length"):  # the rest of it never comes
            writer.write_eof()
        return await reader.read()
    except ConnectionError:  # refused before all of it was sent
        return b""
    finally:
        writer.close()


def judged(answer: bytes) -> tuple[str, str]:
    """The status of an answer, and what is wrong with it, if anything is."""
    if not answer:
        return "closed", ""
    head, _, body = answer.partition(b"\r\n\r\n")
    first = head.split(b"\r\n")[0].split(b" ")
    if len(first) < 2 or not first[1].isdigit():
        return "?", "no HTTP came back"
    status = first[1].decode()
    if status == "100":
        return judged(body)
    if status.startswith("5") and status not in ("503", "504"):
        return status, f"a failure, {body[:300]!r},"
    if b"application/json" not in head.lower() or not body:
        return status, ""
    lengths = [
        line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    body = body[: int(lengths[0])]  # another answer may follow
    try:
        data = json.loads(body, parse_constant=_refuse)
    except ValueError:
        return status, f"a body that is no JSON, {body[:200]!r},"
    if status != "200" and not (
        isinstance(data, dict) and {"code", "message"} <= data.get("error", {}).keys()
    ):
        return status, f"a refusal without its reason, {body[:200]!r},"
    return status, ""


def _refuse(name: str) -> None:
    raise ValueError(name)


def target_of(url: str, token: str, description: dict[str, Any]) -> Target:
    """The server at `url`, whose OpenAPI description is given."""
    parts = urlsplit(url)
    schemas = description["components"]["schemas"]
    paths = [
        (path, operations["post"]["requestBody"]["content"]["application/json"]["schema"])
        for path, operations in description["paths"].items()
        if "post" in operations
    ]
    return Target(parts.hostname or "", parts.port or 80, token, paths, schemas)


def main() -> None:
    """Attack and report."""
    import urllib.request

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("token_file", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=8)
    given = parser.parse_args()
    token = given.token_file.read_text(encoding="ascii").strip()
    asked = urllib.request.Request(f"{given.url}/openapi.json", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked) as answer:
        target = target_of(given.url, token, json.load(answer))
    began = time.perf_counter()
    report = asyncio.run(attack(target, given.requests, given.seed, given.at_once))
    took = time.perf_counter() - began
    times = sorted(report.times)
    print(
        f"{sum(report.by_kind.values())} requests in {took:.0f} s, {given.at_once} at once, seed {given.seed}"
    )
    print("kinds:   ", dict(report.by_kind.most_common()))
    print("statuses:", dict(report.statuses.most_common()))
    print("5xx:     ", sum(n for status, n in report.statuses.items() if status.startswith("5")))
    middle, late = (1000 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    print(f"times:    p50 {middle:.0f} ms, p99 {late:.0f} ms, slowest {1000 * times[-1]:.0f} ms")
    print(f"slowest:  {report.slowest[1][:200]}")
    for problem in report.problems[:20]:
        print("PROBLEM:", problem)
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    main()
