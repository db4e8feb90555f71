"""Tests of the retrieval benchmark's baselines, on an index file that Cairn made."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from answers.baselines import windows
from engine.daemon import Daemon, settled
from engine.index_file import IndexFile, index_path
from retrieval.baselines import BM25, Ripgrep, searched_words

from tests.data_folder import create_data_dir
from tests.harbour import HARBOUR, write_files


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("baselines") / "harbour", HARBOUR)


@pytest.fixture(scope="module")
def index(workspace: Path) -> Iterator[IndexFile]:
    data = create_data_dir(workspace.parent / "data")
    with Daemon(workspace, data, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(settled, 60)
    made = IndexFile(index_path(data))
    yield made
    made.close()


def test_bm25_ranks_each_file_once_by_its_best_chunk(index: IndexFile) -> None:
    found = BM25(index)("harmonic constituents of a ship's berths")
    paths = [span.path for span in found]
    assert paths[0] == "src/harbour/tides.py"
    assert len(paths) == len(set(paths)) > 2
    assert found[0].start_line is not None
    assert found[0].start_line >= 1


def test_what_is_typed_is_never_syntax(index: IndexFile) -> None:
    bm25 = BM25(index)
    assert bm25('tide" OR * NEAR(')[0].path == "src/harbour/tides.py"
    assert bm25('"*()') == []


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no ripgrep")
def test_ripgrep_ranks_by_different_words_then_by_their_number(index: IndexFile, workspace: Path) -> None:
    found = Ripgrep(index, workspace)("the tide tables and harmonic constituents")
    assert found[0].path == "src/harbour/tides.py"
    assert found[0].start_line is None
    ships = [span.path for span in Ripgrep(index, workspace)("ship")]
    assert ships[0] == max(ships, key=lambda path: (workspace / path).read_text().lower().count("ship"))


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no ripgrep")
def test_ripgrep_hands_over_lines_around_the_words_best_file_first(index: IndexFile, workspace: Path) -> None:
    first, *_ = windows(Ripgrep(index, workspace), workspace, "the tide tables and harmonic constituents")
    heading, shown = first.split("\n", 1)
    path, _, lines = heading.partition(":")
    start, end = map(int, lines.split("-"))
    assert path == "src/harbour/tides.py"
    there = (workspace / path).read_text().splitlines()[start - 1 : end]
    assert shown.startswith("\n".join(there).rstrip())


def test_short_and_function_words_are_not_searched_for() -> None:
    assert searched_words("How is a Command of Go run by the shell, command") == ["command", "shell", "run"]
