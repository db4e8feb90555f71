"""The command line as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cairn import __version__
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.coordination import writer_lock
from cairn.index.store.writer import IndexWriter
from cairn.paths import workspace_dir
from tests.serving import wait_for

from .command_line import run_cairn, run_cairn_json, without_progress
from .index_files import index_path
from .written_files import rename_unnoticed

bare = pytest.mark.usefixtures("bare_data_dir")


def cairn(*arguments: str, code: int = 0, cwd: Path | None = None) -> str:
    """Run `cairn`, and return its stdout, or its stderr where it fails with `code`."""
    done = run_cairn(*arguments, code=code, cwd=cwd)
    return without_progress(done.stderr) if code else done.stdout


_ESCAPES = re.compile("\x1b\\[[0-9;]*m|\x1b\\]8;[^\x1b]*\x1b\\\\\\\\")


def seen(*arguments: str, cwd: Path | None = None) -> str:
    """Return what a terminal shows, without colours and links."""
    return _ESCAPES.sub("", cairn(*arguments, "--color", "always", cwd=cwd))


def test_the_version_names_the_distribution() -> None:
    assert cairn("--version") == f"cairn, version {__version__} (cairn-ls)\n"


@bare
def test_index_search_discover_and_status(workspace: Path) -> None:
    folder = str(workspace)
    (workspace / "logo.png").write_bytes(b"\x89PNG")
    status = run_cairn_json("index", folder)
    assert (status["state"], status["skipped"]) == ("ready", {"built-in: binary file type": 1})
    status = run_cairn_json("status", folder)
    assert status["state"] == "ready"
    assert {"harbour-source", "harbour-tests", "harbour-docs"} <= {c["name"] for c in status["collections"]}
    answer = run_cairn_json("search", "where are ships assigned to berths", "-C", folder, "-n", "3")
    assert answer["results"][0]["path"] == "src/harbour/schedule.py"
    assert len(answer["results"]) == 3
    shown = seen("search", "moor_ship", "-C", folder, "--explain")
    assert "src/harbour/berths.py:" in shown
    assert "defines the symbol" in shown
    found = run_cairn_json("discover", "how are ships assigned to berths", "-C", folder, "--max-bullets", "2")
    assert 1 <= len(found["bullets"]) <= 2
    shown = seen("discover", "how are ships assigned to berths", cwd=workspace)
    first = found["excerpts"][0]
    path, numbers = first["path"], f"{first['range']['start']['line'] + 1}-{first['range']['end']['line']}"
    assert f"{path}\n  :{numbers}  {first['symbol']}  " in shown
    assert f"More on request\n  {found['elsewhere'][0]['path']}:" in shown
    assert first["text"].splitlines()[-1] in shown
    assert "## Instructions" not in shown
    prompt = cairn("discover", "how are ships assigned to berths", "--prompt", cwd=workspace)
    assert prompt.startswith("## Question\nhow are ships assigned to berths\n\n## Instructions\n")


@bare
def test_status_and_index_name_binary_files_that_are_named_as_text(workspace: Path) -> None:
    for name in ("tides.py", "a.toml", "b.md", "c.json"):
        (workspace / name).write_bytes(b"\0\1\2\3" * 9)
    (workspace / "chart").write_bytes(b"\0\1\2\3" * 9)  # Its name says nothing.
    (workspace / "ferry.py").write_bytes(b"END = '\0'\n")
    named = "4 files named as text were left out as binary: a.toml, b.md, c.json and 1 more"
    assert seen("index", str(workspace)).rstrip().endswith(named)
    assert seen("status", str(workspace)).rstrip().endswith(named)
    for name in ("a.toml", "b.md", "c.json"):
        (workspace / name).unlink()
    seen("index", str(workspace))
    assert "1 file named as text was left out as binary: tides.py" in seen("status", str(workspace))
    (workspace / "tides.py").write_text("TIDES = []\n")
    assert "named as text" not in seen("index", str(workspace))


@bare
def test_a_second_index_reads_only_the_changes(workspace: Path) -> None:
    first = run_cairn_json("index", str(workspace))
    (workspace / "src/harbour/tides.py").write_text("def low_water():\n    return 0\n")
    os.utime(workspace / "src/harbour/berths.py")  # a new time, but the same text
    (workspace / "README.md").unlink()
    second = run_cairn_json("index", str(workspace))
    assert second["files"]["indexed"] == first["files"]["indexed"] - 1
    assert second["queued"] == 0
    paths = {r["path"] for r in run_cairn_json("search", "low_water", "-C", str(workspace))["results"]}
    assert "src/harbour/tides.py" in paths
    assert "README.md" not in paths


@bare
@pytest.mark.parametrize(
    "command",
    [
        ("reindex", "src/harbour/tides.py"),
        ("reindex", "src"),
        ("reindex",),
        ("call", "reindex", '{"path": "src"}'),
    ],
)
def test_reindex_reads_files_that_look_unchanged(
    workspace: Path, tides: Path, command: tuple[str, ...]
) -> None:
    cairn("index", str(workspace))
    rename_unnoticed(tides)
    assert "deep_water" not in cairn("search", "deep water", "-C", str(workspace))
    shown = cairn(*command, cwd=workspace)
    assert command[0] == "reindex" or json.loads(shown) == {"scheduled": True}
    (first, *_) = run_cairn_json("search", "deep_water", "-C", str(workspace))["results"]
    assert (first["path"], first["symbol"]) == ("src/harbour/tides.py", "deep_water")


@pytest.mark.usefixtures("bare_data_dir")
def test_status_says_that_no_process_completes_the_index(workspace: Path) -> None:
    cairn("index", str(workspace))
    data = workspace_dir(workspace)
    with writer_lock(data).acquire(), closing(IndexWriter(data)) as writer:
        writer.note(static=0, static_queued=3)  # as after a process that ended before the vectors were made
    status = run_cairn_json("status", str(workspace))
    assert (status["queued"], status["state"]) == (3, "degraded")
    assert "no process is indexing" in status["lastError"]
    shown = cairn("status", str(workspace))
    assert "no process is indexing" in shown
    assert not shown.startswith("indexing")


@bare
def test_status_of_a_folder_without_an_index(workspace: Path) -> None:
    status = run_cairn_json("status", str(workspace))
    assert (status["state"], status["chunks"], status["searchable"]) == ("starting", 0, False)
    assert "Run `cairn index`" in cairn("status", str(workspace))


BAD = [
    (
        ("index", "no/such/folder"),
        1,
        "no/such/folder is not a directory that can be read; name a project's folder",
    ),
    (("search", "x", "-C", "no/such/folder"), 1, "not a directory"),
    (("search", "x", "-C", ".", "-C", "no/such/folder"), 1, "not a directory"),
    (("index", "README.md"), 1, "README.md is a file, not a directory"),
    (("status", "README.md"), 1, "README.md is a file, not a directory"),
    (("search", ""), 2, "query: is empty; ask a question"),
    (("discover", "  "), 2, "query: is empty"),
    (("search", "x", "--limit", "0"), 2, "limit: expected 1 to 10,000"),
    (("search", "x", "--limit", "many"), 2, "not a valid integer"),
    (("search", "x", "--type", "novel"), 2, "'novel' is not a type; expected one of prose, code"),
    (("search", "x", "--type", "porse"), 2, "did you mean prose?"),
    (("search", "x", "--language", "pyton"), 1, "did you mean python?"),
    (("search", "x", "--path", "[z"), 2, "has a bracket that is not closed"),
    (("search", "x", "--alpha", "7"), 2, "alpha: expected 0 to 1"),
    (("search", "x", "--collection", "harbour-sourc"), 1, "did you mean harbour-source?"),
    (("search", "x", "--collection", "zzz"), 1, "there are harbour-config, harbour-docs"),
    (("search",), 2, "Missing argument"),
    (("discover", "x", "--include", "zz*"), 1, "no collection matches zz*; there are harbour-config"),
    (("discover", "x", "--format", "xml"), 2, "is not one of 'markdown', 'plain', 'json'"),
    (("discover", "x", "--max-bullets", "-1"), 2, "maxBullets: expected 0 to 1,000"),
    (("related", "README.md"), 2, "expected FILE:LINE or FILE:LINE-LINE"),
    (("related", "README.md:0"), 2, "lines count from 1"),
    (("related", "README.md:9-3"), 2, "lines count from 1, the first one first"),
    (("related", "README.md:999"), 2, "README.md has 7 lines, got line 999"),
    (("related", "nope.md:1"), 1, "give a path as in Cairn's answers"),
    (("related", "logo.png:1"), 1, "logo.png"),
    (("related", f"{__file__}:1"), 1, "name its folder with -C"),
    (("callers", " "), 2, "name: is empty; give a name, Owner.name or FILE:LINE"),
    (("callers", "x", "--depth", "9"), 2, "depth: expected 1 to 5, got 9"),
    (("callees", "x", "-n", "2000"), 2, "limit: expected 0 to 1,000, got 2000"),
    (("callees", "nope.py:3"), 1, "there is no 'nope.py'"),
    (("callees", "README.md:999"), 2, "README.md has 7 lines, got line 999"),
    (("callers", "logo.png:1"), 1, "has no line 1 that is indexed"),
    (("context", "README.md:x"), 2, "expected FILE:LINE or FILE:LINE:COLUMN"),
    (("context", "README.md:1:0"), 2, "columns count from 1"),
    (("context", "README.md:1", "--budget", "-1"), 2, "budget: expected 0 to 100,000"),
    (("page", "src/nope.md"), 1, "there is no 'src/nope.md'"),
    (("page", "nope.md"), 1, "there is no 'nope.md'"),
    (("page", "src"), 1, "is a directory"),
    (("page", __file__), 1, "name its folder with -C"),
    (("call", "serch"), 2, "did you mean search?"),
    (("call", "search", "{"), 2, "params: are not JSON"),
    (("call", "search", "[]"), 2, "expected an object"),
    (("call", "search", '{"query": "x", "limt": 2}'), 2, "unknown field; did you mean limit?"),
    (("reindex", "no/such.py"), 1, "path: there is no"),
    (("reindex", "../elsewhere"), 1, "is not in the folder"),
    (("reindex", "-C", "no/such/folder"), 1, "not a directory"),
    (("pause",), 1, "no process is indexing"),
    (("resume",), 1, "no process is indexing"),
    (("call", "pause"), 1, "no process is indexing"),
    (("pause", "no/such/folder"), 1, "not a directory"),
    (("feedback", "no/such/folder"), 1, "not a directory"),
    (("doctor", "-C", "no/such/folder"), 1, "not a directory"),
    (("doctor", "--why", "nope.md"), 1, "does not exist"),
    (("model", "install", "--json"), 1, "installs no further model any more"),
    (("completion", "tcsh"), 2, "is not one of 'bash', 'zsh', 'fish'"),
    (("search", "x", "--color", "pink"), 2, "is not one of 'auto', 'always', 'never'"),
    (("serach",), 2, "No such command 'serach'. Did you mean 'search'?"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), BAD)
def test_bad_input_fails_with_one_clear_line(
    indexed_harbour: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (indexed_harbour / "logo.png").write_bytes(b"\x89PNG\0")
    shown = cairn(*arguments, code=code, cwd=indexed_harbour)
    first, *rest = shown.splitlines()
    assert first.startswith("cairn: ")
    assert message in first
    assert [line for line in rest if "--help` for its usage" not in line] == []


def test_callers_and_callees_are_shown_with_their_code(indexed_harbour: Path, tmp_path: Path) -> None:
    folder, schedule = str(indexed_harbour), "src/harbour/schedule.py"
    shown = seen("callers", "Berth.moor_ship", "-C", folder).splitlines()
    assert shown[:2] == [
        "src/harbour/berths.py:11  Berth.moor_ship  method",
        "    11  def moor_ship(self, ship):",
    ]
    number = next(n for n, line in enumerate(shown) if line.startswith(f"    {schedule}:11  assign_berths  "))
    assert shown[number + 1] == "        11  berth.moor_ship(ship)"
    found = run_cairn_json("callers", "Berth.moor_ship", "-C", folder)
    assert {each["path"] for each in found["references"]} == {schedule, "tests/test_berths.py"}
    # A place relative to the current directory, as a shell completes it.
    inner = indexed_harbour / "src/harbour"
    here = seen("callees", "schedule.py:9", "-C", "../..", cwd=inner).splitlines()
    assert here[0] == f"{schedule}:6  assign_berths  function"
    assert here[-1] == "        11  berth.moor_ship(ship)"
    assert "    sorted  not in the workspace" in here
    (tmp_path / "other").mkdir()
    folders = ("-C", folder, "-C", str(tmp_path / "other"))
    uses = run_cairn_json("callers", "Berth.moor_ship", "--uses", "-C", folder)
    assert uses == {**run_cairn_json("uses", "Berth.moor_ship", "-C", folder), "timings": uses["timings"]}
    tests = run_cairn_json("callers", "Berth.moor_ship", "--no-tests", "-C", folder)
    assert all(not each["path"].startswith("tests/") for each in tests["references"])
    several = run_cairn_json("callers", f"{indexed_harbour / schedule}:6:5", *folders)
    assert [place["symbol"] for place in several["definitions"]] == ["assign_berths"]
    shown_wrong = seen("callers", "asign_berths", "-C", folder)
    assert "Nothing is called asign_berths. Did you mean assign_berths?" in shown_wrong


def test_related_context_and_page(indexed_harbour: Path) -> None:
    schedule, inner = "src/harbour/schedule.py", indexed_harbour / "src/harbour"
    folder = ("-C", str(indexed_harbour))
    found = run_cairn_json("related", "src/harbour/berths.py:4-17", *folder)
    assert {schedule, "tests/test_berths.py"} <= {result["path"] for result in found["results"]}
    citation = run_cairn_json("related", "src/harbour/berths.py#L4-L17", *folder)
    assert citation["results"] == found["results"]
    assert "tests/test_berths.py:" in cairn("related", "berths.py:4", "-C", "../..", cwd=inner)

    place = run_cairn_json("context", f"{schedule}:6:5", *folder)["place"]
    assert (place["path"], place["symbol"]) == (schedule, "assign_berths")
    asked = run_cairn_json("context", f"{schedule}:6", "--ask", "high water", *folder)
    assert asked["passages"][0]["result"]["path"] == "src/harbour/tides.py"
    assert "## Relevant passages" in cairn("context", f"{schedule}:6", *folder)

    text = (indexed_harbour / schedule).read_text()
    assert seen("page", schedule, *folder) == text
    numbered = [f"{number}:{line}" for number, line in enumerate(text.splitlines(), 1)]
    assert cairn("page", schedule, *folder).splitlines()[1:] == numbered
    assert cairn("page", "schedule.py", "-C", "../..", cwd=inner).splitlines()[1:] == numbered
    assert run_cairn_json("page", str(indexed_harbour / schedule), *folder)["text"] == text


def test_call_calls_any_method_by_its_name(indexed_harbour: Path) -> None:
    def call(*arguments: str, stdin: str | None = None) -> Any:
        return json.loads(run_cairn("call", *arguments, cwd=indexed_harbour, stdin=stdin).stdout)

    found = call("search", '{"query": "moor_ship", "limit": 1}')
    same = run_cairn_json("search", "moor_ship", "-n", "1", "-C", str(indexed_harbour))
    assert [result["uri"] for result in found["results"]] == [result["uri"] for result in same["results"]]
    assert found["query"] == same["query"]
    collections = call("cairn/collections")
    assert "harbour-source" in {collection["name"] for collection in collections}
    piped = call("filterCollections", "-", stdin='{"query": "ships", "include": ["*-docs"]}')
    assert [each["name"] for each in piped["collections"]] == ["harbour-docs"]


@bare
def test_a_search_covers_several_folders(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "yard"
    other.mkdir()
    (other / "cranes.py").write_text("def moor_ship(crane):\n    return crane\n")
    folders = ("-C", str(workspace), "-C", str(other))
    found = run_cairn_json("search", "moor_ship", *folders)
    assert {"cranes.py", "src/harbour/berths.py"} <= {result["path"] for result in found["results"]}
    shown = seen("search", "moor_ship", *folders)
    assert "cranes.py:1-2 (yard)" in shown
    assert "(harbour)" in shown
    called = json.loads(cairn("call", "collections", *folders))
    assert {collection["folder"] for collection in called} == {workspace.as_uri(), other.as_uri()}
    assert "\n1:def moor_ship(crane):\n" in cairn("page", "cranes.py", *folders)


def test_a_session_prints_no_line_twice(indexed_harbour: Path) -> None:
    def page(*places: str) -> str:
        return cairn("page", *places, "--session", "berths", "-C", str(indexed_harbour))

    assert "4:class Berth:" in page("src/harbour/berths.py:1-8", "moor_ship")
    assert "4-8 shown above (--again repeats them)" in page("src/harbour/berths.py:4-10")
    assert "4:class Berth:" in page("src/harbour/berths.py:4-10", "--again")
    shown = cairn("discover", "where is a ship moored", "--session", "berths", "-C", str(indexed_harbour))
    assert "def moor_ship" not in shown
    other = run_cairn("page", "README.md", "--session", "a/b", "-C", str(indexed_harbour), code=1)
    assert "cannot name a session" in other.stderr


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cairn", run_name="__main__", alter_sys=True)
"""
"""`cairn` that can be interrupted, even if the tests run in the background of a shell that ignores SIGINT."""


