#!/usr/bin/env python3
"""Let a hostile team server answer a clone, and check that it opens no file, writes none, and breaks nothing.

    python benchmarks/team/hostile_server.py --source REPOSITORY --folder FOLDER [--answers 20000]
      [--rounds 50] [--seed 7] [--output FILE]

A real `cairn serve` over a real store has an index of a clone of REPOSITORY. Between it and the clone stands
a server that changes most of its answers: values, records, rows and pages of the catalogue, bytes, sizes,
headers. An engine in this process asks about the clone. Files outside of it and the data folder must not be
opened, memory must not grow by more than 600 MB, and each request must get an answer or an error of one
sentence. FOLDER is made and deleted.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
import psycopg
from attrs import define, field, frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, run_conditions

from cairn.engine.engine import Engine
from cairn.engine.runner import answer
from cairn.errors import CairnError
from cairn.index.postgres import access
from cairn.index.remote import clone as team_clone
from cairn.index.remote.messages import loads
from cairn.index.remote.packed_catalogue import unpacked_catalogue
from cairn.index.remote.team_server import TeamServer
from cairn.team.commit_indexing import index_repository
from team.servers import QUICK, KillableServer, git, make_database, serving

MOST_GROWTH_MB = 600
"""Some answers of the largest permitted sizes are read at once: with five rounds and 150 answers, memory grew
by 84 to 344 MB in nine runs, and without the limits by up to 2,474 MB, over 600 in five of seven runs."""
_FILE_EVENTS = ("open", "os.remove", "os.rename")
SLOWEST_SECONDS = 60.0
CANARY = "seven-steps-north-of-the-mole"
"""The content of a file beside the clone, which no answer may contain."""
PATHS = (
    "../outside.txt", "../../etc/passwd", "/etc/passwd", "src/../../outside.txt", "./README.md", "a//b", "",
    "a/", "..",
    "C:\\Windows\\win.ini", "..\\outside.txt", "file:///etc/passwd", "a\0b", "\ud800", "x" * 5_000,
    ".env", ".git/config", "link/outside.txt", "\x1b]52;c;aGk=\x07", "~/.ssh/id_rsa",
)  # fmt: skip
_TEXTS = (
    "", "--output=written", "-h", "HEAD", "\x1b]0;owned\x07", "\x9b31m", "a\nb", "'; DROP TABLE files; --",
    "\u202e", "9" * 5_000, "[[[[", "NaN", "0" * 40, *PATHS,
)  # fmt: skip
_NUMBERS = (
    0, -1, 1, 2, 2**31 - 1, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, float("inf"),
    float("-inf"), float("nan"), True,
)  # fmt: skip
_KINDS = "Chunk Hit Outline StoredChunk Postings Statistics tuple map array bytes type Path".split()
_QUESTIONS = "how is it configured|where are errors handled|main|open a file|what is this project".split("|")


def changed(value: Any, rng: random.Random, rate: float) -> Any:
    """Return JSON data with some parts replaced, repeated, left out or of another kind."""
    if rng.random() < rate:
        return odd(rng)
    if isinstance(value, list):
        items = [changed(each, rng, rate) for each in value]
        if items and rng.random() < rate:
            place = rng.randrange(len(items))
            items[place : place + 1] = [] if rng.random() < 0.5 else [items[place]] * rng.choice((2, 50))
        return items
    if isinstance(value, dict):
        return {
            rng.choice(_KINDS) if rng.random() < rate / 4 else key: changed(each, rng, rate)
            for key, each in value.items()
        }
    return value


def odd(rng: random.Random) -> Any:
    """Return a value that no server would answer."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(_TEXTS)
    if kind < 6:
        return rng.choice(_NUMBERS)
    if kind == 6:
        return rng.choice((None, [], {}, [[]], {"": 1}, [0] * 1_000, {"map": []}, {"tuple": []}))
    dtype = rng.choice(("int8", "uint8", "int32", "int64", "float32", "bool", "object", "S9"))
    shape = rng.choice(([0], [4], [1, 4], [-1], [2**40], [2**31, 2**31], []))
    return {"array": [dtype, shape, rng.choice(("", "AAAAAA==", "f39/fw==", "////", "\xff"))]}


