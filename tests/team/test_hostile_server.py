"""A hostile team server opens and writes no file of a clone's user, and each answer ends in one sentence."""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from team import hostile_server
from team.hostile_server import Watch, attack, elsewhere
from tests.conftest import ask
from tests.e2e.command_line import run_cairn
from tests.serving import wait_for
from tests.team.git_repositories import harbour
from tests.team.shared_town import Town

from cairn.chunking.model import Chunk
from cairn.engine.engine import Engine
from cairn.errors import WireError
from cairn.index.reader.postings import Postings
from cairn.index.reader.records import Hit, Outline, StoredChunk
from cairn.index.remote import team_server as team_server
from cairn.index.remote.messages import ANSWERS, check, dumps
from cairn.index.remote.packed_catalogue import unpacked_catalogue
from cairn.index.remote.team_server import TeamServer, TeamUnavailableError
from cairn.index.store.database import create
from cairn.index.store.keyword_columns import path_words
from cairn.protocol.search_messages import ChunkType

Reply = Callable[[str], bytes]
"""Returns the answer to a request to a path."""


@contextmanager
def replying(reply: Reply, status: int = 200, pause: float = 0.0) -> Iterator[str]:
    """Serve `reply` on a port of this machine, with a pause after each byte, and yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = reply(self.path)
            self.send_response(status)
            self.end_headers()
            for part in (answer,) if not pause else (bytes([each]) for each in answer):
                self.wfile.write(part)
                self.wfile.flush()
                time.sleep(pause)

        do_GET = do_POST  # noqa: N815

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                """The client has closed the connection."""

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# --- locate ------------------------------------------------------------------------------------

_COMMITS = ["a" * 40, "b" * 40]
_LOCATED: dict[str, Any] = {
    "snapshot": 1, "repository": "harbour", "ref": "main", "commit": "b" * 40, "behind": 1,
    "committed_at": "2026-01-01T00:00:00+00:00", "indexed_at": "2026-01-02T00:00:00+00:00",
}  # fmt: skip


def test_located_commit_of_those_asked_for_is_accepted() -> None:
    with replying(lambda _: json.dumps(_LOCATED).encode()) as url:
        located = TeamServer(url, "token").locate(_COMMITS)
    assert located is not None
    assert located.commit == "b" * 40


@pytest.mark.parametrize(
    "changed",
    [
        {"commit": "--output=written"},
        {"commit": "c" * 40},
        {"commit": "b" * 39},
        {"commit": None},
        {"behind": 0},
        {"behind": -1},
        {"behind": True},
        {"behind": 1.0},
        {"snapshot": -1},
        {"snapshot": "1/../2"},
        {"snapshot": 10**30},
        {"repository": "har\x1b]0;bour\x07"},
        {"repository": "x" * 400},
        {"ref": "main\nmain"},
        {"ref": ""},
        {"ref": ["main"]},
        {"indexed_at": "yesterday"},
        {"committed_at": 7},
        {"more": 1},
    ],
)
def test_located_snapshots_that_were_not_asked_for_are_refused(changed: dict[str, Any]) -> None:
    with (
        replying(lambda _: json.dumps(_LOCATED | changed).encode()) as url,
        pytest.raises(TeamUnavailableError, match="does not answer as a team's server"),
    ):
        TeamServer(url, "token").locate(_COMMITS)


@pytest.mark.parametrize(
    "body",
    [
        *(b"[" * 100_000, b'{"snapshot": NaN}', b" " * 10_000 + b"null", b"\xff"),
        *(b"<html>Welcome</html>", b"[]", b"7", b'{"snapshot": 1}'),
    ],
)
def test_other_answers_to_locate_are_refused(body: bytes) -> None:
    with replying(lambda _: body) as url, pytest.raises(TeamUnavailableError):
        TeamServer(url, "token").locate(_COMMITS)


@pytest.mark.parametrize(
    "changed",
    [
        {"commit": "--output=written"},
        {"behind": 1},
        {"snapshot": "1/../2"},
        {"repository": "har\x1b]0;bour\x07"},
        {"commit": ["a"]},
        {"more": 1},
    ],
)
def test_importing_repositories_that_are_not_snapshots_are_refused(changed: dict[str, Any]) -> None:
    body = json.dumps([_LOCATED | {"behind": 0} | changed]).encode()
    with replying(lambda _: body) as url, pytest.raises(TeamUnavailableError):
        TeamServer(url, "token").importing(1, ['"py:harbour'])


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[1]", b"7", b"null", b"[" + b" " * 1_000_000 + b"]"])
def test_other_answers_on_importing_repositories_are_refused(body: bytes) -> None:
    with replying(lambda _: body) as url, pytest.raises(TeamUnavailableError):
        TeamServer(url, "token").importing(1, ['"py:harbour'])


@pytest.mark.usefixtures("bare_data_dir")
def test_commit_that_is_an_option_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = harbour(tmp_path / "harbour")
    victim = tmp_path / "bashrc"
    victim.write_text("kept")
    warning = warning_of(repository.folder, f"--output={victim}", catalogue(), monkeypatch)
    assert "does not answer as a team's server" in warning
    assert victim.read_text() == "kept"


@pytest.mark.usefixtures("bare_data_dir")
def test_index_that_never_becomes_complete_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = harbour(tmp_path / "harbour")
    unfinished = catalogue("DELETE FROM meta WHERE key = 'scanned'")
    commit = repository.git("rev-parse", "HEAD")
    assert "not complete" in warning_of(repository.folder, commit, unfinished, monkeypatch)


def warning_of(folder: Path, commit: str, packed: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    """The warning of a clone whose server locates this commit, and has this catalogue."""
    located = _LOCATED | {"commit": commit, "behind": 0}
    with replying(lambda path: json.dumps(located).encode() if "locate" in path else packed) as url:
        monkeypatch.setenv("CAIRN_TEAM__URL", url)
        monkeypatch.setenv("CAIRN_TEAM_TOKEN", "token")
        engine = Engine({})
        try:
            engine.add_folder(folder)
            wait_for(lambda: engine.folders[0].remark)
            (warning,) = ask(engine, "status", {}).warnings
        finally:
            engine.stop()
    return str(warning)


@pytest.mark.usefixtures("bare_data_dir")
def test_status_of_a_clone_prints_no_traceback(tmp_path: Path) -> None:
    folder = str(harbour(tmp_path / "harbour").folder)
    for body in (b"[" * 100_000, b'{"error": {"message": "\\u001b]0;owned\\u0007"}}', dumps({"a": 1})):
        with replying(lambda _, body=body: body, 500 if b"error" in body else 200) as url:  # type: ignore[misc]
            done = run_cairn("status", folder, CAIRN_TEAM__URL=url, CAIRN_TEAM_TOKEN="token")
        assert "\x1b" not in done.stdout + done.stderr
        assert "team's server" in done.stdout


def test_an_error_of_the_server_becomes_a_printable_sentence() -> None:
    error = json.dumps({"error": {"message": "\x1b]52;c;aGk=\x07 two\nlines " + "x" * 1_000}}).encode()
    with replying(lambda _: error, 503) as url, pytest.raises(TeamUnavailableError) as refused:
        TeamServer(url, "token").locate(_COMMITS)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_a_response_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_server, "_ANSWER_SECONDS", 0.3)
    with (
        replying(lambda _: b" " * 100_000, pause=0.01) as url,
        pytest.raises(TeamUnavailableError, match="does not answer"),
    ):
        TeamServer(url, "token").locate(_COMMITS)


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_only_a_packed_catalogue_of_the_permitted_size_is_read(more: int, fits: bool) -> None:
    size = team_server._MOST_CATALOGUE_BYTES + more
    outcome = nullcontext() if fits else pytest.raises(TeamUnavailableError, match="does not answer as")
    with replying(lambda _: bytes(size)) as url, outcome:
        assert len(TeamServer(url, "token").catalogue(1)) == size


# --- catalogues --------------------------------------------------------------------------------


def catalogue(change: str = "", path: str = "src/berths.py", head: dict[str, Any] | None = None) -> bytes:
    """A catalogue of one file, changed by an SQL statement."""
    database = create(":memory:", vfs=None)
    row = (1, path, 10, 0, b"x" * 16, 1, "source", "c", "2026-01-01T00:00:00Z", 1, "[]", b"", None)
    with database:
        database.execute(f"INSERT INTO files VALUES ({', '.join('?' * len(row))})", row)
        database.execute(
            "INSERT INTO paths_fts(rowid, stem, folders) VALUES (?, ?, ?)", (1, *path_words(path))
        )
        database.execute("INSERT INTO meta VALUES ('chunks', 1), ('scanned', 1)")
        database.execute("INSERT INTO file_history VALUES (?, 1, x'0100000001', 1, 7)", (path,))
    if change:
        database.pragma("writable_schema", "ON")
        database.execute(change)
    columns: dict[str, Any] = {
        "files": np.array([0, 1], np.int32), "tokens": np.ones(2, np.uint16), "upto": 1, "mean": 1.0,
        "languages": ["python"],
    }  # fmt: skip
    packed = dumps(columns | (head or {}))
    return zlib.compress(len(packed).to_bytes(4, "little") + packed + database.serialize("main"), 1)


@pytest.mark.usefixtures("bare_data_dir")
def test_valid_catalogue_is_read() -> None:
    memory = unpacked_catalogue(1, catalogue())
    assert memory.connect().execute("SELECT path FROM files").get == "src/berths.py"
    assert memory.columns.file_of.tolist() == [0, 1]


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/shadow", "a/../../b", "a//b", "./a", "", "a/", "..", "x" * 5_000, "a\0b"]
)
@pytest.mark.usefixtures("bare_data_dir")
def test_catalogue_with_a_path_outside_is_refused(path: str) -> None:
    with pytest.raises(WireError):
        unpacked_catalogue(1, catalogue(path=path))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE files SET path = x'ff'",
        "UPDATE files SET path = CAST(x'ff' AS TEXT)",
        "UPDATE files SET kind = x'00'",
        "UPDATE files SET chunks = 1e300",
        "UPDATE files SET chunks = -1",
        "UPDATE files SET id = 9999999999",
        "UPDATE meta SET value = 'x'",
        "UPDATE meta SET value = '[]'",
        "UPDATE meta SET value = 9223372036854775807",
        "UPDATE file_history SET touches = x'01'",
        "UPDATE file_history SET path = '../outside'",
        "INSERT INTO copies VALUES ('a', '/etc/passwd', 0.5)",
        "INSERT INTO copies VALUES ('a', 'b', 9.0)",
        "CREATE VIEW extra AS SELECT load_extension('extra')",
        "CREATE TRIGGER extra AFTER INSERT ON meta BEGIN SELECT randomblob(9); END",
        "DROP TABLE copies",
        "ALTER TABLE files ADD COLUMN extra",
        "UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER NOT', 'TEXT NOT') WHERE name = 'files'",
        "PRAGMA user_version = 7",
        "UPDATE paths_fts_data SET block = x'00' WHERE id > 10",
    ],
)
@pytest.mark.usefixtures("bare_data_dir")
def test_catalogue_with_other_rows_or_tables_is_refused(change: str) -> None:
    with pytest.raises(WireError):
        unpacked_catalogue(1, catalogue(change))


@pytest.mark.parametrize(
    "head",
    [
        {"files": np.array([0, 1, 1], np.int32)},
        {"files": np.array([0, -5], np.int32)},
        {"files": [0, 1]},
        {"tokens": np.ones((1, 2), np.uint16)},
        {"upto": 2**40},
        {"mean": 0.0},
        {"mean": float("inf")},
        {"languages": [7]},
    ],
)
@pytest.mark.usefixtures("bare_data_dir")
def test_catalogue_with_other_columns_is_refused(head: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        unpacked_catalogue(1, catalogue(head=head))


@pytest.mark.usefixtures("bare_data_dir")
def test_catalogue_that_unpacks_to_very_much_is_refused_and_deleted(bare_data_dir: Path) -> None:
    packing = zlib.compressobj(1)
    bomb = packing.compress((5).to_bytes(4, "little")) + b"".join(
        itertools.islice(iter(lambda: packing.compress(bytes(1_000_000)), None), 400)
    )
    bomb += packing.flush()
    for packed in (bomb, catalogue()[:200], zlib.compress(b"\xff" * 4), b""):
        with pytest.raises(WireError):
            unpacked_catalogue(1, packed)
    assert not list((bare_data_dir / "team").iterdir())


# --- reads -------------------------------------------------------------------------------------

_CHUNK = Chunk(0, 0, 2, "def moor(): ...", ChunkType.CODE)
_STORED = StoredChunk(1, "src/berths.py", "source", "c", _CHUNK, "00")
_OUTLINE = Outline(1, "src/berths.py", "source", 0, "code", "moor", "function", '["moor"]', "", True)


def test_each_read_has_a_type_of_answer() -> None:
    check(ANSWERS["chunks"], {1: _STORED})
    check(ANSWERS["outlines"], {1: _OUTLINE})


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("chunks", {1: evolve(_STORED, path="../../.ssh/id_rsa")}),
        ("chunks", {1: evolve(_STORED, path="/etc/shadow")}),
        ("chunks", {1: evolve(_STORED, id=-1)}),
        ("chunks", {1: evolve(_STORED, chunk=evolve(_CHUNK, start_line=3))}),
        ("chunks", {1: evolve(_STORED, chunk=None)}),
        ("chunks", {"1": _STORED}),
        ("chunks", [_STORED]),
        ("between", [_OUTLINE]),
        ("outlines", {1: _OUTLINE._replace(names="{}")}),
        ("outlines", {1: _OUTLINE._replace(names="[" * 9_000)}),
        ("keywords", [Hit(1, float("inf"))]),
        ("keywords", [Hit(2**60, 1.0)]),
        ("keywords", [Hit("1", 1.0)]),  # type: ignore[arg-type]
        ("is_named", 1),
        ("postings", {"a": Postings(np.array([2, 1], np.int32), np.ones(2, np.uint8), np.ones(2, np.uint8))}),
        ("postings", {"a": Postings(np.array([0], np.int32), np.ones(1, np.uint8), np.ones(1, np.uint8))}),
        ("postings", {"a": Postings(np.array([1], np.int32), np.ones(2, np.uint8), np.ones(1, np.uint8))}),
        ("postings", {"a": Postings(np.array([1]), np.ones(1, np.uint8), np.ones(1, np.uint8))}),
        ("static_vectors", (np.array([1]), np.ones(4, np.int8))),
        ("documents", None),
    ],
)
def test_answers_of_another_type_are_refused(name: str, answer: Any) -> None:
    with pytest.raises(WireError):
        check(ANSWERS[name], answer)


def test_hostile_answers_open_no_file_and_end_in_a_sentence(
    town: Town, tmp_path: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = town.harbour.clone(tmp_path / "harbour")
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", town.ada)
    monkeypatch.setenv("CAIRN_TEAM__URL", town.url)
    repository = Path(__file__).parents[2]
    allowed = [clone.folder, bare_data_dir, tmp_path / "no-settings", repository, Path(sys.base_prefix)]
    port = town.served.port
    with elsewhere(port, 7) as hostile, Watch(allowed) as watch:
        monkeypatch.setattr(hostile_server, "_QUESTIONS_A_ROUND", 6)
        figures = attack(clone.folder, hostile, 5, 60, 7, watch)
    assert not figures["examples"]
    assert sum(count for kind, count in figures["answers"].items() if "changed" in kind) > 50