@bare
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C reaches all processes there")
def test_an_interrupt_ends_with_its_own_exit_code(workspace: Path) -> None:
    cairn("index", str(workspace))
    data = workspace_dir(workspace)
    with writer_lock(data).acquire(blocking=False):  # keeps the request to reindex from being answered
        command = [sys.executable, "-c", INTERRUPTIBLE, "reindex", "-C", str(workspace), "--json"]
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(SqliteReader(data).has_requests)
        waiting.send_signal(signal.SIGINT)
        stdout, stderr = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert stderr.endswith("cairn: interrupted; what is indexed is kept\n")
    assert json.loads(stdout)["error"]["code"] == "interrupted"


def test_an_error_about_the_data_folder_names_its_variable(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("CAIRN_DATA_DIR", str(blocked / "data"))
    assert "CAIRN_DATA_DIR" in cairn("index", str(workspace), code=1)


@bare
@pytest.mark.parametrize("inside", ["", ".."])
def test_serve_indexes_the_home_folder_only_if_it_is_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.setenv("USERPROFILE", str(workspace))
    said = cairn("serve", "--port", "0", "--lsp-port", "0", code=1, cwd=workspace / inside)
    assert "is not indexed unless you name it" in said
    assert "`cairn serve FOLDER`" in said


@bare
def test_a_damaged_index_is_set_aside_and_rebuilt(workspace: Path, bare_data_dir: Path) -> None:
    cairn("index", str(workspace))
    database = index_path(bare_data_dir)
    database.write_bytes(b"this is not a database" * 1000)
    status = run_cairn_json("index", str(workspace))
    assert status["files"]["indexed"] == 6
    assert "was damaged" in status["lastError"]
    assert list(database.parent.glob("index.db.damaged-*"))


def test_an_interrupt_at_the_start_leaves_no_traceback() -> None:
    script = (
        "import sys, cairn.attach.answered_commands as commands\n"
        "def interrupted(arguments): raise KeyboardInterrupt\n"
        "commands.answered, sys.argv = interrupted, ['cairn', 'status']\n"
        "from cairn.__main__ import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
