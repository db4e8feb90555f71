"""The status is true: it is ready only when everything is counted, and says why nothing is indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.engine.engine import Engine
from cairn.engine.status import status_of
from cairn.index.indexing import links
from tests.conftest import ask
from tests.git_repository import GitRepository
from tests.serving import wait_for

from .command_line import run_cairn, run_cairn_json
from .daemon import run_daemon

pytestmark = pytest.mark.usefixtures("bare_data_dir")


@pytest.fixture
def ignored(tmp_path: Path) -> Path:
    """A folder whose ignore file excludes everything."""
    folder = tmp_path / "ignored"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def moor_ship(): ...\n")
    (folder / ".gitignore").write_text("# nothing of this\n*\n")
    return folder


@pytest.mark.asyncio
async def test_a_ready_daemon_has_counted_history_and_imports(tmp_path: Path) -> None:
    folder = tmp_path / "port"
    files = {"port.py": "SIZE = 1\n", **{f"ship{n}.py": f"import port\nNUMBER = {n}\n" for n in range(5)}}
    GitRepository(folder).commit("Build the port", files)
    async with run_daemon(folder) as cairn:
        status = await cairn.ready()
        assert status["remaining"] == []
        answer = await cairn.search("port", explain=True)
        [port] = [found for found in answer["results"] if found["path"] == "port.py"]
        assert any("imported by" in line for line in port["matchExplain"])
        assert (answer["index"]["complete"], answer["index"]["remaining"]) == (True, [])


def test_the_status_names_what_is_not_counted_yet(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links.LinkCounter, "_due", lambda *_: float("inf"))
    engine = Engine({"index": {"watch": False}})
    engine.add_folder(workspace)
    try:
        wait_for(lambda: status_of(engine.request()).remaining == ("imports",))
        assert status_of(engine.request()).state == "indexing"
        assert not engine.progress().complete
        answer = ask(engine, "search", {"query": "moor ship"})
        assert (answer.index.complete, answer.index.remaining) == (True, ("imports",))
    finally:
        engine.stop()


@pytest.mark.asyncio
async def test_the_status_names_the_rule_that_ignores_everything(ignored: Path) -> None:
    async with run_daemon(ignored) as cairn:
        status = await cairn.wait_for(lambda status: status["warnings"] and not status["remaining"])
        assert status["files"]["indexed"] == 0
        assert "Nothing is indexed" in status["warnings"][0]
        assert ".gitignore:2: *" in status["warnings"][0]
        answer = await cairn.search("moor_ship")
        assert answer["index"]["note"] == status["warnings"][0]


def test_commands_name_the_rule_that_ignores_everything(ignored: Path) -> None:
    for command in (("search", "moor_ship", "-C"), ("status",)):
        assert ".gitignore:2: *" in run_cairn(*command, str(ignored)).stdout


def test_why_counts_the_vectors_that_searches_use(workspace: Path) -> None:
    run_cairn("index", str(workspace), "-q")
    counts = run_cairn_json("doctor", "--why", str(workspace), "-C", str(workspace))["held"]
    assert counts["embedded"] == counts["chunks"] > 0
