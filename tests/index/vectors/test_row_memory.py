"""Rows in a mapped file take little memory and leave no file; without a file they are in ordinary memory."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from cairn.index.vectors.static_rows import RowMemory

_ROWS, _DIMENSION = 200_000, 256


@pytest.mark.parametrize("in_file", [False, True])
def test_released_rows_keep_their_values(tmp_path: Path, in_file: bool) -> None:
    memory = RowMemory.of(1_000, 7, tmp_path if in_file else None)
    rows = np.random.default_rng(1).integers(-128, 128, (1_000, 7)).astype(np.int8)
    memory.rows[:900] = rows[:900]
    memory.release()
    memory.rows[900:] = rows[900:]
    memory.release()
    assert np.array_equal(memory.rows, rows)
    assert sys.platform == "win32" or not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems reclaim the pages when they need them")
def test_released_rows_take_no_memory_of_the_process(tmp_path: Path) -> None:
    process = psutil.Process()
    memory = RowMemory.of(_ROWS, _DIMENSION, tmp_path)
    memory.rows[:] = 1
    before = process.memory_info().rss
    memory.release()
    assert before - process.memory_info().rss > _ROWS * _DIMENSION / 2
    assert memory.rows.sum(dtype=np.int64) == _ROWS * _DIMENSION


def test_rows_are_in_ordinary_memory_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    missing = RowMemory.of(10, 3, tmp_path / "missing")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    for memory in (missing, RowMemory.of(10, 3, tmp_path)):
        memory.rows[:] = 5
        memory.release()
        assert memory.rows.sum() == 150
