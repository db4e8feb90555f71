"""What engines of one process share, and what each has for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.status import status_of
from cairn.errors import InvalidRequestError
from cairn.index.indexing.work_queue import WorkQueue
from cairn.settings.tree import EmbeddingSettings

NO_VECTORS: dict[str, Any] = {"embedding": {"enabled": False}, "index": {"watch": False}}


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


@contextmanager
def engines(*roots: Path, count: int = 2) -> Iterator[list[Engine]]:
    host = Host(EmbeddingSettings(enabled=False))
    made = [Engine(NO_VECTORS, host=host) for _ in range(count)]
    try:
        for engine in made:
            for root in roots:
                engine.add_folder(root)
        until(lambda: all(engine.progress().complete for engine in made))
        yield made
    finally:
        for engine in made:
            engine.stop()


def paths(engine: Engine, query: str) -> list[str]:
    return [result.path for result in ask(engine, "search", protocol.SearchParams(query)).results]


def indexing_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("cairn-index")]


def test_one_thread_indexes_a_folder_for_all_of_them(workspace: Path, bare_data_dir: Path) -> None:
    before = len(indexing_threads())
    with engines(workspace, count=4):
        assert len(indexing_threads()) == before + 1
    assert len(indexing_threads()) == before


def test_the_folder_stays_indexed_until_the_last_of_them_lets_go(
    workspace: Path, bare_data_dir: Path
) -> None:
    with engines(workspace) as (first, second):
        first.stop()
        (workspace / "beacon.py").write_text("def light_beacon(): ...\n")
        second.changed(workspace / "beacon.py")
        until(lambda: "beacon.py" in paths(second, "light_beacon"))


def test_unsaved_text_is_seen_by_its_own_engine_alone(workspace: Path, bare_data_dir: Path) -> None:
    with engines(workspace) as (first, second):
        file = workspace / "src/harbour/tides.py"
        first.document_opened(file)
        first.document_changed(file, "def draw_bridge(): ...\n")
        assert paths(first, "draw_bridge") == ["src/harbour/tides.py"]
        assert paths(second, "draw_bridge") == []


def test_what_several_editors_show_is_open_until_the_last_of_them_closes_it_or_leaves(
    workspace: Path, bare_data_dir: Path
) -> None:
    host = Host(EmbeddingSettings(enabled=False))
    told: list[list[str]] = []
    first, second, third = (Engine(NO_VECTORS, host=host) for _ in range(3))
    tides, berths = workspace / "src/harbour/tides.py", workspace / "src/harbour/berths.py"
    try:
        for engine in (first, second, third):
            engine.add_folder(workspace)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkQueue, "opened", lambda _, paths: told.append(sorted(paths)))
            first.document_opened(tides)
            second.document_opened(berths)
            third.document_opened(berths)
            second.document_closed(berths)
            third.stop()
            first.document_closed(tides)
    finally:
        for engine in (first, second, third):
            engine.stop()
    one, other = "src/harbour/tides.py", "src/harbour/berths.py"
    assert told == [[one], [other, one], [other, one], [other, one], [one], []]


def test_a_file_that_another_editor_shows_already_is_read_again_when_it_is_opened(
    workspace: Path, bare_data_dir: Path
) -> None:
    with engines(workspace) as (first, second):
        file = workspace / "src/harbour/tides.py"
        first.document_opened(file)
        until(lambda: first.progress().complete)
        file.write_text("def light_beacon(): ...\n")  # nobody watches the folder
        second.document_opened(file)
        until(lambda: "src/harbour/tides.py" in paths(second, "light_beacon"))


def test_each_of_them_hears_of_what_the_thread_does(workspace: Path, bare_data_dir: Path) -> None:
    host = Host(EmbeddingSettings(enabled=False))
    heard: list[int] = []
    made = [Engine(NO_VECTORS, lambda number=number: heard.append(number), host) for number in range(2)]
    try:
        for engine in made:
            engine.add_folder(workspace)
        until(lambda: all(engine.progress().complete for engine in made))
        heard.clear()
        ask(made[0], "reindex", {})
        until(lambda: {0, 1} <= set(heard))
    finally:
        for engine in made:
            engine.stop()


@pytest.mark.parametrize("named", ["uri", "path", "name"])
def test_a_question_can_be_about_one_folder_of_several(
    workspace: Path, bare_data_dir: Path, tmp_path: Path, named: str
) -> None:
    other = tmp_path / "lighthouse"
    other.mkdir()
    (other / "lamp.py").write_text("def moor_ship(): ...\n")
    with engines(workspace, other, count=1) as (engine,):
        assert set(paths(engine, "moor_ship")) > {"lamp.py"}
        name = {"uri": other.as_uri(), "path": str(other), "name": "lighthouse"}[named]
        assert paths(engine.over(name), "moor_ship") == ["lamp.py"]
        assert status_of(engine.over(name)).files.indexed == 1


def test_a_folder_that_is_not_open_or_not_the_only_one_is_refused(
    workspace: Path, bare_data_dir: Path, tmp_path: Path
) -> None:
    namesake = tmp_path / "elsewhere" / "harbour"
    namesake.mkdir(parents=True)
    with engines(workspace, namesake, count=1) as (engine,):
        with pytest.raises(
            InvalidRequestError, match=r"workspace: 'harbour' are several; give the URI or path"
        ):
            engine.over("harbour")
        with pytest.raises(
            InvalidRequestError, match=f"workspace: '/etc' is not open; there are {workspace.as_uri()}"
        ):
            engine.over("/etc")
