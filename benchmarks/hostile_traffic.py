"""Provides the parts of hostile requests, and the report about their answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

PATIENCE_SECONDS = 120
"""The limit for an answer, on a busy machine; slower ones count as hangs."""
SECRET = "the combination of the harbour master's safe is 4711"
"""The text of a file beside the workspace, which no request contains and no answer may contain."""
NEVER_DRAWN = frozenset({"set_phase", "setPhase", "pause", "cairn_set_phase"})
"""Methods that switch searching off, also for later requests, which would not be searched."""
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
"""Paths that lead out of the workspace on some system, if the server follows them."""
URIS = (
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
STRINGS = (
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
NUMBERS = (0, 1, -1, 2, 10, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, -1e-320)
INVALID_JSON = (
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


def write_secret(workspace: Path) -> None:
    """Write the secret file beside the workspace, and a link to it inside if links can be made."""
    secret = workspace.parent / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    with suppress(OSError):
        (workspace / "link.txt").symlink_to(secret)


def escaped(answer: bytes) -> bool:
    """Return whether an answer contains text from outside the workspace."""
    return SECRET.encode() in answer or b"root:x:0" in answer


@define
class Report:
    """A report about the answers."""

    by_kind: Counter[str] = field(factory=Counter)
    outcomes: Counter[str] = field(factory=Counter)
    """Statuses of HTTP, codes of JSON-RPC, `result`, `closed`."""
    failures: int = 0
    """Answers that report a server's failure: 5xx, and JSON-RPC's internal error."""
    hangs: int = 0
    times: list[float] = field(factory=list)
    """The times in seconds."""
    problems: list[str] = field(factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def record_answer(self, seconds: float, described: str) -> None:
        """Record an answer after `seconds`."""
        self.times.append(seconds)
        self.slowest = max(self.slowest, (seconds, described))

    def record_hang(self, described: str) -> None:
        """Record a missing answer."""
        self.hangs += 1
        self.problems.append(f"no answer to {described}")


class Values:
    """Draws values; the same ones for the same seed."""

    def __init__(self, drawn: random.Random, schemas: Mapping[str, Any]) -> None:
        self._random = drawn
        self._schemas = schemas
        """The schemas by name, for `$ref`."""

    def like(self, schema: dict[str, Any], depth: int) -> Any:
        """Return a value that roughly fits the schema."""
        chance = self._random.random()
        if chance < 0.06 or depth > 8:
            return self.anything(depth)
        if "$ref" in schema:
            return self.like(self._schemas[schema["$ref"].rpartition("/")[2]], depth + 1)
        if "anyOf" in schema:
            return self.like(self._random.choice(schema["anyOf"]), depth + 1)
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        match kind:
            case "object":
                required = schema.get("required", [])
                made = {
                    name: self.like(shape, depth + 1)
                    for name, shape in schema.get("properties", {}).items()
                    if self._random.random() < (0.95 if name in required else 0.3)
                }
                if self._random.random() < 0.05:
                    made[self._random.choice(STRINGS)[:50]] = self.anything(depth)
                return made
            case "array":
                return [
                    self.like(schema.get("items", {}), depth + 1) for _ in range(self._random.randrange(4))
                ]
            case "string":
                return self._random.choice([*STRINGS, *URIS, *ESCAPES])
            case "integer":
                return self._random.choice([0, 1, 2, 5, 10, 100, *NUMBERS[:9]])
            case "number":
                return self._random.choice(NUMBERS)
            case "boolean":
                return self._random.random() < 0.5
            case _:
                return self.anything(depth)

    def anything(self, depth: int) -> Any:
        chance = self._random.random()
        if depth > 5 or chance < 0.5:
            return self._random.choice([*STRINGS, *NUMBERS, None, True, False])
        if chance < 0.7:
            return [self.anything(depth + 1) for _ in range(self._random.randrange(5))]
        names = ["query", "limit", "path", "textDocument", "uri", "config", "__proto__", "", *STRINGS]
        return {
            self._random.choice(names)[:50]: self.anything(depth + 1)
            for _ in range(self._random.randrange(5))
        }
