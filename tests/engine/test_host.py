"""Engines of one process share indexing threads, but each has its own unsaved text and folders."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed, new_engine
from tests.serving import wait_for

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import InvalidRequestError
from cairn.index.indexing.folder_state import WorkQueue
from cairn.settings.tree import EmbeddingSettings

TIDES, BERTHS = "src/harbour/tides.py", "src/harbour/berths.py"

pytestmark = pytest.mark.usefixtures("bare_data_dir")


@contextmanager
def engines(*roots: Path, count: int = 2) -> Iterator[list[Engine]]:
    """Yield engines of one host, whose indexes are complete."""
    host = Host(EmbeddingSettings(enabled=False))
    with ExitStack() as stack:
        yield [stack.enter_context(indexed(*roots, host=host, **NO_VECTORS)) for _ in range(count)]


def paths(engine: Engine, query: str) -> list[str]:
    return [result.path for result in ask(engine, "search", protocol.SearchParams(query)).results]


def indexing_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("cairn-index")]


def test_one_thread_indexes_a_folder_for_all_engines(workspace: Path) -> None:
    before = len(indexing_threads())
    with engines(workspace, count=4):
        assert len(indexing_threads()) == before + 1
    assert len(indexing_threads()) == before


def test_the_last_engine_keeps_the_folder_indexed(workspace: Path) -> None:
    with engines(workspace) as (first, second):
        first.stop()
        (workspace / "beacon.py").write_text("def light_beacon(): ...\n")
        second.changed(workspace / "beacon.py")
        wait_for(lambda: "beacon.py" in paths(second, "light_beacon"))


def test_only_its_own_engine_finds_unsaved_text(workspace: Path) -> None:
    with engines(workspace) as (first, second):
        first.document_opened(workspace / TIDES)
        first.document_changed(workspace / TIDES, "def draw_bridge(): ...\n")
        assert paths(first, "draw_bridge") == [TIDES]
        assert paths(second, "draw_bridge") == []


def test_a_file_stays_open_while_any_editor_has_it_open(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued: list[list[str]] = []
    with engines(workspace, count=3) as (first, second, third):
        monkeypatch.setattr(WorkQueue, "opened", lambda _, paths: queued.append(sorted(paths)))
        first.document_opened(workspace / TIDES)
        second.document_opened(workspace / BERTHS)
        third.document_opened(workspace / BERTHS)
        second.document_closed(workspace / BERTHS)
        third.stop()
        first.document_closed(workspace / TIDES)
        assert queued == [[TIDES], [BERTHS, TIDES], [BERTHS, TIDES], [BERTHS, TIDES], [TIDES], []]


def test_opening_a_file_reads_it_again(workspace: Path) -> None:
    with engines(workspace) as (first, second):
        first.document_opened(workspace / TIDES)
        wait_for(lambda: first.progress().complete)
        (workspace / TIDES).write_text("def light_beacon(): ...\n")  # the folder is not watched
        second.document_opened(workspace / TIDES)
        wait_for(lambda: TIDES in paths(second, "light_beacon"))


def test_each_engine_is_notified_of_changes(workspace: Path) -> None:
    host = Host(EmbeddingSettings(enabled=False))
    notified: list[int] = []
    made = [
        Engine({**NO_VECTORS, "index": {"watch": False}}, lambda number=number: notified.append(number), host)
        for number in range(2)
    ]
    try:
        for engine in made:
            engine.add_folder(workspace)
        wait_for(lambda: all(engine.progress().complete for engine in made))
        notified.clear()
        ask(made[0], "reindex", {})
        wait_for(lambda: {0, 1} <= set(notified))
    finally:
        for engine in made:
            engine.stop()


def test_a_request_may_name_one_of_several_folders(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "lighthouse"
    other.mkdir()
    (other / "lamp.py").write_text("def moor_ship(): ...\n")
    with indexed(workspace, other, **NO_VECTORS) as engine:
        assert set(paths(engine, "moor_ship")) > {"lamp.py"}
        for name in (other.as_uri(), str(other), "lighthouse"):
            assert paths(engine.request(name), "moor_ship") == ["lamp.py"]
            assert status_of(engine.request(name)).files.indexed == 1


def test_an_unknown_or_ambiguous_folder_is_refused(workspace: Path, tmp_path: Path) -> None:
    namesake = tmp_path / "elsewhere" / "harbour"
    namesake.mkdir(parents=True)
    engine = new_engine(workspace, namesake, **NO_VECTORS)
    try:
        for name, problem in (
            ("harbour", "'harbour' are several; give the URI or path"),
            ("/etc", f"'/etc' is not open; the open folders are {workspace.as_uri()}"),
        ):
            with pytest.raises(InvalidRequestError, match=f"workspace: {problem}"):
                engine.request(name)
    finally:
        engine.stop()
