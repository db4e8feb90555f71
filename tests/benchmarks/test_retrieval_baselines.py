"""Tests of the retrieval benchmark's baselines, on an index file that Cairn made."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.daemon import Daemon, settled
from engine.index_file import IndexFile, index_path
from retrieval.baselines import BM25, Ripgrep, searched_words


@pytest.fixture
def index(workspace: Path, bare_data_dir: Path) -> Iterator[IndexFile]:
    with Daemon(workspace, bare_data_dir, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(settled, 60)
    made = IndexFile(index_path(bare_data_dir))
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


def test_short_and_function_words_are_not_searched_for() -> None:
    assert searched_words("How is a Command of Go run by the shell, command") == ["command", "shell", "run"]
