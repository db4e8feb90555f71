"""The command line as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cairn import __version__
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.lock import writer_lock
from cairn.paths import workspace_dir


def cairn(*arguments: str, code: int = 0, cwd: Path | None = None) -> str:
    """Run `cairn`; its stdout, or its stderr where it is expected to fail with `code`."""
    done = subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code else done.stdout


_ESCAPES = re.compile("\x1b\\[[0-9;]*m|\x1b\\]8;[^\x1b]*\x1b\\\\\\\\")


def seen(*arguments: str, cwd: Path | None = None) -> str:
    """What a person sees on a terminal, without its colours."""
    return _ESCAPES.sub("", cairn(*arguments, "--color", "always", cwd=cwd))


def cairn_json(*arguments: str) -> Any:
    return json.loads(cairn(*arguments, "--json"))


def test_the_version_tells_this_cairn_from_other_programs_of_that_name() -> None:
    assert cairn("--version") == f"cairn, version {__version__} (cairn-ls)\n"


@pytest.mark.usefixtures("bare_data_dir")
def test_index_search_discover_and_status(workspace: Path) -> None:
    folder = str(workspace)
    (workspace / "logo.png").write_bytes(b"\x89PNG")
    status = cairn_json("index", folder)
    assert (status["state"], status["skipped"]) == ("ready", {"built-in: binary file type": 1})
    status = cairn_json("status", folder)
    assert status["state"] == "ready"
    assert {"harbour-source", "harbour-tests", "harbour-docs"} <= {c["name"] for c in status["collections"]}
    answer = cairn_json("search", "where are ships assigned to berths", "-C", folder, "-n", "3")
    assert answer["results"][0]["path"] == "src/harbour/schedule.py"
    assert len(answer["results"]) == 3
    shown = seen("search", "moor_ship", "-C", folder, "--explain")
    assert "src/harbour/berths.py:" in shown
    assert "defines the symbol" in shown
    found = cairn_json("discover", "how are ships assigned to berths", "-C", folder, "--max-bullets", "2")
    assert 1 <= len(found["bullets"]) <= 2
    shown = seen("discover", "how are ships assigned to berths", cwd=workspace)
    first = found["excerpts"][0]
    assert f" 1  {first['citation']}" in shown
    assert first["text"].splitlines()[-1] in shown
    assert "## Instructions" not in shown
    prompt = cairn("discover", "how are ships assigned to berths", "--prompt", cwd=workspace)
    assert prompt.startswith("## Question\nhow are ships assigned to berths\n\n## Instructions\n")


@pytest.mark.usefixtures("bare_data_dir")
def test_a_second_run_touches_only_what_changed(workspace: Path) -> None:
    first = cairn_json("index", str(workspace))
    (workspace / "src" / "harbour" / "tides.py").write_text("def low_water():\n    return 0\n")
    os.utime(workspace / "src" / "harbour" / "berths.py")  # touched, but the text is the same
    (workspace / "README.md").unlink()
    second = cairn_json("index", str(workspace))
    assert second["files"]["indexed"] == first["files"]["indexed"] - 1
    assert second["queued"] == 0
    paths = {r["path"] for r in cairn_json("search", "low_water", "-C", str(workspace))["results"]}
    assert "src/harbour/tides.py" in paths
    assert "README.md" not in paths


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("wanted", [["src/harbour/tides.py"], ["src"], []])
def test_reindex_takes_in_what_looks_unchanged(workspace: Path, wanted: list[str]) -> None:
    tides = workspace / "src" / "harbour" / "tides.py"
    os.utime(tides, (1_700_000_000, 1_700_000_000))
    cairn("index", str(workspace))
    tides.write_text(tides.read_text().replace("high_water", "deep_water"))
    os.utime(tides, (1_700_000_000, 1_700_000_000))
    assert "deep_water" not in cairn("search", "deep water", "-C", str(workspace))
    cairn("reindex", *wanted, cwd=workspace)
    (first, *_) = cairn_json("search", "deep_water", "-C", str(workspace))["results"]
    assert (first["path"], first["symbol"]) == ("src/harbour/tides.py", "deep_water")


@pytest.mark.usefixtures("model_data_dir")
def test_status_of_an_index_that_nobody_completes_says_so(workspace: Path) -> None:
    for part in range(300):
        words = " ".join(f"word{part * 40 + n}" for n in range(40))
        (workspace / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    cairn("search", "moor_ship", "-C", str(workspace), "--no-wait")  # ends before the vectors are made
    status = cairn_json("status", str(workspace))
    assert status["queued"] > 0
    assert status["state"] == "degraded"
    assert "no process is indexing" in status["lastError"]
    shown = cairn("status", str(workspace))
    assert "no process is indexing" in shown
    assert not shown.startswith("indexing")


@pytest.mark.usefixtures("bare_data_dir")
def test_status_of_a_folder_that_was_never_indexed(workspace: Path) -> None:
    status = cairn_json("status", str(workspace))
    assert (status["state"], status["chunks"], status["searchable"]) == ("starting", 0, False)
    assert "run `cairn index`" in cairn("status", str(workspace))


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
    (("search", "x", "--limit", "0"), 2, "limit: expected 1 to 200"),
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
    (("related", "README.md:9-3"), 2, "must not end before they begin"),
    (("related", "README.md:999"), 2, "README.md has 7 lines, got line 999"),
    (("related", "nope.md:1"), 1, "give a path as in Cairn's answers"),
    (("related", "logo.png:1"), 1, "logo.png"),
    (("related", f"{__file__}:1"), 1, "name its folder with -C"),
    (("callers", " "), 2, "name: is empty; give a name, Owner.name or FILE:LINE"),
    (("callers", "x", "--depth", "9"), 2, "depth: expected 1 to 5, got 9"),
    (("callees", "x", "-n", "2000"), 2, "limit: expected 0 to 1,000, got 2000"),
    (("callees", "nope.py:3"), 1, "give a path as in Cairn's answers"),
    (("callees", "README.md:999"), 2, "README.md has 7 lines, got line 999"),
    (("callers", "logo.png:1"), 1, "has no line 1 that is indexed"),
    (("context", "README.md:x"), 2, "expected FILE:LINE or FILE:LINE:COLUMN"),
    (("context", "README.md:1:0"), 2, "lines and columns count from 1"),
    (("context", "README.md:1", "--budget", "-1"), 2, "budget: expected 0 to 100,000"),
    (("page", "src/nope.md"), 1, "give a path as in Cairn's answers"),
    (("page", "nope.md"), 1, "there is no 'nope.md'"),
    (("page", "src"), 1, "is a directory"),
    (("page", __file__), 1, "name its folder with -C"),
    (("call", "serch"), 2, "did you mean search?"),
    (("call", "search", "{"), 2, "params: are not JSON"),
    (("call", "search", "[]"), 2, "expected an object"),
    (("call", "search", "{}"), 2, "query: is required"),
    (("call", "search", '{"query": "x", "limt": 2}'), 2, "unknown field; did you mean limit?"),
    (("call", "fetchPage", '{"path": "../x"}'), 1, "is not in the workspace folder"),
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
    (("model", "install", "no/such/folder"), 1, "no/such/folder"),
    (("completion", "tcsh"), 2, "is not one of 'bash', 'zsh', 'fish'"),
    (("search", "x", "--color", "pink"), 2, "is not one of 'auto', 'always', 'never'"),
    (("serach",), 2, "No such command 'serach'. Did you mean 'search'?"),
]


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize(("arguments", "code", "message"), BAD)
def test_bad_input_fails_with_one_clear_line(
    workspace: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (workspace / "logo.png").write_bytes(b"\x89PNG\0")
    shown = cairn(*arguments, code=code, cwd=workspace)
    first, *rest = shown.splitlines()
    assert first.startswith("cairn: ")
    assert message in first
    assert [line for line in rest if "--help` for its usage" not in line] == []


@pytest.mark.usefixtures("bare_data_dir")
def test_callers_and_callees_are_shown_with_their_code(workspace: Path) -> None:
    folder, schedule = str(workspace), "src/harbour/schedule.py"
    shown = seen("callers", "Berth.moor_ship", "-C", folder).splitlines()
    assert shown[:2] == [
        "src/harbour/berths.py:11  Berth.moor_ship  method",
        "    11  def moor_ship(self, ship):",
    ]
    number = next(n for n, line in enumerate(shown) if line.startswith(f"    {schedule}:11  assign_berths  "))
    assert shown[number + 1] == "        11  berth.moor_ship(ship)"
    found = cairn_json("callers", "Berth.moor_ship", "-C", folder)
    assert {each["path"] for each in found["references"]} == {schedule, "tests/test_berths.py"}
    # A place relative to the current directory, as a shell completes it.
    here = seen("callees", "schedule.py:9", "-C", "../..", cwd=workspace / "src" / "harbour").splitlines()
    assert here[0] == f"{schedule}:6  assign_berths  function"
    assert here[-1] == "        11  berth.moor_ship(ship)"
    assert "    sorted  not in the workspace" in here
    (workspace / "other").mkdir()
    several = cairn_json(
        "callers", f"{workspace / schedule}:6:5", "-C", folder, "-C", str(workspace / "other")
    )
    assert [place["symbol"] for place in several["definitions"]] == ["assign_berths"]
    assert "Nothing is called asign_berths. Did you mean assign_berths?" in seen(
        "callers", "asign_berths", "-C", folder
    )


@pytest.mark.usefixtures("bare_data_dir")
def test_related_context_and_page(workspace: Path) -> None:
    schedule = "src/harbour/schedule.py"
    found = cairn_json("related", "src/harbour/berths.py:4-17", "-C", str(workspace))
    assert {schedule, "tests/test_berths.py"} <= {result["path"] for result in found["results"]}
    citation = cairn_json("related", "src/harbour/berths.py#L4-L17", "-C", str(workspace))
    assert citation["results"] == found["results"]
    assert f"{schedule}:" in cairn("related", "berths.py:4", "-C", "../..", cwd=workspace / "src" / "harbour")

    place = cairn_json("context", f"{schedule}:6:5", "-C", str(workspace))["place"]
    assert (place["path"], place["symbol"]) == (schedule, "assign_berths")
    asked = cairn_json("context", f"{schedule}:6", "--ask", "high water", "-C", str(workspace))
    assert asked["passages"][0]["result"]["path"] == "src/harbour/tides.py"
    shown = cairn("context", f"{schedule}:6", "-C", str(workspace))
    assert "## Relevant passages" in shown

    text = (workspace / schedule).read_text()
    assert cairn("page", schedule, "-C", str(workspace)) == text
    assert cairn("page", "schedule.py", "-C", "../..", cwd=workspace / "src" / "harbour") == text
    assert cairn_json("page", str(workspace / schedule), "-C", str(workspace))["text"] == text


@pytest.mark.usefixtures("bare_data_dir")
def test_any_method_is_called_by_its_name(workspace: Path) -> None:
    found = json.loads(cairn("call", "search", '{"query": "moor_ship", "limit": 1}', cwd=workspace))
    asked = cairn_json("search", "moor_ship", "-n", "1", "-C", str(workspace))
    assert [result["uri"] for result in found["results"]] == [result["uri"] for result in asked["results"]]
    assert found["query"] == asked["query"]
    collections = json.loads(cairn("call", "cairn/collections", cwd=workspace))
    assert "harbour-source" in {collection["name"] for collection in collections}
    piped = subprocess.run(
        [sys.executable, "-m", "cairn", "call", "filterCollections", "-"],
        input='{"query": "ships", "include": ["*-docs"]}',
        capture_output=True,
        text=True,
        cwd=workspace,
        check=True,
    )
    assert [each["name"] for each in json.loads(piped.stdout)["collections"]] == ["harbour-docs"]


@pytest.mark.usefixtures("bare_data_dir")
def test_a_call_to_reindex_ends_when_that_is_done(workspace: Path) -> None:
    tides = workspace / "src" / "harbour" / "tides.py"
    os.utime(tides, (1_700_000_000, 1_700_000_000))
    cairn("index", str(workspace))
    tides.write_text(tides.read_text().replace("high_water", "deep_water"))
    os.utime(tides, (1_700_000_000, 1_700_000_000))
    answer = json.loads(cairn("call", "reindex", '{"path": "src"}', cwd=workspace))
    assert answer == {"scheduled": True}
    (first, *_) = cairn_json("search", "deep_water", "-C", str(workspace))["results"]
    assert first["symbol"] == "deep_water"


@pytest.mark.usefixtures("bare_data_dir")
def test_several_folders_are_asked_at_once(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "yard"
    other.mkdir()
    (other / "cranes.py").write_text("def moor_ship(crane):\n    return crane\n")
    folders = ("-C", str(workspace), "-C", str(other))
    found = cairn_json("search", "moor_ship", *folders)
    assert {"cranes.py", "src/harbour/berths.py"} <= {result["path"] for result in found["results"]}
    shown = seen("search", "moor_ship", *folders)
    assert "cranes.py:1-2 (yard)" in shown
    assert "(harbour)" in shown
    called = json.loads(cairn("call", "collections", *folders))
    assert {collection["folder"] for collection in called} == {workspace.as_uri(), other.as_uri()}
    assert cairn("page", "cranes.py", *folders).startswith("def moor_ship(crane)")


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cairn", run_name="__main__", alter_sys=True)
"""
"""`cairn` that can be interrupted, also where a shell started the tests in the background: that has SIGINT
ignored, by whatever is started from there, too."""


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.skipif(sys.platform == "win32", reason="nobody can send Ctrl+C to one process there")
def test_an_interrupt_ends_with_its_own_exit_code(workspace: Path) -> None:
    cairn("index", str(workspace))
    data = workspace_dir(workspace)
    with writer_lock(data).acquire(blocking=False):  # who is asked to index anew never does it
        command = [sys.executable, "-c", INTERRUPTIBLE, "reindex", "-C", str(workspace), "--json"]
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        reader = SqliteReader(data)
        until = time.monotonic() + 60
        while not reader.has_requests() and time.monotonic() < until:
            time.sleep(0.02)
        assert reader.has_requests()
        waiting.send_signal(signal.SIGINT)
        stdout, stderr = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert stderr.endswith("cairn: interrupted; what is indexed is kept\n")
    assert json.loads(stdout)["error"]["code"] == "interrupted"


def test_an_unwritable_data_folder_is_an_error_that_says_what_to_do(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("CAIRN_DATA_DIR", str(blocked / "data"))
    assert "CAIRN_DATA_DIR" in cairn("index", str(workspace), code=1)


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize("inside", ["", ".."])
def test_serve_does_not_index_the_home_folder_by_accident(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.setenv("USERPROFILE", str(workspace))
    said = cairn("serve", "--port", "0", "--lsp-port", "0", code=1, cwd=workspace / inside)
    assert "is not indexed unless you name it" in said
    assert "`cairn serve FOLDER`" in said


@pytest.mark.usefixtures("bare_data_dir")
def test_a_damaged_index_is_set_aside_and_rebuilt(workspace: Path, bare_data_dir: Path) -> None:
    cairn("index", str(workspace))
    (database,) = (bare_data_dir / "workspaces").glob("*/index.db")
    database.write_bytes(b"this is no database" * 1000)
    status = cairn_json("index", str(workspace))
    assert status["files"]["indexed"] == 6
    assert "was damaged" in status["lastError"]
    assert list(database.parent.glob("index.db.damaged-*"))
