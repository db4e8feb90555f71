"""Texts that try to control a terminal, a repository full of them, and a strict reader of terminals."""

from __future__ import annotations

import json
import os
import random
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from attrs import frozen

PATIENCE_SECONDS = 300
GROUP = 50
"""The number of files that contain the same word, so that one search shows them."""

ATTACKS = (
    "\x1b]0;owned\x07",  # the title of the window
    "\x1b]52;c;b3duZWQ=\x07",  # the clipboard
    "\x1b]52;c;b3duZWQ=\x1b\\",
    "\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]8;;file:///etc/owned\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]1337;File=inline=1:b3duZWQ=\x07",
    "\x1b]4;1;rgb:00/00/00\x1b\\",
    "\x1b_Gf=24;b3duZWQ=\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1bPowned\x1b\\",
    "\x1b^owned\x1b\\",
    "\x1bc",
    "\x1b[2J",
    "\x1b[31337A",
    "\x1b[6n",
    "\x1b[5;8m",
    "\x1b[?1049h",
    "\x1b[200~owned\x1b[201~",
    "\x1b[>4;1m",
    "\x1b(0",
    "\x1b",
    "\x9b31337A",
    "\x9b5;8m",
    "\x9d0;owned\x9c",
    "\x9d52;c;b3duZWQ=\x9c",
    "\x90owned\x9c",
    "\x9fowned\x9c",
    "\x98owned\x9c",
    "\x85",
    "\x84",
    "\x8d",
    "shown\rhidden",
    "shown\b\b\b\b\bhidden",
    "\x7f\x7f\x7f",
    "\x07",
    "\x05",
    "\x0b",
    "\x0c",
    "\x0e",
    "\x0f",
    "\x1c\x1d\x1e\x1f",
    "\u202egpj.exe\u202c",
    "\u202a\u202b\u202d",
    "\u2066\u2067\u2068\u2069",
    "\u2028",
    "\u2029",
    "[link=http://evil.example]click[/link]",
    "[/]",
    "[bold",
    "[blink]x[/blink]",
    "\\[",
    ":warning:",
)
"""Escape sequences, single control characters, what reorders a line, and markup of the printing library."""


def hostile_texts(count: int, seed: int = 0) -> list[str]:
    """Return `count` texts. Each has a few attacks, every attack occurs, and the same seed makes the same."""
    chosen = random.Random(seed)
    return [
        ATTACKS[number % len(ATTACKS)] + "".join(chosen.choices(ATTACKS, k=chosen.randrange(3)))
        for number in range(count)
    ]


# --- a repository and a server ---------------------------------------------------------------------------


@frozen
class HostileFile:
    path: str
    word: str
    """A word that this file shares with the others of its group."""
    symbol: str


def write_repository(root: Path, texts: Sequence[str]) -> list[HostileFile]:
    """Write a repository with a file for every four texts, and return its files.

    The texts are a file's name, a symbol or heading of it, a part of its content, and the subject of its
    commit. The settings of agents and of the workspace have some of them, too.
    """
    root.mkdir(parents=True)
    files, commits = [], []
    for number in range(len(texts) // 4):
        name, symbol, content, subject = texts[4 * number : 4 * number + 4]
        word = f"lantern{number // GROUP}"
        is_code = number % 2 == 0
        path = f"{word}/{number} {name.replace('/', '%').replace(chr(10), ' ')[:80]}"
        path += ".py" if is_code else ".md"
        function = f"{word}_{number}"
        if is_code:
            content = (
                f"def {function}(ship):\n    '''Lights the {word}. {symbol}'''\n"
                f"    return {function}('''{content}''')\n"
            )
        else:
            content = f"# Guide to {word} {symbol}\n\nThe {word} is lit at dusk. {content} Keep the {word}.\n"
        files.append(HostileFile(path, word, function))
        commits.append(_commit(number, path, content, f"Light the {word} {subject}"))
    run = {"cwd": root, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["git", "init", "--quiet", "--template="], **run)  # type: ignore[call-overload]
    subprocess.run(["git", "fast-import", "--quiet"], input=b"".join(commits), **run)  # type: ignore[call-overload]
    subprocess.run(["git", "reset", "--quiet", "--hard", "main"], **run)  # type: ignore[call-overload]
    some = "".join(texts[:200])
    (root / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"cairn": {"command": some, "args": [some], "env": {some: some}}}})
    )
    (root / ".cairn.toml").write_text(
        f"{json.dumps(some)} = {json.dumps(some)}\n[search]\nnonsense = {json.dumps(some)}\n".replace(
            "\x7f", "\\u007f"
        )
    )
    return files


