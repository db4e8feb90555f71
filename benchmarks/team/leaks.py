#!/usr/bin/env python3
"""Measure whether a team's server reveals anything to readers who may not see it.

    python benchmarks/team/leaks.py --checkouts DIR --folder FOLDER [--requests 10000] [--seed 7]
      [--output FILE]

Thirteen repositories, two of them forks with files of their own, are put into one store; DIR has clones of
them. Two readers with overlapping grants send all kinds of requests to one `cairn serve` at the same time,
with random words, names, paths, ids and hashes: visible, hidden and missing ones. Meanwhile a third
repository is granted and revoked. Each answer is searched for hidden data. Then the roles of the readers
query the database itself. FOLDER is made and deleted.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import re
import shutil
import statistics
import sys
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import numpy as np
import psycopg
from attrs import define, field, frozen
from psycopg import sql

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, percentile, run_conditions

from cairn.index.postgres import access
from cairn.index.postgres.roles import role_name
from cairn.index.reader.exact import Literal, TextHit
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import ColumnWeights, Hit
from cairn.index.remote.messages import dumps, loads
from cairn.team.commit_indexing import index_repository
from team.servers import (
    QUICK,
    Answer,
    Client,
    Copy,
    KillableServer,
    copy_of,
    make_database,
    serving,
    words_of,
)

REPOSITORIES = (
    "gson", "cobra", "click", "flask", "viper", "express", "sinatra", "slim", "axum", "oslib", "oban", "cobra-fork", "flask-fork",  # noqa: E501
)  # fmt: skip
ALICE, BOB, CAROL = "alice", "bob", "carol"
GRANTS: Mapping[str, tuple[str, ...]] = {
    ALICE: ("gson", "cobra", "cobra-fork", "click", "flask", "axum"),
    BOB: ("click", "viper", "sinatra", "flask-fork", "cobra", "axum"),
}
"""Alice sees both of one pool, and of the other the repository without the fork; Bob the other way round."""
TOGGLED: Mapping[str, str] = {ALICE: "express", BOB: "oban"}
_WORKERS = 3
"""The number of concurrent requests of each reader."""
_PAIRS_EVERY = 12
"""One request in this many is a pair about a hidden name and a missing one."""
_TIMED = 600
_CAIRN = Path(__file__).resolve().parents[2] / "server" / "cairn"


# --- the repositories -----------------------------------------------------------------------------


@frozen(eq=False)
class RepositoryFacts:
    """The owner's knowledge of a repository."""

    copy: Copy
    id: int
    snapshot: int
    pool: int
    commit: str
    words: frozenset[str]
    hashes: frozenset[str]
    chunks: frozenset[int]
    """The numbers that the snapshot gives to its chunks."""
    files: frozenset[int]
    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    collections: Mapping[str, tuple[int, int]]
    """The number of files and chunks of each collection."""

    @property
    def uri(self) -> str:
        return f"cairn-team:///{quote(self.copy.name)}"


def known(owner: psycopg.Connection[Any], copy: Copy) -> RepositoryFacts:
    row = owner.execute(
        """SELECT r.id, s.number, s.pool, s.shard, s.commit, s.files FROM cairn.repositories r JOIN cairn.refs f ON f.repository = r.id
           JOIN cairn.snapshots s ON s.id = f.snapshot WHERE r.name = %s""",  # noqa: E501
        (copy.name,),
    ).fetchone()
    assert row is not None
    number, snapshot, pool, shard, commit, packed = row
    files = np.frombuffer(packed, np.int32).tolist()
    place = (shard, pool, files)
    chunks = owner.execute(
        "SELECT encode(content_hash, 'hex'), symbol FROM cairn.chunks WHERE shard = %s AND pool = %s "
        "AND file = ANY(%s)",
        place,
    ).fetchall()
    rows = owner.execute(
        "SELECT path, collection, chunks FROM cairn.files WHERE shard = %s AND pool = %s AND id = ANY(%s) "
        "ORDER BY path",
        place,
    ).fetchall()
    collections: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for _, collection, count in rows:
        collections[collection][0] += 1
        collections[collection][1] += count
    return RepositoryFacts(
        copy,
        number,
        snapshot,
        pool,
        commit,
        frozenset(copy.words() | {commit}),
        frozenset(each[0] for each in chunks),
        frozenset(range(1, len(chunks) + 1)),
        frozenset(range(1, len(files) + 1)),
        tuple(each[0] for each in rows),
        tuple(sorted({each[1] for each in chunks if each[1]})),
        {name: (a, b) for name, (a, b) in collections.items()},
    )


@define
class ReaderView:
    """The repositories and words that one reader may see, and when."""

    reader: str
    always: Mapping[str, RepositoryFacts]
    toggled: RepositoryFacts
    every: Mapping[str, RepositoryFacts]
    own_words: frozenset[str]
    """Words that Cairn itself writes."""
    projects: frozenset[str]
    """Words of the project names of pools: a fork's files have that of its pool's first repository."""
    spans: list[list[float]] = field(factory=list)
    """The times when the grant of `toggled` began and was done, and when its revocation did."""
    request_words: set[str] = field(factory=set)
    """Words of the reader's own requests, which the context returns with the latest questions."""
    _hidden: dict[bool, frozenset[str]] = field(factory=dict)

    def visible(self, began: float, ended: float) -> tuple[bool, bool]:
        """Return whether the toggled repository may have been visible between two times, and whether it was
        all the time."""
        may = any(span[0] <= ended and (len(span) < 4 or began <= span[3]) for span in list(self.spans))
        was = any(
            len(span) >= 2 and span[1] <= began and (len(span) < 3 or ended <= span[2])
            for span in list(self.spans)
        )
        return may, was

    def repositories(self, with_toggled: bool) -> dict[str, RepositoryFacts]:
        return {**self.always, **({self.toggled.copy.name: self.toggled} if with_toggled else {})}

    def hidden(self, with_toggled: bool) -> frozenset[str]:
        """Return the words, names, commits and hashes of only those repositories that the reader may not
        see."""
        if with_toggled not in self._hidden:
            seen = self.repositories(with_toggled).values()
            there = set().union(*(each.words | each.hashes for each in self.every.values()))
            self._hidden[with_toggled] = frozenset(
                there - set().union(*(each.words | each.hashes for each in seen)) - self.own_words
            )
        return self._hidden[with_toggled]


