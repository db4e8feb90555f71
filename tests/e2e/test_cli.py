"""The command line as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cairn import __version__


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


def cairn_json(*arguments: str) -> Any:
    return json.loads(cairn(*arguments, "--json"))


def test_the_version_tells_this_cairn_from_other_programs_of_that_name() -> None:
    assert cairn("--version") == f"cairn, version {__version__} (cairn-ls)\n"


@pytest.mark.usefixtures("model_data_dir")
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
    shown = cairn("search", "moor_ship", "-C", folder, "--explain")
    assert "src/harbour/berths.py:" in shown
    assert "defines the symbol" in shown
    found = cairn_json("discover", "how are ships assigned to berths", "-C", folder, "--max-bullets", "2")
    assert 1 <= len(found["bullets"]) <= 2
    shown = cairn("discover", "how are ships assigned to berths", cwd=workspace)
    assert found["bullets"][0]["citation"] in shown
    assert "## Instructions" in shown


@pytest.mark.usefixtures("model_data_dir")
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
    assert "nobody is indexing" in status["lastError"]
    shown = cairn("status", str(workspace))
    assert "nobody is indexing" in shown
    assert not shown.startswith("indexing")


@pytest.mark.usefixtures("bare_data_dir")
def test_status_of_a_folder_that_was_never_indexed(workspace: Path) -> None:
    status = cairn_json("status", str(workspace))
    assert (status["state"], status["chunks"], status["searchable"]) == ("starting", 0, False)
    assert "run `cairn index`" in cairn("status", str(workspace))


@pytest.mark.usefixtures("bare_data_dir")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("index", "no/such/folder"), 1, "not a directory"),
        (("search", "x", "-C", "no/such/folder"), 1, "not a directory"),
        (("index", "README.md"), 1, "not a directory"),
        (("search", ""), 1, "query: is empty"),
        (("discover", "  "), 1, "query: is empty"),
        (("search", "x", "--limit", "0"), 1, "limit: expected 1 to 200"),
        (("search", "x", "--limit", "many"), 2, "not a valid integer"),
        (("search", "x", "--type", "novel"), 1, "filter.type: expected one of prose"),
        (("search", "x", "--alpha", "7"), 1, "alpha: expected 0 to 1"),
        (("search",), 2, "Missing argument"),
        (("reindex", "no/such.py"), 1, "path: there is no"),
        (("reindex", "../elsewhere"), 1, "is not in the folder"),
        (("reindex", "-C", "no/such/folder"), 1, "not a directory"),
        (("pause",), 1, "nobody is indexing"),
        (("resume",), 1, "nobody is indexing"),
        (("pause", "no/such/folder"), 1, "not a directory"),
        (("model", "install", "no/such/folder"), 1, "no/such/folder"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_bad_input_fails_with_one_clear_line(
    workspace: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert message in cairn(*arguments, code=code, cwd=workspace)


def test_an_unwritable_data_folder_is_an_error_that_says_what_to_do(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("CAIRN_DATA_DIR", str(blocked / "data"))
    assert "CAIRN_DATA_DIR" in cairn("index", str(workspace), code=1)


@pytest.mark.usefixtures("bare_data_dir")
def test_a_damaged_index_is_set_aside_and_rebuilt(workspace: Path, bare_data_dir: Path) -> None:
    cairn("index", str(workspace))
    (database,) = (bare_data_dir / "workspaces").glob("*/index.db")
    database.write_bytes(b"this is no database" * 1000)
    status = cairn_json("index", str(workspace))
    assert status["files"]["indexed"] == 6
    assert "was damaged" in status["lastError"]
    assert list(database.parent.glob("index.db.damaged-*"))