def _commit(number: int, path: str, content: str, subject: str) -> bytes:
    when = f"Harbour <harbour@example.org> {1_700_000_000 + 60 * number} +0000"
    message, data = subject.encode(), content.encode()
    quoted = '"' + "".join(f"\\{byte:03o}" for byte in path.encode()) + '"'
    return (
        f"commit refs/heads/main\ncommitter {when}\ndata {len(message)}\n".encode()
        + message
        + f"\nM 100644 inline {quoted}\ndata {len(data)}\n".encode()
        + data
        + b"\n"
    )


@contextmanager
def hostile_server(texts: Sequence[str]) -> Iterator[str]:
    """Run a server on this machine that refuses every request with hostile texts. Yield its URL."""
    refusals = iter(range(sys.maxsize))

    class Refusal(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _refuse(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            first = 10 * next(refusals) % max(1, len(texts) - 10)
            message = "".join(texts[first : first + 10])
            body = json.dumps({"error": {"code": message, "message": message}}).encode()
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _refuse  # noqa: N815 - the names are those of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


# --- commands ---------------------------------------------------------------------------------------------


def questions(file: HostileFile) -> list[tuple[str, ...]]:
    """Return command lines that ask about a file and its group, of which a running engine answers most."""
    word, place = file.word, f"{file.path}:1"
    return [
        ("search", word, "-n", str(GROUP)),
        ("search", word, "-n", str(GROUP), "--json"),
        ("search", word, "-n", str(GROUP), "--max-tokens", "20000"),
        ("search", word, "--cursor", "5"),
        ("search", word, "--color", "always", "--explain"),
        ("discover", word),
        ("discover", word, "--json"),
        ("discover", word, "--prompt"),
        ("discover", word, "--max-tokens", "20000"),
        ("related", place),
        ("related", place, "--json"),
        ("related", place, "--max-tokens", "5000"),
        ("callers", file.symbol),
        ("callees", file.symbol, "--json"),
        ("callers", file.symbol, "--max-tokens", "5000"),
        *pages(file),
        ("context", place),
        ("context", place, "--json"),
        ("call", "search", json.dumps({"query": word, "limit": GROUP})),
    ]


def pages(file: HostileFile) -> list[tuple[str, ...]]:
    return [
        ("page", file.path),
        ("page", file.path, "--json"),
        ("page", f"{file.path}:1-3"),
        ("page", file.path, "--max-tokens", "1000"),
    ]


def other_commands(file: HostileFile, text: str, url: str) -> list[tuple[str, ...]]:
    """Return the command lines that ask no question, and wrong ones, which quote `text`."""
    nowhere = ("--store", "postgresql://127.0.0.1:1/none")
    return [
        ("index",),
        ("reindex", file.path),
        ("status",),
        ("status", "--json"),
        ("pause",),
        ("resume",),
        ("doctor",),
        ("doctor", "--json"),
        ("doctor", "--why", file.path),
        ("doctor", "--why", file.path, "--json"),
        ("doctor", "--why", text),
        ("config", "show"),
        ("config", "show", "--all", "--json"),
        ("config", "path"),
        ("feedback",),
        ("phase",),
        ("call", "feedback", json.dumps({"action": text})),
        ("install", "claude", "--scope", "project", "--dry-run"),
        ("install", "claude", "--scope", "project", "--dry-run", "--json"),
        ("install", "claude", "--scope", "project", "--dry-run", "--force"),
        ("uninstall", "claude", "--scope", "project", "--dry-run", "--force"),
        ("install", text),
        ("completion", "bash"),
        ("search", file.word, "-C", text),
        ("search", file.word, "-C", text, "--json"),
        ("search", file.word, "-t", text),
        ("search", file.word, "--in", f"{text}/**"),
        ("search", file.word, "-c", text),
        ("search", file.word, f"--{text}"),
        ("page", text),
        ("page", text, "--json"),
        ("callers", text),
        (text or "x",),
        ("call", text),
        ("call", "search", text),
        ("call", "search", json.dumps({text: 1})),
        ("team", "index", text, *nowhere),
        ("team", "status", "--store", text),
        ("team", "grant", text, text, *nowhere),
        ("team", "down"),
        ("open", f"{url}/{text}", "--print"),
        ("open", url, "--print"),
        ("serve", text),
        ("mcp", text),
        ("openapi",),
    ]


# --- terminals --------------------------------------------------------------------------------------------


@frozen
class Shown:
    """What a command wrote on two terminals."""

    stdout: str
    stderr: str
    code: int

    def problems(self, root: Path) -> list[str]:
        """Return what may not be on a terminal. Links may lead only into `root`."""
        found = foreign_controls(self.stdout, root.as_uri())
        found += foreign_controls(self.stderr, root.as_uri(), draws_progress=True)
        if "Traceback (most recent call last)" in self.stdout + self.stderr:
            found.append(self.stderr[-2_000:])
        return found


_STYLES = "0|1|2|3|4|22|23|24|39|49|3[0-7]|4[0-7]|9[0-7]|10[0-7]"
_OWN = rf"\x1b\[(?:(?:{_STYLES})(?:;(?:{_STYLES}))*)?m|\x1b\]8;(?:id=[0-9]+)?;(?P<link>[!-~]*)\x1b\\"
_PROGRESS = r"\x1b\[38;5;[0-9]+m|\x1b\[1A|\x1b\[2K|\x1b\[\?25[lh]|\r"
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def foreign_controls(output: str, link: str, *, draws_progress: bool = False) -> list[str]:
    """Return each control character of a terminal's output that Cairn does not write itself.

    Cairn writes line ends, styles (but neither blinking, hidden nor reversed text) and links that begin with
    `link`, and on stderr the moves of the cursor that draw progress.
    """
    own = f"{_OWN}|{_PROGRESS}" if draws_progress else _OWN
    found, rest = [], output.replace("\r\n", "\n")
    for match in re.finditer(f"{own}|(?P<foreign>{_CONTROL})", rest):
        target = match["link"] or ""
        if match["foreign"] or not (target == "" or target.startswith(link)):
            found.append(ascii(rest[max(0, match.start() - 20) : match.end() + 20]))
    return found


def run_on_terminals(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, stdin: str = ""
) -> Shown:
    """Run `cairn` with a terminal each for stdout and stderr, and wait for its end."""
    import pty  # Windows has no such module.

    terminals = [pty.openpty() for _ in range(2)]
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "cairn", *(each.replace("\0", "") for each in arguments)],
        stdin=subprocess.PIPE,
        stdout=terminals[0][1],
        stderr=terminals[1][1],
        cwd=cwd,
        env={**kept, "TERM": "xterm-256color", "COLUMNS": "120", **(environment or {})},
    )
    assert process.stdin is not None
    process.stdin.write(stdin.encode())
    process.stdin.close()
    for _, theirs in terminals:
        os.close(theirs)
    written = {ours: b"" for ours, _ in terminals}
    open_terminals = set(written)
    while open_terminals:
        ready, _, _ = select.select([*open_terminals], [], [], PATIENCE_SECONDS)
        if not ready:
            process.kill()
            break
        for ours in ready:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # This is the end of a terminal on Linux.
                part = b""
            written[ours] += part
            if not part:
                open_terminals.discard(ours)
                os.close(ours)
    code = process.wait(PATIENCE_SECONDS)
    stdout, stderr = (written[ours].decode("utf-8", "surrogateescape") for ours, _ in terminals)
    return Shown(stdout, stderr, code)