def hostile_json(valid: bytes, rng: random.Random) -> bytes:
    """Return a changed JSON message."""
    kind = rng.randrange(20)
    if kind == 0:
        return _bomb(rng.randrange(len(_BOMBS)))
    if kind == 1:
        return broken(valid, rng)
    data = changed(json.loads(valid), rng, rng.choice((0.003, 0.02, 0.1, 0.5)))
    return json.dumps(data, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")


@functools.cache
def _zeros(size: int) -> bytes:
    """Return `size` zeros, compressed, without having them all in memory."""
    packing, block = zlib.compressobj(1), bytes(1_000_000)
    return b"".join(packing.compress(block) for _ in range(size // len(block))) + packing.flush()


_BOMBS: Sequence[Callable[[], bytes]] = (
    lambda: b"[" * 200_000,
    lambda: b"[" + b"[]," * 3_000_000 + b"0]",
    lambda: b"[" + b'{"a":1},' * 2_000_000 + b"0]",
    lambda: b'"' + b"x" * 40_000_000 + b'"',
    lambda: b'["' + "\U0001f600".encode() * 3_000_000 + b"x" * 9_000_000 + b'"]',
    lambda: b"9" * 1_000_000,
    lambda: b'{"bytes":"' + b"A" * 30_000_000 + b'"}',
    lambda: json.dumps(
        {"map": [[each, {"bytes": _base64(_zeros(300_000_000))}] for each in range(5)]}
    ).encode(),
)
"""Messages that are large, or become large."""


@functools.cache
def _bomb(number: int) -> bytes:
    return _BOMBS[number]()


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def broken(valid: bytes, rng: random.Random) -> bytes:
    """Return the bytes cut, or with some replaced."""
    if not valid or rng.random() < 0.3:
        return valid[: rng.randrange(len(valid) + 1)]
    data = bytearray(valid)
    for _ in range(rng.choice((1, 3, 30))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def hostile_catalogue(valid: bytes, rng: random.Random) -> bytes:
    """Return a changed catalogue: its head, its rows, its schema, its pages, or its compression."""
    kind = rng.randrange(10)
    if kind == 0:
        return broken(valid, rng)
    if kind == 1:
        return _zeros(rng.choice((200_000_000, 1_000_000_000)))
    data = zlib.decompress(valid)
    begin = 4 + int.from_bytes(data[:4], "little")
    head, content = data[4:begin], data[begin:]
    if kind == 2:
        head = hostile_json(head, rng)
    elif kind < 5:
        content = broken(content, rng)
    else:
        content = _with_hostile_rows(content, rng)
    length = rng.choice((0, 2**32 - 1)) if kind == 2 and rng.random() < 0.2 else len(head)
    return zlib.compress(b"".join([length.to_bytes(4, "little"), head, content]), 1)


def _with_hostile_rows(content: bytes, rng: random.Random) -> bytes:
    db = apsw.Connection(":memory:")
    db.deserialize("main", content)
    db.pragma("writable_schema", "ON")
    db.pragma("foreign_keys", "OFF")
    for _ in range(rng.choice((1, 1, 2))):
        table = rng.choice(("files", "files", "meta", "file_imports", "copies", "file_history", "schema"))
        try:
            if table == "schema":
                db.execute(rng.choice(_SCHEMAS))
                continue
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            column = rng.choice(["path", *columns]) if "path" in columns else rng.choice(columns)
            value = rng.choice((*_TEXTS, *_NUMBERS, b"\xff\xfe", b"", None, *PATHS))
            key = "path" if "path" in columns else "key"
            where = f"WHERE {key} = (SELECT {key} FROM {table} ORDER BY random() LIMIT 1)"
            db.execute(
                f"UPDATE OR REPLACE {table} SET {column} = ? {where if rng.random() < 0.7 else ''}", (value,)
            )
        except (apsw.Error, OverflowError, UnicodeEncodeError):
            continue
    return db.serialize("main")


_SCHEMAS = (
    "CREATE VIEW extra AS SELECT load_extension('/tmp/x.so')",
    "CREATE TRIGGER extra AFTER INSERT ON meta BEGIN SELECT writefile('/tmp/x', 'x'); END",
    "DROP TABLE copies",
    "ALTER TABLE files ADD COLUMN extra",
    "CREATE TABLE extra(a, b AS (randomblob(1000000000)))",
    "UPDATE sqlite_schema SET sql = replace(sql, 'paths_fts', 'other_fts')",
    "CREATE INDEX extra ON files(abs(-9223372036854775808))",
    "PRAGMA user_version = 7",
    "WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n WHERE x < 300000)"
    " INSERT OR IGNORE INTO file_imports SELECT 'f' || x, x FROM n",
    "DELETE FROM paths_fts_data",
    "UPDATE paths_fts_data SET block = zeroblob(50)",
    "UPDATE subjects_fts_data SET block = randomblob(200)",
)


def hostile_located(valid: bytes, rng: random.Random) -> bytes:
    """Return a changed answer to `locate`."""
    if rng.random() < 0.2:
        return hostile_json(valid, rng)
    found = json.loads(valid)
    name = rng.choice(sorted(found))
    found[name] = rng.choice((*_TEXTS, *_NUMBERS, None, [], {}))
    return json.dumps(found).encode()


_HOSTILE: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "locate": hostile_located, "catalogue": hostile_catalogue, "read": hostile_json,
}  # fmt: skip


@define
class HostileServer:
    """Forwards requests to the real server at `port`, and changes a share of its answers."""

    port: int
    rng: random.Random
    rates: dict[str, float] = field(factory=lambda: {"locate": 0.0, "catalogue": 0.0, "read": 0.0})
    """The share of answers that is changed, by kind."""
    sent: Counter[str] = field(factory=Counter)
    valid: dict[tuple[str, bytes], tuple[int, bytes]] = field(factory=dict)
    """The status and body of the real server's answers, by path and body of the request."""
    _lock: Any = field(factory=threading.Lock)

    def reply(self, path: str, token: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return the status, headers and body of an answer."""
        kind = path.split("/")[3]
        with self._lock:
            status, valid = self._answer(path, token, body)
            self.sent[kind] += 1
            if status != 200 or self.rng.random() >= self.rates[kind]:
                return status, {}, valid
            self.sent[f"{kind}, changed"] += 1
            if self.rng.random() < 0.01:
                return self._odd_response(valid)
            return 200, {}, _HOSTILE[kind](valid, self.rng)

    def _odd_response(self, valid: bytes) -> tuple[int, dict[str, str], bytes]:
        error = json.dumps({"error": {"message": self.rng.choice(_TEXTS)}}).encode()
        return self.rng.choice(
            (
                (302, {"Location": f"http://127.0.0.1:{self.port}/api/v1/status"}, b""),
                (401, {}, error),
                (404, {}, error),
                (500, {}, b"[" * 20_000),
                (503, {}, error * 100),
                (200, {"Content-Length": "999999999999"}, valid[:100]),
                (200, {"Content-Length": "-5"}, valid),
                (200, {"Transfer-Encoding": "chunked"}, b"zz\r\n" + valid[:50]),
                (200, {f"X-{number}": "x" * 1_000 for number in range(150)}, valid),
                (100, {}, b""),
            )
        )

    def _answer(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        key = (path, body)
        if key not in self.valid:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("POST" if body else "GET", path, body or None, {"Authorization": token})
            response = connection.getresponse()
            self.valid[key] = response.status, response.read()
            connection.close()
        return self.valid[key]


@frozen
class Elsewhere:
    """A hostile server in another process, whose memory is not that of the client."""

    pipe: Connection
    url: str

    def rates(self, **rates: float) -> Counter[str]:
        """Set the shares of answers that are changed; the others become 0. Return what was sent so far."""
        self.pipe.send({**dict.fromkeys(_HOSTILE, 0.0), **rates})
        sent: Counter[str] = self.pipe.recv()
        return sent

    def reads(self) -> list[tuple[str, list[Any]]]:
        """Return the reads that were requested so far, with their arguments."""
        self.pipe.send(None)
        bodies: list[bytes] = self.pipe.recv()
        return [tuple(loads(body)) for body in bodies]


@contextmanager
def elsewhere(port: int, seed: int) -> Iterator[Elsewhere]:
    """Run a hostile server in front of the real one at `port`."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, port, seed), daemon=True)
    process.start()
    there.close()
    try:
        yield Elsewhere(here, here.recv())
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, port: int, seed: int) -> None:
    hostile = HostileServer(port, random.Random(seed))
    with listening(hostile) as url:
        pipe.send(url)
        with suppress(EOFError):
            while True:
                rates = pipe.recv()
                if rates is None:
                    pipe.send([body for path, body in hostile.valid if "/read/" in path])
                else:
                    hostile.rates = rates
                    pipe.send(Counter(hostile.sent))


@contextmanager
def listening(hostile: HostileServer) -> Iterator[str]:
    """Serve on a free port of this machine, and yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, answer = hostile.reply(self.path, self.headers["Authorization"], body)
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if not {"Content-Length", "Transfer-Encoding"} & headers.keys():
                self.send_header("Content-Length", str(len(answer)))
            else:
                self.close_connection = True
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # The client has closed the connection.
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@define(slots=False)
class Watch:
    """What happens in this process while it is attacked. It is a context manager."""

    allowed: Sequence[Path]
    """The folders whose files may be opened."""
    problems: list[str] = field(factory=list)
    _is_active: bool = False
    _excepthook: Any = None

    def __enter__(self) -> Watch:
        """Begin to record opened files, logged exceptions and failed threads."""
        folders = tuple(f"{each.resolve()}{os.sep}" for each in self.allowed)
        git_folders = f"{tempfile.gettempdir()}/cairn-git-"
        others = (os.devnull, "/proc/", "/sys/fs/cgroup", git_folders, *folders)

        def audit(event: str, given: tuple[Any, ...]) -> None:
            if self._is_active and event in _FILE_EVENTS and isinstance(given[0], str | bytes | os.PathLike):
                path = os.path.abspath(os.fsdecode(given[0]))  # noqa: PTH100
                if path != tempfile.gettempdir() and not path.startswith(others):
                    self.problems.append(f"{event} {path}")

        self._is_active = True
        sys.addaudithook(audit)  # There is no way to remove it.
        self._excepthook, threading.excepthook = threading.excepthook, self._failed_thread
        logging.getLogger().addHandler(self._handler)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_active = False
        threading.excepthook = self._excepthook
        logging.getLogger().removeHandler(self._handler)

    def _failed_thread(self, given: threading.ExceptHookArgs) -> None:
        self.problems.append(f"thread: {given.exc_value!r}")

    @cached_property
    def _handler(self) -> logging.Handler:
        watch = self

        class Handler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if record.exc_info:
                    watch.problems.append(f"logged {record.getMessage()}: {record.exc_info[1]!r}")

        return Handler()


_ROUNDS = ({"read": 0.05}, {"locate": 1.0}, {"read": 0.3}, {"catalogue": 1.0}, {"read": 1.0})
"""The shares of answers that are changed while an engine asks."""
_QUESTIONS_A_ROUND = 20


def attack(clone: Path, hostile: Elsewhere, rounds: int, answers: int, seed: int, watch: Watch) -> Figures:
    """Let an engine ask about the clone for some rounds, and then a client until the server has sent this
    many more answers, which is faster. Return what came of it."""
    rng, outcomes = random.Random(seed), Counter[str]()
    os.environ["CAIRN_TEAM__URL"] = hostile.url
    team_clone._RETRY_SECONDS = (0.05, 0.1)
    before = peak_mb()
    for number in range(rounds):
        _ask_engine(clone, hostile, _ROUNDS[number % len(_ROUNDS)], rng, outcomes, watch)
    _ask_client(clone, hostile, answers, rng, outcomes, watch)
    grown = peak_mb() - before
    if grown > MOST_GROWTH_MB:
        watch.problems.append(f"memory grew by {grown:.0f} MB")
    return {
        "answers": dict(hostile.rates().most_common()),
        "requests": dict(outcomes),
        "memory_grown_mb": round(grown),
        "problems": len(watch.problems),
        "examples": [each for each, _ in Counter(each[:300] for each in watch.problems).most_common(20)],
    }


def _ask_engine(
    clone: Path,
    hostile: Elsewhere,
    rates: Mapping[str, float],
    rng: random.Random,
    outcomes: Counter[str],
    watch: Watch,
) -> None:
    """Open the clone and ask some questions."""
    hostile.rates(**rates)
    shutil.rmtree(Path(os.environ["CAIRN_DATA_DIR"]) / "team", ignore_errors=True)
    engine = Engine({"index": {"watch": False}})
    try:
        engine.add_folder(clone)
        engine.wait_for_team(SLOWEST_SECONDS)  # Else a busy machine answers everything from the local index.
        for _ in range(_QUESTIONS_A_ROUND if "read" in rates else 2):
            method, params = _request(rng)
            with _judged(f"engine {method}", outcomes, watch):
                found = answer(engine.request(), method, params, front="mcp")
                if CANARY in json.dumps(found):
                    watch.problems.append(f"{method} {params} shows a file outside")
        for warning in answer(engine.request(), "status", {}, as_json=False).warnings:
            if not warning.isprintable():
                watch.problems.append(f"warning: {warning!r}")
    finally:
        engine.stop()


def _ask_client(
    clone: Path,
    hostile: Elsewhere,
    answers: int,
    rng: random.Random,
    outcomes: Counter[str],
    watch: Watch,
) -> None:
    """Repeat single requests of the client, most of which get a changed answer."""
    server = TeamServer(hostile.url, os.environ["CAIRN_TEAM_TOKEN"])
    commits = git(clone, "rev-list", "HEAD").split()
    hostile.rates()
    located = server.locate(commits)
    assert located is not None
    reads = hostile.reads()
    rates = {"locate": 0.95, "catalogue": 0.95, "read": 0.95}
    hostile.rates(**rates)
    for _ in range(answers):
        kind = rng.choice(("locate", "catalogue", "read", "read", "read"))
        with _judged(f"client {kind}", outcomes, watch):
            if kind == "locate":
                server.locate(commits)
            elif kind == "catalogue":
                memory = unpacked_catalogue(located.snapshot, server.catalogue(located.snapshot))
                memory.database.close()
            else:
                server.read(located.snapshot, *rng.choice(reads))


@contextmanager
def _judged(what: str, outcomes: Counter[str], watch: Watch) -> Iterator[None]:
    """Count the outcome of the block, and record one that is neither an answer nor an error of a sentence."""
    began = time.monotonic()
    try:
        yield
        outcomes[f"{what}, answer"] += 1
    except CairnError as problem:
        outcomes[f"{what}, error"] += 1
        if not str(problem).isprintable():
            watch.problems.append(f"{what}: not a sentence: {problem!r}")
    except Exception as problem:  # noqa: BLE001 - This is what the benchmark looks for.
        watch.problems.append(f"{what}: {problem!r}")
    if time.monotonic() - began > SLOWEST_SECONDS:
        watch.problems.append(f"{what} took {time.monotonic() - began:.0f} s")


def peak_mb() -> float:
    """Return the largest size that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _request(rng: random.Random) -> tuple[str, Any]:
    path = rng.choice((*PATHS, "README.md", "src/main.py"))
    query = f"{rng.choice(_QUESTIONS)} {rng.choice(('', 'error', 'path', f'x{rng.randrange(99)}'))}"
    place = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}
    return rng.choice(
        (
            ("search", {"query": query}),
            ("search", {"query": f'"{query.split()[0]}"'}),
            ("discover", {"query": query}),
            ("references", {"symbol": rng.choice(("main", "open", "get", "Session"))}),
            ("fetchPage", {"path": path, "now": rng.random() < 0.7}),
            ("related", {"textDocument": {"uri": f"file://{path}"}, "range": place}),
            ("collections", {}),
        )
    )


def main() -> int:
    options = _arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    os.environ |= {
        "CAIRN_DATA_DIR": str(options.folder / "data"),
        "CAIRN_CONFIG_DIR": str(options.folder / "config"),
    }
    server = KillableServer(options.folder / "server", settings=QUICK)
    server.start()
    try:
        url, login = make_database(server)
        git(options.folder, "clone", "--quiet", str(options.source.resolve()), "clone")
        clone = options.folder / "clone"
        index_repository(url, str(clone), None)
        with psycopg.connect(url, autocommit=True) as db:
            access.grant(db, "ada", "all")
            os.environ["CAIRN_TEAM_TOKEN"] = access.issue_token(db, "ada")
        with serving([login], options.folder / "serving") as served:
            (options.folder / "outside.txt").write_text(CANARY)
            parts = ("clone", "data", "config")
            folders = [options.folder / part for part in parts]
            folders += [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
            with elsewhere(served.port, options.seed) as hostile, Watch(folders) as watch:
                figures = attack(clone, hostile, options.rounds, options.answers, options.seed, watch)
    finally:
        server.stop()
        shutil.rmtree(options.folder, ignore_errors=True)
    result = {"conditions": run_conditions(), "seed": options.seed, **figures}
    print(json.dumps(result, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if figures["problems"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--answers", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=50, help="how often an engine opens the clone")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