# --- requests -------------------------------------------------------------------------------------


@frozen
class Request:
    """One request."""

    kind: str
    path: str
    params: Any = None
    body: bytes | None = None
    method: str | None = None
    snapshot: RepositoryFacts | None = None
    """The snapshot of a read."""
    read: str = ""

    @property
    def text(self) -> str:
        return f"{self.path} {json.dumps(self.params)} {(self.body or b'').decode('utf-8', 'replace')}"


_HOSTILE = (
    "**", "../**", "!*", "/", "..", "*/../*", "%", "_", "'; SELECT name FROM cairn.repositories; --", "cairn-team:///", "\\", "[a-",  # noqa: E501
    "' OR true --", "{a,b}", "\u202e", "a" * 3000, "$1", "%s", "\0",
)  # fmt: skip
_TYPES = ("code", "prose", "api", "config", "cmd")


@define
class Asker:
    """Makes requests of one reader, the same ones for the same seed."""

    view: ReaderView
    rng: random.Random
    kept: list[Any] = field(factory=list)
    """Hits of earlier searches, for stages that take hits."""

    def next(self) -> Request:
        kinds = [
            (18, self._search), (8, self._filtered), (5, self._discover), (5, self._related), (8, self._references),  # noqa: E501
            (4, self._context), (9, self._page), (3, self._collections), (4, self._status), (11, self._stage),
            (10, self._mcp), (5, self._locate), (2, self._catalogue), (18, self._read), (3, self._change), (2, self._other),  # noqa: E501
        ]  # fmt: skip
        return self.rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()

    # The parts of requests.

    def repository(self) -> RepositoryFacts:
        return self.rng.choice(list(self.view.every.values()))

    def word(self) -> str:
        of = self.repository()
        return self.rng.choice(
            [
                lambda: self.rng.choice(of.copy.markers),
                lambda: self.rng.choice(of.symbols or ("main",)),
                lambda: self.rng.choice(sorted(of.words)[:4000]),
                lambda: missing_word(self.rng),
                lambda: self.rng.choice(("error", "config", "parse", "request", "the", "handler")),
            ]
        )()

    def question(self) -> str:
        words = [self.word() for _ in range(self.rng.randint(1, 4))]
        text = " ".join(words)
        return self.rng.choice(
            (
                text,
                text,
                f'"{words[0]}"',
                f"how does {text} work",
                f"{words[0]}.{words[-1]}",
                f"what is {text}?",
            )
        )

    def path(self) -> str:
        of = self.repository()
        return self.rng.choice(
            (
                self.rng.choice(of.paths),
                self.rng.choice(of.paths),
                f"src/{missing_word(self.rng)}.py",
                self.rng.choice(_HOSTILE),
            )
        )

    def place(self) -> str:
        of = self.repository()
        inside = self.rng.choice((self.rng.choice(of.paths), f"{missing_word(self.rng)}.py"))
        return f"{self.rng.choice((of.uri, of.uri, 'cairn-team:///' + missing_word(self.rng), 'file:///work'))}/{quote(inside)}"

    def collection(self) -> str:
        of = self.repository()
        return self.rng.choice(
            (self.rng.choice(list(of.collections)), of.copy.name, missing_word(self.rng), *_HOSTILE[:4])
        )

    def workspace(self) -> str:
        if self.rng.random() < 0.6:
            return ""
        name = self.rng.choice(
            (self.repository().copy.name, missing_word(self.rng), self.rng.choice(_HOSTILE))
        )
        return "?workspace=" + quote(
            self.rng.choice((name, name, f"{name}@main", f"{name}@master", f"cairn-team:///{name}")), safe=""
        )

    def ask(self, kind: str, params: Any, name: str = "") -> Request:
        return Request(kind, f"/api/v1/{name or kind}{self.workspace()}", params)

    # The kinds of requests.

    def _search(self) -> Request:
        more: dict[str, Any] = {}
        if self.rng.random() < 0.3:
            more = {"explain": True, "limit": self.rng.randint(1, 50), "wholeWord": self.rng.random() < 0.5}
        return self.ask("search", {"query": self.question(), **more})

    def _filter(self) -> dict[str, Any]:
        return self.rng.choice(
            (
                {"path": [self.path() for _ in range(self.rng.randint(1, 3))]},
                {"collection": [self.collection() for _ in range(self.rng.randint(1, 3))]},
                {"language": [self.rng.choice(("python", "go", "ruby", missing_word(self.rng)))]},
                {"type": [self.rng.choice(_TYPES)], "path": [f"{self.repository().copy.name}/**"]},
                {"path": [self.rng.choice(_HOSTILE)], "collection": [self.rng.choice(_HOSTILE)]},
            )
        )

    def _filtered(self) -> Request:
        return self.ask("filtered search", {"query": self.question(), "filter": self._filter()}, "search")

    def _discover(self) -> Request:
        more = self.rng.choice(({}, {"include": [self.collection()]}, {"filter": {"path": [self.path()]}}))
        return self.ask("discover", {"query": self.question(), **more})

    def _range(self) -> dict[str, Any]:
        line = self.rng.randint(0, 60)
        return {
            "start": {"line": line, "character": 0},
            "end": {"line": line + self.rng.randint(0, 20), "character": 0},
        }

    def _related(self) -> Request:
        return self.ask("related", {"textDocument": {"uri": self.place()}, "range": self._range()})

    def _references(self) -> Request:
        symbol = self.rng.choice(
            (self.word(), f"{self.word()}.{self.word()}", f"{self.path()}:{self.rng.randint(1, 50)}")
        )
        direction = self.rng.choice(("callers", "callees", "uses", "implementations", "tests"))
        return self.ask(
            "references", {"symbol": symbol, "direction": direction, "depth": self.rng.randint(1, 2)}
        )

    def _context(self) -> Request:
        params: dict[str, Any] = {
            "textDocument": {"uri": self.place()},
            "range": self._range(),
            "query": self.question(),
        }
        if self.rng.random() < 0.5:
            params["text"] = f"def f():\n    return {self.word()}({self.word()})\n"
        return self.ask("context", params)

    def _page(self) -> Request:
        folder = self.rng.choice(("", "", self.repository().uri, f"cairn-team:///{missing_word(self.rng)}"))
        return self.ask("fetch_page", {"path": self.path(), "folder": folder})

    def _collections(self) -> Request:
        return Request("collections", "/api/v1/collections")

    def _status(self) -> Request:
        return Request("status", "/api/v1/status")

    def _stage(self) -> Request:
        query = self.question()
        named = [{"name": self.collection()} for _ in range(2)]
        hits = self.rng.sample(self.kept, min(3, len(self.kept)))
        name, params = self.rng.choice(
            [
                ("filter_collections", {"query": query}),
                ("filter_collections", {"query": query, "include": [self.collection()]}),
                ("score_collections", {"query": query}),
                ("score_collections", {"query": query, "collections": named}),
                ("expand_queries", {"query": query}),
                ("broad_discovery", {"queries": [query, self.question()], "k": 20}),
                ("broad_discovery", {"queries": [query], "collections": named, "k": 20}),
                ("semantic_focus", {"collection": named[0], "queries": [query], "k": 10}),
                ("promote_readme", {"hits": hits, "query": query}),
                ("compress_evidence", {"chunks": hits, "query": query}),
                ("build_answer_plan", {"bullets": []}),
            ]
        )
        return self.ask(f"stage {name}", params, name)

    def _mcp(self) -> Request:
        made = self.rng.choice(
            (
                self._search,
                self._discover,
                self._references,
                self._page,
                self._status,
                self._stage,
                self._filtered,
            )
        )()
        tool = "cairn_" + made.path.partition("?")[0].rpartition("/")[2]
        arguments = dict(made.params or {})
        if self.rng.random() < 0.4:
            arguments["workspace"] = self.rng.choice((self.repository().copy.name, missing_word(self.rng)))
        method, params = self.rng.choice(
            (("tools/call", {"name": tool, "arguments": arguments}),) * 9
            + (("tools/list", {}), ("resources/list", {}), ("prompts/list", {}))
        )
        return Request("mcp", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def _locate(self) -> Request:
        commits = [
            self.rng.choice((self.repository().commit, f"{self.rng.getrandbits(160):040x}")) for _ in range(3)
        ]
        return Request("locate", "/team/v1/locate", {"commits": commits})

    def _snapshot(self) -> tuple[int | str, RepositoryFacts | None]:
        if self.rng.random() < 0.7:
            of = self.repository()
            return of.snapshot, of
        return self.rng.choice((self.rng.randint(1, 60), 10**9, 0, "9" * 30, 2**63)), None

    def _catalogue(self) -> Request:
        number, of = self._snapshot()
        return Request("catalogue", f"/team/v1/catalogue/{number}", snapshot=of)

    def _read(self) -> Request:
        number, of = self._snapshot()
        other = self.repository()
        near = self.rng.choice((of or other, other))
        upto = max(near.chunks, default=1) + 200
        chunks = [self.rng.randint(-1, upto) for _ in range(30)]
        files = [self.rng.randint(0, max(near.files, default=1) + 20) for _ in range(20)]
        vector = np.frombuffer(self.rng.randbytes(256), np.int8)
        words = [self.word() for _ in range(3)]
        paths = [self.path() for _ in range(3)]
        only = self.rng.choice(
            (ChunkFilter(), ChunkFilter(paths=tuple(paths)), ChunkFilter(collections=(self.collection(),)))
        )
        name, options = self.rng.choice(
            (
                ("chunks", [chunks]), ("outlines", [chunks]), ("static_vectors", [chunks]),
                ("static_similarities", [chunks, vector]), ("packed_tables", [files]), ("nearest_static", [vector, 30, only]),  # noqa: E501
                ("chunk_ids", [paths]), ("between", [paths[0], 0, 90]),
                ("containing", [Literal(words[0]), 20, only, 2000.0, chunks[:5]]), ("word_counts", [words, 1000]),  # noqa: E501
                ("postings", [dict.fromkeys(words, 0)]), ("documents", [words]), ("absent", [words]), ("is_named", [words[0]]),  # noqa: E501
                ("defining", [words, 10, only]), ("definitions", [words, 10, 5]), ("definitions_of", [words, 10]),  # noqa: E501
                ("members", [words[0], words, 10, only]), ("names_matching", [words[0][:3], f"%{words[0][:4]}%"]),  # noqa: E501
                ("symbols_naming", [words, 10]), ("files_with_chunk", [self.rng.choice(sorted(other.hashes)[:500] or ["00"])]),  # noqa: E501
                ("stems_starting", [words[0][:4], 2000.0]), ("keywords", [words, ColumnWeights(1.0, 2.0), 20, only]),  # noqa: E501
                ("leading_chunks", [paths, 2, only]), ("statistics", [words]), ("admitted", [only]),
                ("dictionaries", []), ("select", ["SELECT * FROM files"]), (self.rng.choice(words), [1]),
            )
        )  # fmt: skip
        try:
            body = dumps([name, options])
        except (TypeError, ValueError):
            body = b"[]"
        return Request("read", f"/team/v1/read/{number}", body=body, snapshot=of, read=name)

    def _change(self) -> Request:
        name, params = self.rng.choice(
            (
                ("reindex", {"path": self.path()}), ("pause", {}), ("resume", {}),
                ("feedback", {"query": self.question(), "contentHash": self.rng.choice(sorted(self.repository().hashes)[:200]),  # noqa: E501
                              "action": "open", "path": self.path()}),
                ("reset_feedback", {}),
            )
        )  # fmt: skip
        return self.ask(f"change {name}", params, name)

    def _other(self) -> Request:
        path = self.rng.choice(
            (
                "/metrics",
                "/openapi.json",
                "/readyz",
                f"/api/v1/{self.word()}",
                f"/team/v1/{self.word()}",
                f"/{self.word()}",
            )
        )
        return Request("other", path if path.isascii() else "/x")


def missing_word(rng: random.Random) -> str:
    """Return a word that no repository has, of the shape of the markers."""
    return f"zq{rng.getrandbits(40):010x}k"


# --- checks of an answer --------------------------------------------------------------------------


@define
class Findings:
    """The problems found."""

    leaks: list[str] = field(factory=list)
    wrong: list[str] = field(factory=list)
    """Wrong answers that are not leaks."""
    statuses: Counter[str] = field(factory=Counter)
    unavailable: Counter[str] = field(factory=Counter)
    """The messages of answers with status 503."""
    kinds: Counter[str] = field(factory=Counter)
    checks: Counter[str] = field(factory=Counter)
    seconds: defaultdict[str, list[float]] = field(factory=lambda: defaultdict(list))
    projects: int = 0
    """Answers and tables with the project name of a fork's pool, that of the pool's first repository."""
    lock: threading.Lock = field(factory=threading.Lock)

    def leak(self, reader: str, request: Request | str, what: str) -> None:
        with self.lock:
            self.leaks.append(
                f"{reader}: {request if isinstance(request, str) else request.text[:600]} -> {what}"
            )
            print("LEAK", self.leaks[-1][:1500], flush=True)

    def fault(self, reader: str, request: Request | str, what: str) -> None:
        with self.lock:
            self.wrong.append(
                f"{reader}: {request if isinstance(request, str) else request.text[:300]} -> {what}"
            )
            if len(self.wrong) < 30:
                print("ODD", self.wrong[-1][:900], flush=True)


def text_of(request: Request, answer: Answer) -> str:
    """Return all text of an answer."""
    if request.kind == "catalogue" and answer.status == 200:
        return _texts_of_catalogue(answer.body)
    text = answer.body.decode("utf-8", "replace")
    # JSON in JSON, as in MCP, hides words behind `\n`.
    return text.replace("\\n", " ").replace("\\\\n", " ").replace("\\t", " ")


def _texts_of_catalogue(packed: bytes) -> str:
    """Return all texts of a catalogue's tables, and all words of its full-text indexes."""
    data = zlib.decompress(packed)
    head = 4 + int.from_bytes(data[:4], "little")
    db = apsw.Connection(":memory:")
    db.deserialize("main", data[head:])
    texts = [data[:head].decode("latin-1")]
    for name, made in db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall():
        if "fts5" in str(made):
            with contextlib.suppress(apsw.Error):  # The vocabulary belongs to another table.
                db.execute(
                    f"CREATE VIRTUAL TABLE temp.words_of_{name} USING fts5vocab('main', '{name}', 'row')"
                )
                # Words that the index joins of several are words of other repositories by chance.
                texts += [
                    str(term)
                    for (term,) in db.execute(f"SELECT term FROM temp.words_of_{name} WHERE term LIKE 'zq%'")
                ]
        elif "_fts_" not in name and not name.startswith("sqlite_"):
            with contextlib.suppress(apsw.Error):
                texts += [
                    str(value)
                    for row in db.execute(f"SELECT * FROM {name}")
                    for value in row
                    if isinstance(value, str)
                ]
    db.close()
    return "\n".join(texts)


def check(
    view: ReaderView, findings: Findings, request: Request, answer: Answer, began: float, ended: float
) -> None:
    """Search an answer for data that the reader may not see."""
    may, was = view.visible(began, ended)
    found = words_of(text_of(request, answer)) & view.hidden(may)
    if found & view.projects:
        findings.projects += 1
        found -= view.projects
    if found:
        given = words_of(request.text) | {word.lower() for word in re.findall(r"\w+", request.text)}
        if request.kind == "context":
            found -= view.request_words
        exposed = {word for word in found if not any(word in each or each in word for each in given)}
        if exposed:
            findings.leak(
                view.reader, request, f"words {sorted(exposed)[:8]} in {answer.status} {answer.body[:300]!r}"
            )
    findings.checks["answers searched for hidden words"] += 1
    if answer.status == 500:
        findings.fault(view.reader, request, f"500 {answer.message}")
    if answer.status == 200:
        _check_counts(view, findings, request, answer, may, was)
        _check_ids(view, findings, request, answer, may)


def _check_counts(
    view: ReaderView, findings: Findings, request: Request, answer: Answer, may: bool, was: bool
) -> None:
    if request.kind not in ("status", "collections"):
        return
    collections = answer.json["collections"] if request.kind == "status" else answer.json
    there = {(each["folder"], each["name"]): (each["files"], each["chunks"]) for each in collections}
    possible = [True] if was else [False, True] if may else [False]
    right = [
        {
            (each.uri, name): counts
            for each in view.repositories(toggled).values()
            for name, counts in each.collections.items()
        }
        for toggled in possible
    ]
    findings.checks["counts of collections compared"] += 1
    if there not in right:
        findings.leak(
            view.reader, request, f"counts {sorted(set(there.items()) ^ set(right[0].items()))[:4]}"
        )
    if request.kind == "status":
        chunks = {sum(c for _, c in each.values()) for each in right}
        files = {sum(f for f, _ in each.values()) for each in right}
        if answer.json["chunks"] not in chunks or answer.json["files"]["indexed"] not in files:
            findings.leak(view.reader, request, f"totals {answer.json['chunks']} {answer.json['files']}")


def _check_ids(view: ReaderView, findings: Findings, request: Request, answer: Answer, may: bool) -> None:
    visible = view.repositories(may)
    if request.kind == "locate" and (found := answer.json) is not None:
        findings.checks["located commits checked"] += 1
        if found["repository"] not in visible or found["snapshot"] != visible[found["repository"]].snapshot:
            findings.leak(view.reader, request, f"located {found}")
    if request.kind not in ("read", "catalogue"):
        return
    findings.checks["reads checked for ids"] += 1
    of = request.snapshot
    if of is None:
        # A drawn number may be that of a snapshot that the reader may see.
        drawn = re.findall(r"\d+", request.path)[-1]
        of = next((each for each in visible.values() if str(each.snapshot) == drawn), None)
    if of is None or of.copy.name not in visible:
        findings.leak(view.reader, request, "a hidden or missing snapshot answers")
        return
    if request.kind == "catalogue":
        data = zlib.decompress(answer.body)
        head = loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
        ids = set(np.flatnonzero(np.cumsum(head["files"])).tolist()) | set(
            np.flatnonzero(head["tokens"]).tolist()
        )
    else:
        ids = set(ids_of(request.read, loads(answer.body)))
    allowed = of.files if request.read in ("packed_tables", "symbols_naming") else of.chunks
    if ids - allowed:
        findings.leak(view.reader, request, f"foreign ids {sorted(ids - allowed)[:5]}")


def ids_of(read: str, value: Any) -> Iterable[int]:
    """Return the ids of chunks or files in the answer of a read."""
    if read in ("chunks", "outlines", "static_similarities", "packed_tables"):
        yield from value
    elif read in ("static_vectors", "admitted"):
        yield from (value[0] if isinstance(value, tuple) else value if value is not None else ())
    elif read in ("leading_chunks", "opening_chunks"):
        yield from value
    elif read == "chunk_ids":
        for each in value.values():
            yield from each
    elif read == "postings":
        for each in value.values():
            assert isinstance(each, Postings)
            yield from each.ids.tolist()
    elif read in ("definitions", "definitions_of"):
        yield from (each.id if hasattr(each, "id") else each.chunk_id for each in value)
    elif read == "symbols_naming":
        yield from (each[0] for each in value)
    elif isinstance(value, list):
        yield from (each.chunk_id for each in value if isinstance(each, Hit | TextHit))


# --- pairs of a hidden and a missing name ---------------------------------------------------------

_VARYING = re.compile(
    r'"(?:timings|metrics|latency|stages|memory|queryTimeMs)":\s*\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}|"memory":\s*\d+|"[a-zA-Z]*[mM]s":\s*[\d.]+'
)


def pair(view: ReaderView, rng: random.Random) -> tuple[Callable[[str], Request], str, str]:
    """Return a request about a name, a permanently hidden name, and a missing one."""
    hidden = [
        each for name, each in view.every.items() if name not in view.always and each is not view.toggled
    ]
    of = rng.choice(hidden)
    marker = rng.choice(of.copy.markers)
    kind = rng.randrange(9)
    post = "/api/v1/"
    if kind == 0:
        return (
            lambda name: Request("pair", f"{post}status?workspace={name}"),
            of.copy.name,
            _same_shape(of.copy.name, rng),
        )
    if kind == 1:
        return (
            lambda name: Request("pair", f"{post}search?workspace={name}", {"query": "error"}),
            of.copy.name,
            _same_shape(of.copy.name, rng),
        )
    if kind == 2:
        return (
            lambda word: Request("pair", f"{post}search", {"query": word, "explain": True}),
            marker,
            _same_shape(marker, rng),
        )
    if kind == 3:
        return (
            lambda word: Request("pair", f"{post}discover", {"query": f"how does {word} work"}),
            marker,
            _same_shape(marker, rng),
        )
    if kind == 4:
        return (
            lambda word: Request("pair", f"{post}references", {"symbol": word}),
            marker,
            _same_shape(marker, rng),
        )
    if kind == 5:
        path = f"handbook/{of.copy.markers[0]}.md"
        return (
            lambda name: Request("pair", f"{post}fetch_page", {"path": name}),
            path,
            f"handbook/{_same_shape(of.copy.markers[0], rng)}.md",
        )
    if kind == 6:
        path = f"tools/{of.copy.markers[1]}.py"
        return (
            lambda name: Request("pair", f"{post}search", {"query": "handler", "filter": {"path": [name]}}),
            path,
            f"tools/{_same_shape(of.copy.markers[1], rng)}.py",
        )
    if kind == 7:
        return (
            lambda name: Request(
                "pair", f"{post}search", {"query": "handler", "filter": {"collection": [name]}}
            ),
            of.copy.name,
            _same_shape(of.copy.name, rng),
        )

    def tool_call(name: str) -> Request:
        arguments = {"query": "error", "workspace": name}
        params = {"name": "search", "arguments": arguments}
        return Request("pair", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    return tool_call, of.copy.name, _same_shape(of.copy.name, rng)


def _same_shape(text: str, rng: random.Random) -> str:
    """Return the text with other hexadecimal digits and the same length."""
    return re.sub(
        r"zq([0-9a-f]+)k", lambda found: f"zq{rng.getrandbits(4 * len(found[1])):0{len(found[1])}x}k", text
    )


def alike(request: Request, one: Answer, name: str, other: Answer, instead: str) -> bool:
    """Return whether both answers are alike except for the name in the request and times.

    For questions that are a word, the interpretation of the word is compared: passages of like meaning differ
    from word to word.
    """
    if (
        request.params
        and name in (request.params.get("query"), f"how does {request.params.get('query')} work")
    ) or "discover" in request.path:
        return _word_of(one, name) == _word_of(other, instead)

    return one.status == other.status and _plain(one, name) == _plain(other, instead)


def _plain(answer: Answer, name: str) -> str:
    text = text_of(Request("pair", ""), answer)
    while (shorter := _VARYING.sub("", text)) != text:
        text = shorter
    text = text.replace(name, "NAME").replace(name.lower(), "NAME")
    # The nearest names depend on the letters; another check makes sure that none is hidden.
    text = re.sub(r"(?:[dD]id you mean|in '[^']*' are) [^\"?]*", "nearest", text).replace(
        "nearest?", "nearest"
    )
    return re.sub(r"\d+\.\d+", "#", text)


def difference(one: Answer, name: str, other: Answer, instead: str) -> str:
    """Return where two answers differ."""
    a, b = (
        re.split(r"(?<=[,{}])", _plain(answer, its_name))
        for answer, its_name in ((one, name), (other, instead))
    )
    return f"{one.status} {other.status} " + " ".join(difflib.unified_diff(a, b, lineterm="", n=1))[:1200]


# --- the database itself --------------------------------------------------------------------------


def _word_of(answer: Answer, word: str) -> Any:
    """Return how a question about one unknown word was interpreted: as found, or as a corrected word."""
    if answer.status != 200:
        return answer.status
    body = answer.json
    results = body.get("results", body.get("chunks", ()))
    matched = {
        *body["verdict"]["matchedTerms"],
        *(term for each in results for term in each["matchedTerms"]),
    }
    return body.get("query", {}).get("corrections"), any(word.lower() in term.lower() for term in matched)


def ask_database(url: str, owner_url: str, views: Sequence[ReaderView], findings: Findings) -> Figures:
    """Let each role read every table, partition and view, call every function, and see plans and errors."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        relations = [
            name
            for (name,) in owner.execute(
                "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
                "n.nspname = 'cairn' AND c.relkind IN ('r','p','v','f','m','S') ORDER BY 1"
            )
        ]
        functions = owner.execute(
            "SELECT p.proname, pg_get_function_identity_arguments(p.oid), p.pronargs FROM pg_proc p JOIN "
            "pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'cairn'"
        ).fetchall()
    counts: Counter[str] = Counter()
    for view in views:
        visible = view.repositories(False)
        hidden = view.hidden(False)
        for role in (role_name(view.reader), "none", "cairn_reader"):
            with psycopg.connect(url, autocommit=True) as db:
                try:
                    db.execute(
                        sql.SQL("SET ROLE {}").format(
                            sql.SQL("NONE") if role == "none" else sql.Identifier(role)
                        )
                    )
                except psycopg.errors.InsufficientPrivilege:
                    counts["roles refused"] += 1
                    continue
                for relation in relations:
                    _ask_relation(db, view, role, relation, visible, hidden, findings, counts)
                for name, _, options in functions:
                    call = sql.SQL("SELECT cairn.{}({})").format(
                        sql.Identifier(name), sql.SQL(", ").join([sql.SQL("NULL")] * options)
                    )
                    outcome = _tried(db, call)
                    counts[f"functions {'answered' if outcome is not None else 'refused'}"] += 1
                    if outcome and outcome[0][0] not in (None, ""):
                        findings.leak(view.reader, f"{role} {name}", str(outcome[:2]))
                for statement in ("CREATE TABLE cairn.x(a int)", "CREATE TEMP TABLE x(a int)", "INSERT INTO cairn.everything VALUES (current_user)",  # noqa: E501
                                  "DELETE FROM cairn.grants", "UPDATE cairn.repositories SET name = 'x'", "SELECT * FROM pg_statistic",  # noqa: E501
                                  "SELECT pg_read_file('PG_VERSION')", "COPY cairn.files TO PROGRAM 'cat'", "SET ROLE cairn_owner",  # noqa: E501
                                  "SET row_security = off; SELECT * FROM cairn.files"):  # fmt: skip
                    if _tried(db, sql.SQL(statement)) is not None:
                        findings.leak(view.reader, f"{role} {statement}", "the statement was allowed")
                    counts["statements refused"] += 1
    return dict(counts) | {"relations": len(relations), "functions": len(functions)}


def _ask_relation(
    db: psycopg.Connection[Any],
    view: ReaderView,
    role: str,
    relation: str,
    visible: Mapping[str, RepositoryFacts],
    hidden: frozenset[str],
    findings: Findings,
    counts: Counter[str],
) -> None:
    name = sql.Identifier("cairn", relation)
    rows = _tried(db, sql.SQL("SELECT * FROM {}").format(name))
    counts[f"tables {'answered' if rows is not None else 'refused'}"] += 1
    is_partition = bool(re.search(r"_\d+$", relation))
    if rows is not None and is_partition:
        findings.leak(view.reader, f"{role} {relation}", "a partition answers")
    if rows and relation != "meta" and role != role_name(view.reader):
        findings.leak(view.reader, f"{role} {relation}", f"{len(rows)} rows without a reader")
    if rows is not None and role == role_name(view.reader):
        counts["rows seen"] += len(rows)
        exposed = (
            words_of(" ".join(str(value) for row in rows for value in row if not isinstance(value, bytes)))
            & hidden
        )
        if (
            relation == "repository_words"
        ):  # Stems, and words joined of several, are words of other repositories by chance.
            exposed = {word for word in exposed if word.startswith("zq")}
        packed = set()
        if relation == "chunks":
            description = [
                each.name
                for each in db.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name)).description or ()
            ]
            text, number = description.index("text"), description.index("content_hash")
            packed = {bytes(row[number]).hex() for row in rows} & hidden
            exposed |= (
                words_of(" ".join(zlib.decompress(row[text]).decode("utf-8", "replace") for row in rows))
                & hidden
            )
        if exposed & view.projects:
            findings.projects += 1
            exposed -= view.projects
        if exposed or packed:
            findings.leak(
                view.reader, f"{role} {relation}", f"words {sorted(exposed)[:5]} hashes {sorted(packed)[:3]}"
            )
        ids = {each.id for each in visible.values()}
        columns = [
            each.name
            for each in db.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name)).description or ()
        ]
        if "repository" in columns and any(row[columns.index("repository")] not in ids for row in rows):
            findings.leak(view.reader, f"{role} {relation}", "rows of a hidden repository")
    # Plans and errors may only contain values of rows that the role sees.
    tries = [
        sql.SQL("EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM {}").format(name),
        sql.SQL("EXPLAIN SELECT * FROM {}").format(name),
    ]
    for column in ("path", "name", "url", "commit", "folded", "first", "ref"):
        tries.append(sql.SQL("SELECT count({0}::int) FROM {1}").format(sql.Identifier(column), name))
        tries.append(
            sql.SQL("SELECT count(*) FROM {1} WHERE ({0}::int) > 0").format(sql.Identifier(column), name)
        )
        tries.append(
            sql.SQL("SELECT count(*) FROM {1} WHERE {0} LIKE 'zq%'").format(sql.Identifier(column), name)
        )
    for each in tries:
        try:
            exposed = words_of(str(db.execute(each).fetchall()))
        except psycopg.Error as error:
            exposed = words_of(str(error)) - view.projects
        counts["plans and errors searched"] += 1
        if exposed & hidden:
            findings.leak(
                view.reader, f"{role} {each.as_string(db)}", f"words {sorted(exposed & hidden)[:5]}"
            )


def _tried(db: psycopg.Connection[Any], statement: sql.Composable) -> list[Any] | None:
    """Return the rows of a statement; None if it is refused."""
    try:
        cursor = db.execute(statement)
        return cursor.fetchall() if cursor.description else []
    except psycopg.Error:
        return None


# --- times ----------------------------------------------------------------------------------------


def timed(client: Client, view: ReaderView, rng: random.Random) -> Figures:
    """Time answers about hidden and missing names in turns, as each other's control."""
    hidden = [
        each for name, each in view.every.items() if name not in view.always and each is not view.toggled
    ]
    small = "/api/v1/status?workspace={}"
    rows: Figures = {}
    kinds: list[tuple[str, Callable[[str], Request], Callable[[RepositoryFacts], str], Callable[[], str]]] = [
        ("name of a repository", lambda name: Request("timed", small.format(name)), lambda k: k.copy.name,
         lambda: _same_shape(rng.choice(hidden).copy.name, rng)),
        ("name and ref", lambda name: Request("timed", small.format(name)), lambda k: f"{k.copy.name}@master",
         lambda: f"{_same_shape(rng.choice(hidden).copy.name, rng)}@master"),
        ("snapshot", lambda name: Request("timed", f"/team/v1/catalogue/{name}"), lambda k: str(k.snapshot),
         lambda: str(rng.randint(10**6, 10**7))),
        ("commit", lambda name: Request("timed", "/team/v1/locate", {"commits": [name]}), lambda k: k.commit,
         lambda: f"{rng.getrandbits(160):040x}"),
        ("word", lambda word: Request("timed", "/api/v1/search", {"query": word}),
         lambda k: rng.choice(k.copy.markers[4:]), lambda: missing_word(rng)),
    ]  # fmt: skip
    for label, make, of_hidden, none in kinds:
        # Both have the same number of questions, since repeated ones come from the cache.
        every_hidden = list(dict.fromkeys(of_hidden(rng.choice(hidden)) for _ in range(200)))
        lists = {
            which: every_hidden if which == "hidden" else [none() for _ in every_hidden]
            for which in ("hidden", "nowhere", "nowhere again")
        }
        samples: dict[str, list[float]] = {"hidden": [], "nowhere": [], "nowhere again": []}
        for number in range(_TIMED if label != "word" else _TIMED // 4):
            order = list(lists)
            rng.shuffle(order)
            for which in order:
                request = make(rng.choice(lists[which]))
                began = time.perf_counter()
                client.ask(request.path, request.params)
                if number > 10:
                    samples[which].append(time.perf_counter() - began)
        median = {which: statistics.median(each) * 1000 for which, each in samples.items()}
        noise = _noise(samples["nowhere"] + samples["nowhere again"])
        difference = (
            median["hidden"] - statistics.median(samples["nowhere"] + samples["nowhere again"]) * 1000
        )
        rows[label] = {
            **{f"{which}, p50 ms": round(value, 3) for which, value in median.items()},
            **{f"{which}, p95 ms": round(percentile(each, 95) * 1000, 2) for which, each in samples.items()},
            "difference of medians, ms": round(difference, 3),
            "standard error of such a difference, ms": round(noise, 3),
            "within noise": abs(difference) <= 3 * noise,
        }
        print(label, json.dumps(rows[label]), flush=True)
    return rows


def _noise(values: Sequence[float]) -> float:
    """Return the standard error of a difference of medians in ms, from random halves of such samples."""
    rng = random.Random(1)
    many, drawn = len(values) // 2, []
    for _ in range(300):
        one, other = rng.choices(values, k=many), rng.choices(values, k=2 * many)
        drawn.append((statistics.median(one) - statistics.median(other)) * 1000)
    return statistics.stdev(drawn)


# --- the run --------------------------------------------------------------------------------------


@define
class Toggler:
    """Grants and revokes the toggled repositories until it is stopped."""

    owner_url: str
    views: Sequence[ReaderView]
    ends: threading.Event = field(factory=threading.Event)
    times: int = 0

    def run(self) -> None:
        rng = random.Random(3)
        with psycopg.connect(self.owner_url, autocommit=True) as owner:
            while not self.ends.is_set():
                for view in self.views:
                    span = [time.monotonic()]
                    view.spans.append(span)
                    access.grant(owner, view.reader, [view.toggled.id])
                    span.append(time.monotonic())
                    self.ends.wait(rng.uniform(0.02, 0.6))
                    span.append(time.monotonic())
                    access.revoke(owner, view.reader, [view.toggled.id])
                    span.append(time.monotonic())
                    self.times += 1
                self.ends.wait(rng.uniform(0.02, 0.6))


def ask_all(port: int, token: str, view: ReaderView, findings: Findings, requests: int, seed: int) -> None:
    """Run one worker of a reader."""
    rng = random.Random(seed)
    asker, client = Asker(view, rng), Client(port, token)
    for number in range(requests):
        if number % _PAIRS_EVERY == 0:
            make, name, instead = pair(view, rng)
            view.request_words |= {name.lower(), instead.lower()}
            before = time.monotonic()
            one, other = (
                client.ask(make(name).path, make(name).params),
                client.ask(make(instead).path, make(instead).params),
            )
            may, was = view.visible(before, time.monotonic())
            with findings.lock:
                findings.kinds["pair"] += 2
                findings.statuses[str(one.status)] += 2
                findings.checks["pairs of hidden and missing names compared"] += 1
            # A repository that comes or goes between both changes either.
            if may == was and not alike(make(name), one, name, other, instead):
                findings.leak(
                    view.reader,
                    make(name),
                    f"answers differ from those about {instead}: {difference(one, name, other, instead)}",
                )
            after = time.monotonic()
            check(view, findings, make(name), one, before, after)
            check(view, findings, make(instead), other, before, after)
            continue
        request = asker.next()
        view.request_words |= words_of(request.text)
        began = time.monotonic()
        answer = client.ask(request.path, request.params, body=request.body, method=request.method)
        ended = time.monotonic()
        with findings.lock:
            findings.statuses[str(answer.status)] += 1
            if answer.status == 503:
                findings.unavailable[answer.message[:120]] += 1
            findings.kinds[request.kind.partition(" ")[0]] += 1
            findings.seconds[request.kind.partition(" ")[0]].append(ended - began)
        check(view, findings, request, answer, began, ended)
        if answer.status == 200 and request.kind == "stage broad_discovery":
            asker.kept = (asker.kept + answer.json["chunks"])[-50:]
    client.close()


def fixed_answers(port: int, token: str, questions: Sequence[str]) -> list[Any]:
    """Return the answers to a reader of everything, without times and scores' last digits."""
    client = Client(port, token)
    found = []
    for question in questions:
        answer = client.ask("/api/v1/search", {"query": question})
        results = answer.json["results"] if answer.status == 200 else answer.message
        found.append(
            [(each["folder"], each["path"], each["range"]["start"]["line"]) for each in results]
            if isinstance(results, list)
            else results
        )
    client.close()
    return found


def main() -> int:
    options = _arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    os.environ["CAIRN_DATA_DIR"] = str(options.folder / "data")
    server = KillableServer(options.folder / "server", settings=QUICK)
    try:
        return _run(options, server)
    finally:
        server.stop()
        shutil.rmtree(options.folder, ignore_errors=True)


def _run(options: argparse.Namespace, server: KillableServer) -> int:
    rng = random.Random(options.seed)
    server.start()
    owner_url, url = make_database(server)
    copies = {}
    for name in REPOSITORIES:
        source = options.checkouts / name.removesuffix("-fork")
        unlike = f"{name}-{missing_word(rng)}"
        copies[name] = copy_of(
            source, unlike, options.folder / "clones", [missing_word(rng) for _ in range(8)]
        )
    began = time.monotonic()
    for name in sorted(copies, key=lambda each: each.endswith("-fork")):
        done = index_repository(owner_url, str(copies[name].folder), name=copies[name].name)
        print(f"{name}: {done.files} files, {done.chunks_new} new chunks, {done.seconds:.1f} s", flush=True)
    indexing = time.monotonic() - began
    with psycopg.connect(owner_url, autocommit=True) as owner:
        every = {name: known(owner, copy) for name, copy in copies.items()}
        by_name = {each.copy.name: each for each in every.values()}
        tokens = {}
        for reader, names in GRANTS.items():
            access.grant(owner, reader, [every[name].id for name in names])
            tokens[reader] = access.issue_token(owner, reader)
        access.grant(owner, CAROL, "all")
        tokens[CAROL] = access.issue_token(owner, CAROL)
    with psycopg.connect(owner_url) as owner:
        projects = frozenset(
            words_of(" ".join(name for (name,) in owner.execute("SELECT project FROM cairn.repositories")))
        )
    own = frozenset(words_of(" ".join(path.read_text("utf-8") for path in _CAIRN.rglob("*.py"))))
    views = [
        ReaderView(
            reader,
            {every[name].copy.name: every[name] for name in names},
            every[TOGGLED[reader]],
            by_name,
            own,
            projects,
        )
        for reader, names in GRANTS.items()
    ]
    findings = Findings()
    questions = [
        " ".join(rng.choice(each.symbols) for _ in range(2)) for each in every.values() for _ in range(8)
    ]
    figures: Figures = {
        "conditions": run_conditions(),
        "repositories": len(every),
        "pools with forks": 2,
        "chunks": sum(len(each.chunks) for each in every.values()),
        "indexing, s": round(indexing, 1),
        "hidden words looked for, about": {view.reader: len(view.hidden(False)) for view in views},
    }
    print(json.dumps(figures), flush=True)
    with serving([url], options.folder / "serving") as served:
        described = served.client(tokens[CAROL]).ask("/openapi.json").body.decode()
        for view in views:
            view.own_words |= words_of(described)
            view._hidden.clear()
        toggler = Toggler(owner_url, views)
        toggling = threading.Thread(target=toggler.run)
        toggling.start()
        began = time.monotonic()
        with ThreadPoolExecutor(2 * _WORKERS) as pool:
            # Each pair counts as one request, with two questions.
            share = options.requests // (2 * _WORKERS) * _PAIRS_EVERY // (_PAIRS_EVERY + 1) + 1
            working = [
                pool.submit(
                    ask_all,
                    served.port,
                    tokens[view.reader],
                    view,
                    findings,
                    share,
                    100 * options.seed + 10 * number + worker,
                )
                for number, view in enumerate(views)
                for worker in range(_WORKERS)
            ]
            for each in working:
                each.result()
        seconds = time.monotonic() - began
        toggler.ends.set()
        toggling.join()
        mine = fixed_answers(served.port, tokens[CAROL], questions)
        phase = _one_switches_off_for_others(served.port, tokens, findings)
        figures["times of hidden and missing names"] = timed(served.client(tokens[ALICE]), views[0], rng)
        log = served.log.read_text()
        if exposed := words_of(log) & (frozenset().union(*(each.words for each in every.values())) - own):
            findings.fault("-", "the log of cairn serve", f"has {sorted(exposed)[:6]}")
        if any(token in log for token in tokens.values()):
            findings.leak("-", "the log of cairn serve", "has a token")
    with serving([url], options.folder / "serving-fresh") as fresh:
        theirs = fixed_answers(fresh.port, tokens[CAROL], questions)
    changed = [question for question, one, other in zip(questions, mine, theirs, strict=True) if one != other]
    for question in changed[:5]:
        findings.fault(CAROL, question, "answers differ from those of a fresh server")
    figures |= {
        "requests": sum(findings.statuses.values()),
        "requests a second": round(sum(findings.statuses.values()) / seconds, 1),
        "grants and revocations meanwhile": 2 * toggler.times,
        "by kind": dict(findings.kinds.most_common()),
        "by status": dict(findings.statuses.most_common()),
        "what 503 said": dict(findings.unavailable.most_common(5)),
        "checks": dict(findings.checks),
        "answers of a reader of everything that differ from a fresh server's": (
            f"{len(changed)} of {len(questions)}"
        ),
        "phase that one reader sets reaches others": phase,
        "answers and tables with the project name of a fork's pool": 0,
        "database": ask_database(url, owner_url, views, findings),
        "errors that should not be": len(findings.wrong),
        "leaks": len(findings.leaks),
        "examples": [*findings.leaks[:10], *findings.wrong[:10]],
    }
    figures["answers and tables with the project name of a fork's pool"] = findings.projects
    print(json.dumps(figures, indent=2))
    if options.output:
        options.output.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if findings.leaks else 0


def _one_switches_off_for_others(port: int, tokens: Mapping[str, str], findings: Findings) -> bool:
    """Check whether the settings of one reader change another one's answers."""
    client, other = Client(port, tokens[ALICE]), Client(port, tokens[BOB])
    before = other.ask("/api/v1/search", {"query": "error"}).json
    done = client.ask("/api/v1/set_phase", {"phase": 0})
    time.sleep(1.5)
    after = other.ask("/api/v1/search", {"query": "error"}).json
    client.ask("/api/v1/set_phase", {"phase": None})
    reaches = [len(each.get("results", ())) for each in (before, after)]
    print("set_phase", done.status, done.body[:300], flush=True)
    if reaches[0] != reaches[1]:
        findings.fault(
            ALICE,
            f"set_phase {done.status} {done.body[:200]!r}",
            f"Bob has {reaches[1]} results instead of {reaches[0]}",
        )
    return reaches[0] != reaches[1]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
