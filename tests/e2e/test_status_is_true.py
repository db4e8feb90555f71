"""What the status says is so: ready when everything is counted, and why nothing is indexed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cairn.engine.engine import Engine
from cairn.engine.status import status_of
from cairn.index.indexing import links
from tests.conftest import ask
from tests.index.index_builders import Repository
from tests.serving import wait_for

from .conftest import Daemon

Start = Callable[..., AbstractAsyncContextManager[Daemon]]


@pytest.fixture
def ignored(tmp_path: Path) -> Path:
    """A folder in which a line of an ignore file leaves everything out."""
    folder = tmp_path / "ignored"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def moor_ship(): ...\n")
    (folder / ".gitignore").write_text("# nothing of this\n*\n")
    return folder


@pytest.mark.asyncio
@pytest.mark.usefixtures("bare_data_dir")
async def test_ready_means_that_history_and_imports_are_counted(daemon: Start, tmp_path: Path) -> None:
    folder = tmp_path / "port"
    files = {"port.py": "SIZE = 1\n", **{f"ship{n}.py": f"import port\nNUMBER = {n}\n" for n in range(5)}}
    Repository(folder).commit("Build the port", files)
    async with daemon(folder) as cairn:
        status = await cairn.ready()
        assert status["remaining"] == []
        answer = await cairn.search("port", explain=True)
        [port] = [found for found in answer["results"] if found["path"] == "port.py"]
        assert any("imported by" in line for line in port["matchExplain"])
        assert (answer["index"]["complete"], answer["index"]["remaining"]) == (True, [])


def test_what_is_not_counted_yet_is_named(
    workspace: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links.LinkCounter, "_due", lambda *_: float("inf"))
    engine = Engine({"index": {"watch": False}})
    engine.add_folder(workspace)
    try:
        wait_for(lambda: status_of(engine).remaining == ("imports",))
        assert status_of(engine).state == "indexing"
        assert not engine.progress().complete
        answer = ask(engine, "search", {"query": "moor ship"})
        assert (answer.index.complete, answer.index.remaining) == (True, ("imports",))
    finally:
        engine.stop()


@pytest.mark.asyncio
@pytest.mark.usefixtures("bare_data_dir")
async def test_a_folder_in_which_everything_is_ignored_says_by_which_rule(
    daemon: Start, ignored: Path
) -> None:
    async with daemon(ignored) as cairn:
        status = await cairn.until(lambda status: status["warnings"] and not status["remaining"])
        assert status["files"]["indexed"] == 0
        assert "Nothing is indexed" in status["warnings"][0]
        assert ".gitignore:2: *" in status["warnings"][0]
        answer = await cairn.search("moor_ship")
        assert answer["index"]["note"] == status["warnings"][0]


def test_the_command_line_says_so_too(ignored: Path, bare_data_dir: Path) -> None:
    for command in (("search", "moor_ship", "-C"), ("status",)):
        arguments = (sys.executable, "-m", "cairn", *command, str(ignored))
        shown = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        assert ".gitignore:2: *" in shown


def test_why_counts_the_vectors_that_answers_are_made_with(workspace: Path, bare_data_dir: Path) -> None:
    cairn = (sys.executable, "-m", "cairn")
    subprocess.run((*cairn, "index", str(workspace), "-q"), check=True)
    asked = (*cairn, "doctor", "--why", str(workspace), "-C", str(workspace), "--json")
    held = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)["held"]
    assert held["embedded"] == held["chunks"] > 0
